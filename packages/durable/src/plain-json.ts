import type { JsonValue } from '@guardloop/core';

const deepest = 64;

/** A copy of what is plain JSON, fields without a value left out; undefined for what is not. */
export function plainJson(value: unknown, depth = 0): JsonValue | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value !== 'object' || depth > deepest) return undefined;
  if (Array.isArray(value)) {
    const items = Array.from(value, (item) => plainJson(item, depth + 1));
    return items.every((item) => item !== undefined) ? items : undefined;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return undefined;
  const entries = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .map(([name, item]) => [name, plainJson(item, depth + 1)] as const);
  return entries.every(([, item]) => item !== undefined) ? (Object.fromEntries(entries) as JsonValue) : undefined;
}
