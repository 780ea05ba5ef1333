import type { JsonValue } from '../model/types.js';
import type { CompiledSchema } from '../schema.js';
import type { RunHandle } from './handle.js';
import { isPromise } from './is-promise.js';

type Parsed = Awaited<ReturnType<CompiledSchema['parse']>>;
export type Misfit = Extract<Parsed, { ok: false }>;

/** What a schema that was being asked when the run was stopped is taken to have said. */
export const unread: Misfit = Object.freeze({ ok: false, issues: Object.freeze([]) });

/** Has a schema read a value. Of one with asynchronous functions the answer is waited for no longer than the run goes on, and `graceMs` after it. */
export function parse(
  handle: RunHandle,
  schema: CompiledSchema,
  { raw, graceMs }: { readonly raw: JsonValue; readonly graceMs?: number },
): Parsed | Promise<Parsed> {
  const parsing = schema.parse(raw);
  if (!isPromise(parsing)) return parsing;
  return handle.wait(parsing, undefined, graceMs).then((settled) => (settled.kind === 'value' ? settled.value : unread));
}
