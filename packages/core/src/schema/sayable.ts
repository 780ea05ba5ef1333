import type { JsonValue } from '../model/types.js';

const mostLeaves = 10_000;
const mostMessageChars = 300;

function leaves(value: JsonValue, found: string[]): string[] {
  if (found.length >= mostLeaves) return found;
  if (typeof value === 'string') found.push(value.toLowerCase());
  else if (typeof value === 'number') found.push(String(value));
  else if (typeof value === 'object' && value !== null) {
    if (!Array.isArray(value)) found.push(...Object.keys(value).map((key) => key.toLowerCase()));
    for (const inner of Object.values(value as object)) leaves(inner as JsonValue, found);
  }
  return found;
}

/**
 * Words that a schema's own function wrote about an input, if they can be passed on: undefined where they may hold something of the input.
 * Kept from passing are words that occur in a value of the input and values that occur among the words; `known` are names of the schema,
 * which may be said.
 */
export function sayable(message: unknown, raw: JsonValue, known: (word: string) => boolean): string | undefined {
  if (typeof message !== 'string' || message === '' || message.length > mostMessageChars) return undefined;
  const words = (message.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []).filter((word) => !known(word));
  const telling = words.filter((word) => word.length >= 4 || /\p{N}/u.test(word));
  const spoken = new Set(words);
  const text = message.toLowerCase();
  const all = leaves(raw, []);
  if (all.length >= mostLeaves) return undefined;
  for (const leaf of all) {
    if (leaf === '' || known(leaf)) continue;
    if (spoken.has(leaf) || (leaf.length > 2 && text.includes(leaf)) || telling.some((word) => leaf.includes(word))) return undefined;
  }
  return message;
}
