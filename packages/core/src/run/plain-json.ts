import type { JsonValue } from '../model/types.js';
import { maxInputChars } from '../schema.js';

const deepest = 64;

/**
 * A copy of plain JSON data. Undefined for what is anything else, however deep: a field without a value, a getter, a function, a class
 * instance, a list with holes, or an object that throws when it is looked at. So nothing of it can get lost on the way to the log.
 */
export function copyPlainJson(value: unknown): JsonValue | undefined {
  try {
    return copy(value, 0);
  } catch {
    return undefined;
  }
}

function copy(value: unknown, depth: number): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (Number.isFinite(value)) return value as number;
  if (typeof value !== 'object' || depth > deepest) throw new TypeError('not plain JSON');
  const keys = Reflect.ownKeys(value);
  const fields = keys.map((key): [string, JsonValue] => {
    const field = Object.getOwnPropertyDescriptor(value, key);
    if (typeof key === 'symbol' || key === '__proto__' || field === undefined || !('value' in field)) throw new TypeError('not plain JSON');
    if (Array.isArray(value) && key === 'length') return [key, null];
    if (!field.enumerable) throw new TypeError('not plain JSON');
    return [key, copy(field.value, depth + 1)];
  });
  if (Array.isArray(value)) {
    if (keys.length !== value.length + 1) throw new TypeError('not plain JSON');
    return fields.filter(([key]) => key !== 'length').map(([, field]) => field);
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) throw new TypeError('not plain JSON');
  return Object.fromEntries(fields);
}

/**
 * What a model gave as a call's input, as plain data of the run's own: each field is read once, so that what guardrails see is what runs,
 * whatever becomes of the original. Leaves what is no JSON where it was, for schemas to refuse. Undefined where it cannot be read, or is
 * longer than schemas take.
 */
export function copyInput(given: JsonValue | undefined): JsonValue | undefined {
  if (typeof given !== 'object' || given === null) return given;
  try {
    return copyFields(given, 0, { left: maxInputChars });
  } catch {
    return undefined;
  }
}

function copyFields(given: object, depth: number, chars: { left: number }): JsonValue {
  // One level more than schemas take, so that it is they who refuse.
  if (depth > deepest) return {};
  chars.left -= 2;
  if (chars.left < 0) throw new TypeError('too long');
  if (Array.isArray(given)) {
    const list: JsonValue[] = [];
    for (const field of given as readonly JsonValue[])
      list.push(typeof field === 'object' && field !== null ? copyFields(field, depth + 1, chars) : field);
    return list;
  }
  const copied: Record<string, JsonValue> = {};
  for (const key of Object.keys(given)) {
    chars.left -= key.length;
    const field = (given as { readonly [key: string]: JsonValue })[key] as JsonValue;
    const value = typeof field === 'object' && field !== null ? copyFields(field, depth + 1, chars) : field;
    // Written as a field, and not as what the copy inherits.
    if (key === '__proto__') Object.defineProperty(copied, key, { value, enumerable: true });
    else copied[key] = value;
  }
  return copied;
}
