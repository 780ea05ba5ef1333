import type { JsonObject, JsonValue } from '../model/types.js';

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
export const isList = (value: unknown): value is readonly JsonValue[] => Array.isArray(value);

/** An own field; schemas may have fields named like inherited ones. */
export function own(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

const unescapePointer = (token: string): string => token.replace(/~1/g, '/').replace(/~0/g, '~');

/** What a JSON pointer (`/$defs/name`) leads to. */
export function atPointer(root: JsonValue | undefined, pointer: string): JsonValue | undefined {
  let at: JsonValue | undefined = root;
  for (const token of pointer.split('/').slice(1)) {
    if (isList(at)) at = at[Number(token)];
    else if (isObject(at)) at = own(at, unescapePointer(token));
    else return undefined;
  }
  return at;
}

/** What a local reference leads to, along references; undefined for a circle or a reference to elsewhere. */
export function resolveReference(root: JsonObject, node: JsonValue | undefined): JsonValue | undefined {
  let at = node;
  for (let steps = 0; steps < 32; steps += 1) {
    if (!isObject(at) || typeof at.$ref !== 'string') return at;
    const { $ref: reference } = at;
    if (!reference.startsWith('#')) return undefined;
    let pointer: string;
    try {
      pointer = decodeURIComponent(reference.slice(1));
    } catch {
      return undefined;
    }
    at = pointer === '' ? root : atPointer(root, pointer);
  }
  return undefined;
}
