import type { JsonValue } from '../model/types.js';
import { wellFormedText } from '../model/well-formed-text.js';

/** The value with every string and key in it well-formed. Answers with the same object where nothing had to change. */
export function wellFormed<T extends JsonValue | undefined>(value: T): T {
  return cleaned(value) as T;
}

function cleaned(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value === 'string') return wellFormedText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items: readonly JsonValue[] = value;
    const clean = items.map((item) => cleaned(item) ?? null);
    return clean.every((item, index) => item === items[index]) ? items : clean;
  }
  const entries = Object.entries(value);
  const clean = entries.map(([key, field]) => [wellFormedText(key), cleaned(field)] as const);
  return clean.every(([key, field], index) => key === entries[index]?.[0] && field === entries[index]?.[1])
    ? value
    : Object.fromEntries(clean);
}

/** JSON text of the value, well-formed also after it is parsed again: an escaped lone surrogate in it is replaced too. */
export function wellFormedJson(value: JsonValue): string {
  const text = JSON.stringify(value);
  return mayHoldEscapedSurrogate.test(text) ? JSON.stringify(wellFormed(value)) : text;
}

/** JSON text as a server sent it, left as it is unless a lone surrogate stands in it. The text must parse. */
export function wellFormedJsonText(text: string): string {
  if (!mayHoldEscapedSurrogate.test(text) && wellFormedText(text) === text) return text;
  const value = JSON.parse(text) as JsonValue;
  const clean = wellFormed(value);
  return clean === value ? wellFormedText(text) : JSON.stringify(clean);
}

const mayHoldEscapedSurrogate = /\\u[dD][89a-fA-F]/;

/** True where something other than whitespace can be read. */
export function hasText(text: string): boolean {
  return /\S/.test(text);
}
