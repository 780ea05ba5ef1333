// The forms in which a token may stand in a text. Each is found by leaving out of the text what that form does not have: so nothing that is put
// between its characters hides it.

/** A token, and whether a text holds it. */
export interface CanarySearch {
  readonly token: string;
  /** The token, or one half of it, in any of the forms. Linear in the text; never throws. */
  readonly isIn: (text: string) => boolean;
}

/** Needles in what is left of a text when all else than some characters is left out. */
interface Form {
  readonly reduce: (text: string) => string;
  readonly needles: readonly string[];
}

const reversed = (text: string): string => [...text].reverse().join('');
const rot13 = (text: string): string =>
  text.replace(/[a-z]/g, (letter) => String.fromCharCode(((letter.charCodeAt(0) - 97 + 13) % 26) + 97));

/** Of base64 only what no alphabet and no line break changes. */
const notBase64 = /[^A-Za-z0-9]+/g;

/** Base64 of a text wherever it stands among other bytes: the characters that depend on it alone, at each of three offsets. */
function base64Cores(text: string): readonly string[] {
  return [0, 1, 2].map((offset) => {
    const encoded = btoa(`${'\0'.repeat(offset)}${text}`).replaceAll('=', '');
    const first = Math.ceil((offset * 8) / 6);
    const last = Math.floor(((offset + text.length) * 8) / 6);
    return encoded.slice(first, last).replace(notBase64, '');
  });
}

const codesOf = (text: string, radix: number): string => Array.from(text, (letter) => letter.charCodeAt(0).toString(radix)).join('');

/** For a token of small letters and digits. */
export function canarySearch(token: string): CanarySearch {
  const half = Math.floor(token.length / 2);
  const plain = [token.slice(0, half), token.slice(half)];
  const cased = [...plain, ...plain.map((one) => one.toUpperCase())];
  const turned = [...cased, ...cased.map(reversed)];
  const once = turned.flatMap(base64Cores);
  const twice = cased.flatMap(base64Cores).flatMap(base64Cores);
  const forms: readonly Form[] = [
    { reduce: lettersAndDigits, needles: [...plain, ...plain.map(reversed), ...plain.map(rot13)] },
    { reduce: base64Letters, needles: [...once, ...once.map(reversed), ...twice] },
    { reduce: hexDigits, needles: turned.map((one) => codesOf(one, 16)) },
    { reduce: digits, needles: turned.map((one) => codesOf(one, 10)) },
  ];
  return {
    token,
    isIn: (text) =>
      forms.some(({ reduce, needles }) => {
        const reduced = reduce(text);
        return needles.some((needle) => reduced.includes(needle));
      }),
  };
}

// Each replaces runs of one class, or one fixed text: linear.
const lettersAndDigits = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '');
const base64Letters = (text: string): string => text.replace(notBase64, '');
const hexDigits = (text: string): string => text.toLowerCase().replace(/0x|\\u00|[^0-9a-f]+/g, '');
const digits = (text: string): string => text.replace(/[^0-9]+/g, '');
