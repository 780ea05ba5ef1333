// Digits of all scripts, full-width forms and odd dashes and spaces, read as those of ASCII, with the way back.

/** A text whose digits, letters, dashes and spaces are of ASCII where they have such a form. */
export interface FoldedText {
  readonly text: string;
  /** The offset in the original of a character of `text`; of `text.length`, the end. */
  offset(index: number): number;
}

const digit = /\p{Nd}/u;
const mark = /\p{Mn}/u;
const known = new Map<number, string | undefined>();

/** Folds a text. Where nothing is to be folded it is the same text. Accents are taken off, what is not seen (zero width) is left out. */
export function foldText(text: string): FoldedText {
  // One class: linear. Without the flag u, halves of surrogate pairs count.
  const first = text.search(/[\u0080-\uffff]/);
  if (first === -1) return { text, offset: (index) => index };
  const pieces: string[] = [];
  const offsets = new Uint32Array(text.length - first + 1);
  let length = 0;
  /** Where what is taken as it is began. */
  let kept = 0;
  for (let at = first; at < text.length; ) {
    const code = text.codePointAt(at) ?? 0;
    const width = code > 0xffff ? 2 : 1;
    const folded = code < 0x80 ? undefined : fold(code);
    if (folded !== undefined) {
      pieces.push(text.slice(kept, at), folded);
      kept = at + width;
    }
    // What is folded is one character or none.
    const units = folded?.length ?? width;
    for (let unit = 0; unit < units; unit += 1) offsets[length + unit] = at + unit;
    length += units;
    at += width;
  }
  if (kept === 0) return { text, offset: (index) => index };
  pieces.push(text.slice(kept));
  offsets[length] = text.length;
  return { text: pieces.join(''), offset: (index) => (index < first ? index : (offsets[index - first] ?? text.length)) };
}

/** What a code point is folded to; undefined where it stays as it is. */
function fold(code: number): string | undefined {
  if (known.has(code)) return known.get(code);
  const made = makeFold(code);
  // Code points are bounded, but a process should not hold a million of them for one odd text.
  if (known.size < 20_000) known.set(code, made);
  return made;
}

function makeFold(code: number): string | undefined {
  const character = String.fromCodePoint(code);
  if (isUnseen(code)) return '';
  if (digit.test(character)) return String(digitValue(code));
  if ((code >= 0x2010 && code <= 0x2015) || code === 0x2212 || code === 0xfe58 || code === 0xfe63 || code === 0xff0d) return '-';
  if (code === 0xa0 || (code >= 0x2000 && code <= 0x200a) || code === 0x202f || code === 0x205f || code === 0x3000) return ' ';
  if (code >= 0xff01 && code <= 0xff5e) return String.fromCharCode(code - 0xfee0);
  if (code < 0x250 || (code >= 0x1e00 && code < 0x1f00)) {
    const [base, second] = character.normalize('NFD');
    return second !== undefined && mark.test(second) ? base : undefined;
  }
  return undefined;
}

/** Soft hyphen, zero width characters and joiners, direction marks, tags, variation selectors. */
function isUnseen(code: number): boolean {
  return (
    code === 0xad ||
    (code >= 0x200b && code <= 0x200f) ||
    (code >= 0x202a && code <= 0x202e) ||
    (code >= 0x2060 && code <= 0x2069) ||
    code === 0xfeff ||
    (code >= 0xfe00 && code <= 0xfe0f) ||
    (code >= 0xe0000 && code <= 0xe0fff)
  );
}

/** Decimal digits stand in runs of ten that begin with zero; the mathematical ones (five runs from 1D7CE on) follow each other. */
function digitValue(code: number): number {
  if (code >= 0x1d7ce && code <= 0x1d7ff) return (code - 0x1d7ce) % 10;
  let zero = code;
  while (code - zero < 9 && digit.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return code - zero;
}
