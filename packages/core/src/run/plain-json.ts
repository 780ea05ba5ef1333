import type { JsonValue } from '../model/types.js';

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
