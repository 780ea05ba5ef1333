import type { TextFinding } from '../text/finding.js';
import { lookAlikeOf } from './look-alikes.js';
import type { TextPart } from './parts.js';
import { partsOf } from './parts.js';

/** What is hidden or confusing in a text. */
export const hiddenKinds = [
  'tag-characters',
  'zero-width',
  'bidi-control',
  'variation-selectors',
  'soft-hyphen',
  'interlinear',
  'invisible-filler',
  'private-use',
  'mixed-script',
] as const;
export type HiddenKind = (typeof hiddenKinds)[number];

/** Characters on either side that decide: nothing depends on more. */
export const hiddenReach = 128;
/** Letters of a word that is judged as one. */
const maxWord = 64;

const candidate = /[\p{Default_Ignorable_Code_Point}\p{Co}\ufff9-\ufffb\u2800]/gu;
/** Letters of scripts that look like Latin ones: where they meet Latin letters, a word is looked at. */
const foreign = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/gu;
const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
const wordLetter = /[\p{L}\p{M}]/u;
const latinLetter = /[A-Za-z]/;

const rightToLeft = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/gu;
/** Scripts whose letters join, or whose conjuncts are made or kept apart by joiners. */
const joining =
  /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Nko}\p{Script=Mandaic}\p{Script=Mongolian}\p{Script=Adlam}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Myanmar}\p{Script=Khmer}\p{Script=Tibetan}\p{Script=Thaana}]/u;
/** Scripts written without spaces, where one may mark the end of a word. */
const unspaced = /[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}]/u;
const pictographic = /\p{Extended_Pictographic}/u;
/** What may stand before the joiner of an emoji: the emoji, its presentation or the colour of its skin. */
const endsEmoji = /\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f/u;
const hasPresentation = /[\p{Extended_Pictographic}\p{Emoji}]/u;
/** Bases with standardized variation sequences (Unicode's StandardizedVariants.txt): mathematics, East Asian forms, Myanmar, Phags-pa, zero. */
const hasVariants = /[\p{Sm}\p{Script=Han}\p{Script=Myanmar}\p{Script=Phags_Pa}\u3001\u3002\uff01\uff0c\uff0e\uff1a\uff1b\uff1f0]/u;

/** Subdivision flags that are recommended for interchange (UTS 51): England, Scotland, Wales. */
const tagFlags: readonly string[] = ['gbeng', 'gbsct', 'gbwls'].map((name) =>
  String.fromCodePoint(...[...name].map((letter) => 0xe0000 + (letter.codePointAt(0) ?? 0)), 0xe007f),
);
const blackFlag = '\u{1f3f4}';

/** Hidden and confusing characters, each by itself: see `hiddenText`. Time grows with the length; never throws. */
export function findHidden(text: string, keep: ReadonlySet<string>): readonly TextFinding[] {
  if (!/\P{ASCII}/u.test(text)) return [];
  const found: TextFinding[] = [];
  for (const part of partsOf(text, 2 * hiddenReach)) findInPart(part, keep, found);
  return found;
}

/** Adds what begins in a part. Made once, at its place in the whole text: of a hostile text these are as many as it has characters. */
function findInPart({ text, offset, start, end }: TextPart, keep: ReadonlySet<string>, found: TextFinding[]): void {
  const [from, to] = [start - offset, end - offset];
  const sides = new Sides(text);
  // By `test`, which makes nothing: of a hostile text every character is a match.
  candidate.lastIndex = from;
  while (candidate.test(text) && candidate.lastIndex > 0) {
    const after = candidate.lastIndex;
    const index = after - (isLowSurrogate(text.charCodeAt(after - 1)) ? 2 : 1);
    if (index >= to) break;
    const kind = index < from ? undefined : kindOf(sides, index, after);
    // What it asks may have looked elsewhere with the same expression.
    candidate.lastIndex = after;
    if (kind !== undefined && !keep.has(kind)) found.push({ start: index + offset, end: after + offset, kind, with: '' });
  }
  if (keep.has('mixed-script')) return;
  for (const word of mixedWords(text))
    if (word.start >= from && word.start < to) found.push({ ...word, start: word.start + offset, end: word.end + offset });
}

/** A text, and where letters stand in it that are read from the right. */
class Sides {
  private places: readonly number[] | undefined;

  constructor(readonly text: string) {}

  /** Whether such a letter stands near a place, on its line. */
  hasRightToLeft(index: number): boolean {
    this.places ??= [...this.text.matchAll(rightToLeft)].map((match) => match.index);
    if (this.places.length === 0) return false;
    let low = 0;
    let high = this.places.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.places[middle] ?? 0) < index) low = middle + 1;
      else high = middle;
    }
    return [this.places[low - 1], this.places[low]].some((place) => {
      if (place === undefined || Math.abs(place - index) > hiddenReach) return false;
      return !this.text.slice(Math.min(place, index), Math.max(place, index)).includes('\n');
    });
  }
}

function kindOf(sides: Sides, index: number, after: number): HiddenKind | undefined {
  const { text } = sides;
  const code = text.codePointAt(index) ?? 0;
  for (const { from, to, kind, belongs } of kindsByCode)
    if (code >= from && code <= to) return belongs?.(sides, index, after) === true ? undefined : kind;
  return isFiller(code, codePointBefore(text, index), codePointAt(text, after)) ? undefined : 'invisible-filler';
}

interface Range {
  readonly from: number;
  readonly to: number;
  readonly kind: HiddenKind;
  /** Whether what stands from `index` to `after` stands where writing needs it. Left out: never. */
  readonly belongs?: (sides: Sides, index: number, after: number) => boolean;
}

/** The first that holds a code. */
const kindsByCode: readonly Range[] = [
  { from: 0xe0000, to: 0xe007f, kind: 'tag-characters', belongs: ({ text }, index) => isTagFlag(text, index) },
  { from: 0xfe00, to: 0xfe0f, kind: 'variation-selectors', belongs: selects },
  { from: 0xe0100, to: 0xe01ef, kind: 'variation-selectors', belongs: selects },
  { from: 0x180b, to: 0x180d, kind: 'variation-selectors', belongs: selects },
  { from: 0x180f, to: 0x180f, kind: 'variation-selectors', belongs: selects },
  { from: 0x200b, to: 0x200b, kind: 'zero-width', belongs: isWordEnd },
  { from: 0x200c, to: 0x200c, kind: 'zero-width', belongs: isParting },
  { from: 0x200d, to: 0x200d, kind: 'zero-width', belongs: isJoined },
  { from: 0x2060, to: 0x2064, kind: 'zero-width' },
  { from: 0xfeff, to: 0xfeff, kind: 'zero-width' },
  { from: 0x180e, to: 0x180e, kind: 'zero-width' },
  { from: 0x061c, to: 0x061c, kind: 'bidi-control', belongs: isMark },
  { from: 0x200e, to: 0x200f, kind: 'bidi-control', belongs: isMark },
  { from: 0x202a, to: 0x202e, kind: 'bidi-control', belongs: isPaired },
  { from: 0x2066, to: 0x2069, kind: 'bidi-control', belongs: isPaired },
  { from: 0x00ad, to: 0x00ad, kind: 'soft-hyphen' },
  { from: 0xfff9, to: 0xfffb, kind: 'interlinear' },
  { from: 0xe000, to: 0xf8ff, kind: 'private-use' },
  { from: 0xf0000, to: 0x10ffff, kind: 'private-use' },
];

const candidateOnce = new RegExp(candidate.source, 'u');

function isTagFlag(text: string, index: number): boolean {
  // A tag has two units, and the flag before it two more.
  const near = text.slice(Math.max(0, index - 14), index).lastIndexOf(blackFlag);
  if (near === -1) return false;
  const from = Math.max(0, index - 14) + near;
  return tagFlags.some((tags) => text.startsWith(tags, from + 2) && index < from + 2 + tags.length);
}

function isWordEnd({ text }: Sides, index: number, after: number): boolean {
  // Of a run only the first can belong: told without making a text of each.
  if (text.charCodeAt(index - 1) === 0x200b) return false;
  return unspaced.test(codePointBefore(text, index)) && unspaced.test(codePointAt(text, after));
}
function isParting({ text }: Sides, index: number, after: number): boolean {
  return joining.test(codePointBefore(text, index)) && !candidateOnce.test(codePointAt(text, after));
}
function isJoined(sides: Sides, index: number, after: number): boolean {
  const isInEmoji = endsEmoji.test(codePointBefore(sides.text, index)) && pictographic.test(codePointAt(sides.text, after));
  return isInEmoji || isParting(sides, index, after);
}

/** A mark of direction serves text of both directions, and there alone or with one other. */
function isMark(sides: Sides, index: number, after: number): boolean {
  if (!sides.hasRightToLeft(index)) return false;
  return !(candidateOnce.test(codePointBefore(sides.text, index)) && candidateOnce.test(codePointAt(sides.text, after)));
}

/** An opening with its end on the same line. Overrides never: they only hide. Others need text from right to left, isolates to the left too. */
function isPaired(sides: Sides, index: number): boolean {
  const code = sides.text.charCodeAt(index);
  if (code === 0x202d || code === 0x202e) return false;
  const opener = openerOf(sides.text, index, code);
  if (opener === undefined || opener === 0x202d || opener === 0x202e) return false;
  return opener === 0x2066 || opener === 0x2068 || sides.hasRightToLeft(index);
}

/** The code of the control that opens the pair in which this one stands. */
function openerOf(text: string, index: number, code: number): number | undefined {
  const isIsolate = code >= 0x2066;
  const closer = isIsolate ? 0x2069 : 0x202c;
  const isOpener = (unit: number): boolean =>
    isIsolate ? unit >= 0x2066 && unit <= 0x2068 : unit >= 0x202a && unit <= 0x202e && unit !== closer;
  const step = code === closer ? -1 : 1;
  let depth = 0;
  for (let at = index + step; at >= 0 && at < text.length && Math.abs(at - index) <= hiddenReach; at += step) {
    const unit = text.charCodeAt(at);
    if (unit === 0x0a) return undefined;
    const isSame = step === 1 ? isOpener(unit) : unit === closer;
    const isOther = step === 1 ? unit === closer : isOpener(unit);
    if (isSame) depth += 1;
    else if (isOther && depth > 0) depth -= 1;
    else if (isOther) return step === 1 ? code : unit;
  }
  return undefined;
}

/** A selector of variants stands once, behind what has them. */
function selects({ text }: Sides, index: number, end: number): boolean {
  const [code, unit] = [text.codePointAt(index) ?? 0, text.charCodeAt(index - 1)];
  if (unit >= 0xfe00 && unit <= 0xfe0f) return false;
  const before = codePointBefore(text, index);
  if (code === 0xfe0e || code === 0xfe0f)
    return /[0-9#*]/.test(before) ? text.charAt(end) === '\u20e3' : hasPresentation.test(before) || hasVariants.test(before);
  if (code >= 0x180b && code <= 0x180f) return /\p{Script=Mongolian}/u.test(before);
  // Registered sequences of ideographs end far below the last selector (Ideographic Variation Database).
  if (code >= 0xe0100) return code <= 0xe012f && /\p{Script=Han}/u.test(before);
  return hasVariants.test(before);
}

/** Fillers that stand where their script needs them are none. */
function isFiller(code: number, before: string, after: string): boolean {
  if (code === 0x2800) return /[\u2801-\u28ff]/.test(before) || /[\u2801-\u28ff]/.test(after);
  if (code === 0x115f || code === 0x1160) return /[\u1100-\u11ff]/.test(before) || /[\u1160-\u11ff]/.test(after);
  if (code === 0x34f) return /[\p{L}\p{M}]/u.test(before) && /[\p{L}\p{M}]/u.test(after);
  if (code === 0x17b4 || code === 0x17b5) return /\p{Script=Khmer}/u.test(before);
  return false;
}

/** The characters beside a place; empty at the ends. */
function codePointBefore(text: string, index: number): string {
  const unit = text.charCodeAt(index - 1);
  return text.slice(Math.max(0, unit >= 0xdc00 && unit <= 0xdfff ? index - 2 : index - 1), index);
}
function codePointAt(text: string, index: number): string {
  const code = text.codePointAt(index);
  return code === undefined ? '' : String.fromCodePoint(code);
}

/** Words in which all letters beyond Latin are taken for Latin ones. */
function mixedWords(text: string): readonly TextFinding[] {
  const found: TextFinding[] = [];
  let last = 0;
  for (const { index } of text.matchAll(foreign)) {
    if (index < last) continue;
    const { start, end } = wordAround(text, index);
    last = end;
    if (end - start > maxWord) continue;
    const word = text.slice(start, end);
    const plain = [...word].map((letter) => lookAlikeOf(letter) ?? letter).join('');
    if (word.length > 2 && latinLetter.test(word) && /^[A-Za-z]+$/.test(plain))
      found.push({ start, end, kind: 'mixed-script', with: plain });
  }
  return found;
}

function wordAround(text: string, index: number): { readonly start: number; readonly end: number } {
  let start = index;
  while (start > 0 && index - start <= maxWord) {
    const letter = codePointBefore(text, start);
    if (!wordLetter.test(letter)) break;
    start -= letter.length;
  }
  let end = index;
  while (end < text.length && end - index <= maxWord) {
    const letter = codePointAt(text, end);
    if (!wordLetter.test(letter)) break;
    end += letter.length;
  }
  return { start, end };
}
