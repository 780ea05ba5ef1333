// The texts that stand in a JSON text, with the way back: redaction by spans of the JSON, so that nothing else of it changes.

/** One value (or name of a field) in a JSON text. */
export interface JsonString {
  /** Decoded. Of a number, its digits as they stand. */
  readonly text: string;
  readonly key: string | undefined;
  /** Of a number there are no quotes: what is put in its place brings its own. */
  readonly isNumber: boolean;
  /** It is the name of a field. */
  readonly isName: boolean;
  /** The offset in the JSON text of a character of `text`; of `text.length`, the end. */
  offset(index: number): number;
}

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const isDigitLike = (code: number): boolean => (code >= 0x30 && code <= 0x39) || code === 0x2d;
const inNumber = (code: number): boolean => isDigitLike(code) || code === 0x2b || code === 0x2e || code === 0x65 || code === 0x45;

/** All strings, names of fields and numbers of a JSON text, in order. Of a text that is no JSON it gives what looks like them; it never throws. */
export function jsonStrings(json: string): readonly JsonString[] {
  const found: JsonString[] = [];
  const keys: (string | undefined)[] = [];
  let key: string | undefined;
  let at = 0;
  while (at < json.length) {
    const code = json.charCodeAt(at);
    if (code === quote) {
      const end = endOfString(json, at + 1);
      const isName = nextCode(json, end + 1) === colon;
      const string = readString(json, at + 1, end);
      if (isName) key = string.text;
      found.push({ ...string, key, isNumber: false, isName });
      at = end + 1;
    } else if (isDigitLike(code)) {
      const start = at;
      while (at < json.length && inNumber(json.charCodeAt(at))) at += 1;
      found.push({ text: json.slice(start, at), key, isNumber: true, isName: false, offset: (index) => start + index });
    } else {
      if (code === 0x7b || code === 0x5b) keys.push(key);
      else if (code === 0x7d || code === 0x5d) key = keys.pop();
      at += 1;
    }
  }
  return found;
}

function nextCode(json: string, from: number): number {
  let at = from;
  while (at < json.length && json.charCodeAt(at) <= 0x20) at += 1;
  return json.charCodeAt(at);
}

function endOfString(json: string, from: number): number {
  for (let at = from; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === backslash) at += 1;
    else if (code === quote) return at;
  }
  return json.length;
}

const escapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

function readString(json: string, start: number, end: number): Pick<JsonString, 'text' | 'offset'> {
  const raw = json.slice(start, end);
  if (!raw.includes('\\')) return { text: raw, offset: (index) => start + index };
  const pieces: string[] = [];
  /** Where escapes stood: the index after it in the decoded text, and how many characters of JSON more than of text came up to there. */
  const after: number[] = [];
  const extra: number[] = [];
  let length = 0;
  let more = 0;
  let from = 0;
  for (let at = raw.indexOf('\\'); at !== -1; at = raw.indexOf('\\', from)) {
    pieces.push(raw.slice(from, at));
    length += at - from;
    const letter = raw.charAt(at + 1);
    const hex = letter === 'u' ? Number.parseInt(raw.slice(at + 2, at + 6), 16) : Number.NaN;
    const taken = letter === 'u' && !Number.isNaN(hex) ? 6 : Math.min(2, raw.length - at);
    pieces.push(taken === 6 ? String.fromCharCode(hex) : (escapes[letter] ?? letter));
    length += taken === 1 ? 0 : 1;
    more += taken === 1 ? 1 : taken - 1;
    after.push(length);
    extra.push(more);
    from = at + taken;
  }
  pieces.push(raw.slice(from));
  const offset = (index: number): number => {
    // The last escape that ends at or before the index.
    let low = 0;
    let high = after.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((after[middle] ?? 0) <= index) low = middle + 1;
      else high = middle;
    }
    return start + index + (low === 0 ? 0 : (extra[low - 1] ?? 0));
  };
  return { text: pieces.join(''), offset };
}
