import { decodeHTML } from 'entities/decode';

/** A piece of a text that decodes to words. */
export interface Decoded {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Runs that may be base64, hex, percent signs, entities, or letters with spaces between. One class or a fixed form repeated, so linear. */
const base64 = /[A-Za-z0-9+/_-]{24,}={0,2}/g;
const hex = /(?:[0-9a-fA-F]{2}[ :]?){16,}/g;
const percent = /(?:%[0-9a-fA-F]{2}|[A-Za-z0-9._~+-]){12,}/g;
const entities = /(?:&#[xX]?[0-9a-fA-F]{1,8};?){6,}/g;
const spaced = /(?:[^\s] {1,3}){12,}[^\s]?/g;
/** Letters that tag characters and variation selectors carry. */
const tags = /[\u{e0020}-\u{e007e}]{4,}/gu;
const selectors = /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]{4,}/gu;

/** Characters that are decoded at most, of all pieces together. */
const maxDecoded = 65_536;

/** What a text says in encodings. Each piece is decoded once, and of what is decoded nothing again. */
export function decodedPieces(text: string): readonly Decoded[] {
  const found: Decoded[] = [];
  let left = maxDecoded;
  const collect = (pattern: RegExp, decode: (piece: string) => string | undefined): void => {
    for (const { 0: piece, index } of text.matchAll(pattern)) {
      if (left <= 0) return;
      const part = piece.slice(0, left);
      left -= part.length;
      const made = decode(part);
      if (made !== undefined && isWords(made)) found.push({ start: index, end: index + piece.length, text: made });
    }
  };
  collect(base64, fromBase64);
  collect(hex, (piece) => fromHex(piece.replace(/[ :]/g, '')));
  if (text.includes('%')) collect(percent, (piece) => (piece.split('%').length > 3 ? fromPercent(piece) : undefined));
  if (text.includes('&#')) collect(entities, (piece) => decodeHTML(piece));
  collect(spaced, (piece) => piece.replace(/(\S) (?=\S)/g, '$1').replace(/ {2,}/g, ' '));
  if (/\P{ASCII}/u.test(text)) {
    collect(tags, (piece) => [...piece].map((letter) => String.fromCodePoint((letter.codePointAt(0) ?? 0) - 0xe0000)).join(''));
    collect(selectors, (piece) => [...piece].map((letter) => fromSelector(letter.codePointAt(0) ?? 0)).join(''));
  }
  return found;
}

const fromSelector = (code: number): string => String.fromCharCode(code >= 0xe0100 ? code - 0xe0100 + 16 : code - 0xfe00);

/** Mostly letters and spaces, as words are. */
function isWords(text: string): boolean {
  if (text.length < 8) return false;
  const letters = text.match(/[\p{L} ]/gu)?.length ?? 0;
  return letters / text.length > 0.5 && /\p{L}\p{L}[\s.,!]{1,4}\p{L}\p{L}/u.test(text);
}

function fromBase64(piece: string): string | undefined {
  const plain = piece.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '');
  try {
    return fromBytes(atob(plain.slice(0, plain.length - (plain.length % 4 === 1 ? 1 : 0))));
  } catch {
    return undefined;
  }
}
function fromHex(digits: string): string | undefined {
  const bytes: string[] = [];
  for (let at = 0; at + 1 < digits.length; at += 2) bytes.push(String.fromCharCode(Number.parseInt(digits.slice(at, at + 2), 16)));
  return fromBytes(bytes.join(''));
}
function fromPercent(piece: string): string | undefined {
  const bytes = piece
    .replaceAll('+', ' ')
    .replace(/%([0-9a-fA-F]{2})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
  return fromBytes(bytes);
}
function fromBytes(bytes: string): string | undefined {
  const array = Uint8Array.from(bytes, (letter) => letter.charCodeAt(0) & 0xff);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(array);
  } catch {
    return undefined;
  }
}
