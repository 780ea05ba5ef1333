// All places of many words in one pass over a text (Aho and Corasick, 1975).

/** Calls `found` for every place of every word, by the word's index; the end is exclusive. */
export type KeywordScan = (text: string, found: (word: number, end: number) => void) => void;

/** Words are not empty; with `ignoreCase` they are in lower case, and the text's letters count in either case. */
export function keywordScan(words: readonly string[], { ignoreCase = false }: { readonly ignoreCase?: boolean } = {}): KeywordScan {
  const symbols = new Uint16Array(0x1_0000);
  let width = 1;
  for (const word of words) {
    for (let at = 0; at < word.length; at += 1) {
      const code = word.charCodeAt(at);
      if (symbols[code] === 0) {
        symbols[code] = width;
        width += 1;
      }
    }
  }
  if (ignoreCase) {
    for (const letter of new Set(words.join(''))) {
      const upper = letter.toUpperCase();
      if (upper.length === 1) symbols[upper.charCodeAt(0)] ||= symbols[letter.charCodeAt(0)] ?? 0;
    }
  }
  const states = 1 + words.reduce((sum, word) => sum + word.length, 0);
  const next = new Int32Array(states * width).fill(-1);
  const ends: number[][] = [[]];
  let count = 1;
  words.forEach((word, index) => {
    let state = 0;
    for (let at = 0; at < word.length; at += 1) {
      const slot = state * width + (symbols[word.charCodeAt(at)] ?? 0);
      if (next[slot] === -1) {
        next[slot] = count;
        ends[count] = [];
        count += 1;
      }
      state = next[slot] ?? 0;
    }
    ends[state]?.push(index);
  });
  link({ next, ends, width });
  const silent = ends.every(({ length }) => length === 0);
  return (text, found) => {
    if (silent) return;
    let state = 0;
    for (let at = 0; at < text.length; at += 1) {
      state = next[state * width + (symbols[text.charCodeAt(at)] ?? 0)] ?? 0;
      const here = ends[state];
      if (state !== 0 && here !== undefined && here.length > 0) for (const word of here) found(word, at + 1);
    }
  };
}

/** Fills the table so that a failed step goes on where it would have been from the longest suffix that is a word's beginning. */
function link({ next, ends, width }: { readonly next: Int32Array; readonly ends: number[][]; readonly width: number }): void {
  const fail = new Int32Array(ends.length);
  const queue: number[] = [];
  for (let symbol = 0; symbol < width; symbol += 1) {
    const state = next[symbol] ?? -1;
    if (state === -1) next[symbol] = 0;
    else queue.push(state);
  }
  for (let head = 0; head < queue.length; head += 1) {
    const state = queue[head] ?? 0;
    const suffix = fail[state] ?? 0;
    ends[state]?.push(...(ends[suffix] ?? []));
    for (let symbol = 0; symbol < width; symbol += 1) {
      const slot = state * width + symbol;
      const after = next[suffix * width + symbol] ?? 0;
      const child = next[slot] ?? -1;
      if (child === -1) next[slot] = after;
      else {
        fail[child] = after;
        queue.push(child);
      }
    }
  }
}
