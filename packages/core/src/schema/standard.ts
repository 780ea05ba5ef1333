import type { JsonObject, JsonValue } from '../model/types.js';
import type { CompiledSchema, Parsed, SchemaIssue } from './compiled.js';
import { expectedAt, isMissing, missingWords, placeAt } from './expectation.js';
import { rawIssue } from './raw-input.js';
import { sayable } from './sayable.js';

/** The part of Standard Schema and Standard JSON Schema that is used. */
export interface StandardProperties {
  readonly vendor: string;
  readonly validate: (value: unknown) => unknown;
  readonly jsonSchema?: { readonly input?: unknown } | undefined;
}

const failed: Parsed = Object.freeze({
  ok: false,
  issues: Object.freeze([Object.freeze({ path: '', expected: 'an input that its checks can judge; one of them failed' })]),
});
const plainKey = (segment: unknown): PropertyKey =>
  typeof segment === 'object' && segment !== null ? (segment as { readonly key: PropertyKey }).key : (segment as PropertyKey);

function describe(json: JsonObject, raw: JsonValue, issues: readonly unknown[]): readonly SchemaIssue[] {
  const found = new Map<string, SchemaIssue>();
  for (const issue of issues) {
    const { path, message } = (issue ?? {}) as { readonly path?: unknown; readonly message?: unknown };
    const keys = Array.isArray(path) ? path.map(plainKey) : [];
    const place = placeAt(json, keys);
    if (found.has(place.path)) continue;
    const words = (expectedAt(json, place) ?? 'another value') + (isMissing(raw, keys) ? missingWords : '');
    const said =
      typeof message === 'string' && /expected|received|invalid|\bwas\b/i.test(message) ? undefined : sayable(message, raw, () => false);
    found.set(place.path, { path: place.path, expected: said === undefined ? words : `${words} (${said})` });
  }
  return found.size > 0 ? [...found.values()] : [{ path: '', expected: 'another value' }];
}

/** How a schema of another library parses. */
export function standardParser(schema: { readonly '~standard': StandardProperties }, json: JsonObject): CompiledSchema['parse'] {
  const finish = (result: unknown, raw: JsonValue): Parsed => {
    const { issues, value } = result as { readonly issues?: readonly unknown[] | undefined; readonly value?: unknown };
    return issues === undefined || issues === null ? { ok: true, value } : { ok: false, issues: describe(json, raw, issues) };
  };
  const settle = async (result: PromiseLike<unknown>, raw: JsonValue): Promise<Parsed> => {
    try {
      return finish(await result, raw);
    } catch {
      return failed;
    }
  };
  return (raw) => {
    const refused = rawIssue(raw);
    if (refused) return { ok: false, issues: [refused] };
    try {
      const result = schema['~standard'].validate(raw);
      return typeof (result as PromiseLike<unknown> | null)?.then === 'function'
        ? settle(result as PromiseLike<unknown>, raw)
        : finish(result, raw);
    } catch {
      return failed;
    }
  };
}
