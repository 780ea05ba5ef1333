import type { JsonValue } from '@guardloop/core/model';

const loneSurrogate = /\p{Surrogate}/gu;

/** Replaces halves of surrogate pairs by U+FFFD: strict servers refuse a body that holds one. */
export function wellFormed(text: string): string {
  return text.replace(loneSurrogate, '\uFFFD');
}

/** The same for every string and key in a JSON value. Gives back the very value where there is nothing to replace. */
export function wellFormedJson(value: JsonValue): JsonValue {
  if (typeof value === 'string') return wellFormed(value);
  if (typeof value !== 'object' || value === null) return value;
  if (isArray(value)) {
    const items = value.map(wellFormedJson);
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  let isChanged = false;
  const entries: [string, JsonValue | undefined][] = [];
  for (const [key, item] of Object.entries(value)) {
    const cleanKey = wellFormed(key);
    const cleanItem = item === undefined ? undefined : wellFormedJson(item);
    isChanged ||= cleanKey !== key || cleanItem !== item;
    entries.push([cleanKey, cleanItem]);
  }
  return isChanged ? Object.fromEntries(entries) : value;
}

/** True where something other than whitespace can be read. */
export function hasText(text: string): boolean {
  return /\S/.test(text);
}

function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
