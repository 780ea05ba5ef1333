import type { Sign } from './sign.js';
import { meaningsOf } from './words.js';

/** What digits and signs stand for; `l` and `i` are one letter here, as `1` stands for both. */
const folds: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  '!': 'i',
  '3': 'e',
  '4': 'a',
  '@': 'a',
  '5': 's',
  $: 's',
  '7': 't',
  '8': 'b',
  l: 'i',
};
const fold = (words: string): string => words.replaceAll('l', 'i');
const isLetter = (code: number): boolean => code >= 0x61 && code <= 0x7a;

/** Orders without spaces. Literals behind each other, a bounded number of times, so linear. */
const orders: readonly RegExp[] = [
  fold(
    '(?:ignore|disregard|forget|override|bypass)(?:all|any|the|your|my|these|those|every|of){0,3}(?:previous|prior|above|earlier|preceding|existing|original|system)(?:instruction|prompt|rule|guideline|directive|command|order|polic)',
  ),
  fold(
    '(?:reveal|show|print|output|repeat|disclose|leak|expose|display)(?:me|us|all|the|your|its){0,3}(?:hidden|system|initial|secret|internal|full|original){1,3}(?:prompt|instruction|message|rule)',
  ),
].map((source) => new RegExp(source, 'g'));

/** Orders whose letters are run together, parted elsewhere than between words, or written in digits. In a normalised text. */
export function squeezedSigns(text: string): readonly Sign[] {
  const { letters, places } = squeeze(text);
  const found: Sign[] = [];
  for (const order of orders) {
    for (const { 0: piece, index } of letters.matchAll(order)) {
      const start = places[index] ?? 0;
      const end = (places[index + piece.length - 1] ?? start) + 1;
      // Where its words are words, they were read already, with what stands around them.
      if (meaningsOf.has(/^[a-z]+/.exec(text.slice(start, start + 32))?.[0] ?? '')) continue;
      found.push({ start, end, kind: 'override', weight: 0.8 }, { start, end, kind: 'encoded', weight: 0.5 });
    }
  }
  return found;
}

function squeeze(text: string): { readonly letters: string; readonly places: Uint32Array } {
  const places = new Uint32Array(text.length);
  const made: string[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const letter = text.charAt(at);
    const folded = folds[letter] ?? (isLetter(text.charCodeAt(at)) ? letter : '');
    if (folded === '') continue;
    places[made.length] = at;
    made.push(folded);
  }
  return { letters: made.join(''), places };
}
