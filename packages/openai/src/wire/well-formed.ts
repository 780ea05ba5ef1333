import type { JsonValue } from '@guardloop/core/model';

/** The text with every lone surrogate replaced by U+FFFD: strict servers refuse a body that holds one. */
export function wellFormedText(text: string): string {
  // In every runtime we support, but not yet in the ES2023 typings.
  return (text as string & { toWellFormed(): string }).toWellFormed();
}

/** The value with every string and key in it well-formed. Answers with the same object where nothing had to change. */
export function wellFormed(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value === 'string') return wellFormedText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items: readonly JsonValue[] = value;
    const cleaned = items.map((item) => wellFormed(item) ?? null);
    return cleaned.every((item, index) => item === items[index]) ? items : cleaned;
  }
  const entries = Object.entries(value);
  const cleaned = entries.map(([key, field]) => [wellFormedText(key), wellFormed(field)] as const);
  return cleaned.every(([key, field], index) => key === entries[index]?.[0] && field === entries[index]?.[1])
    ? value
    : Object.fromEntries(cleaned);
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
  const cleaned = wellFormed(value);
  return cleaned === value ? wellFormedText(text) : JSON.stringify(cleaned);
}

const mayHoldEscapedSurrogate = /\\u[dD][89a-fA-F]/;
