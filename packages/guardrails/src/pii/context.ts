import { keywordScan } from '../text/keyword-scan.js';
import { contextAfter, contextBefore } from './kind.js';

/** Tells of one text, for each list of words, whether one of them stands near a place. */
export interface Context {
  has(list: number): boolean;
  isNear(list: number, start: number, end: number): boolean;
}

/** Makes what reads the context of texts: one scan for the words of all lists. Texts are folded; `key` is the name of the field. */
export function contextReader(lists: readonly (readonly string[])[]): (text: string, key: string | undefined) => Context {
  const words: string[] = [];
  const owners: number[][] = [];
  const known = new Map<string, number>();
  for (const [list, entries] of lists.entries()) {
    for (const word of entries) {
      const index = known.get(word) ?? words.push(word) - 1;
      known.set(word, index);
      const lists = owners[index] ?? [];
      owners[index] = lists;
      lists.push(list);
    }
  }
  const scan = keywordScan(words, { ignoreCase: true });
  return (text, key) => {
    const places: (number[] | undefined)[] = [];
    const everywhere = new Set<number>();
    const note = (source: string, found: (list: number, end: number) => void): void =>
      scan(source, (word, end) => {
        const length = words[word]?.length ?? 0;
        if (isWord(source, end - length, end)) for (const list of owners[word] ?? []) found(list, end);
      });
    note(text, (list, end) => {
      const ends = places[list] ?? [];
      places[list] = ends;
      ends.push(end);
    });
    if (key !== undefined) note(spaced(key), (list) => everywhere.add(list));
    return {
      has: (list) => everywhere.has(list) || places[list] !== undefined,
      isNear: (list, start, end) => everywhere.has(list) || isWithin(places[list], start - contextBefore, end + contextAfter),
    };
  };
}

/** Words of a name apart: `dateOfBirth`, `date_of_birth`. */
function spaced(key: string): string {
  return key
    .slice(0, 200)
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replace(/[_-]+/g, ' ');
}

/** Words of ASCII are whole: `tin` is no part of `printing`. The longer ones may begin a longer word, as in `Telefonnummer`. */
function isWord(text: string, start: number, end: number): boolean {
  if (isLetter(text.charCodeAt(start - 1)) && isLetter(text.charCodeAt(start))) return false;
  return end - start >= 5 || !(isLetter(text.charCodeAt(end)) && isLetter(text.charCodeAt(end - 1)));
}

function isLetter(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a);
}

/** Whether one of the ascending offsets lies between two. */
function isWithin(offsets: readonly number[] | undefined, from: number, to: number): boolean {
  if (offsets === undefined) return false;
  let low = 0;
  let high = offsets.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((offsets[middle] ?? 0) < from) low = middle + 1;
    else high = middle;
  }
  const offset = offsets[low];
  return offset !== undefined && offset <= to;
}
