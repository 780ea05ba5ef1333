import type { CompiledSchema } from '../schema.js';
import type { RunHandle } from './handle.js';
import { isPromise } from './is-promise.js';

type Parsed = Awaited<ReturnType<CompiledSchema['parse']>>;
export type Misfit = Extract<Parsed, { ok: false }>;

/** What a schema that was being asked when the run was stopped is taken to have said. */
export const unread: Misfit = Object.freeze({ ok: false, issues: Object.freeze([]) });

/** What a schema says. Of one with asynchronous functions that is waited for no longer than the run goes on, and `graceMs` after it. */
export function inTime(handle: RunHandle, parsing: Parsed | Promise<Parsed>, graceMs?: number): Parsed | Promise<Parsed> {
  if (!isPromise(parsing)) return parsing;
  return handle.wait(parsing, undefined, graceMs).then((settled) => (settled.kind === 'value' ? settled.value : unread));
}
