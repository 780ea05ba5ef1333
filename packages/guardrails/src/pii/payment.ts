import type { TextFinding } from '../text/finding.js';
import { isLuhn, mod97 } from './checksums.js';

interface Brand {
  readonly starts: readonly (number | readonly [number, number])[];
  readonly lengths: readonly number[];
}

// Ranges by ISO/IEC 7812 as their owners publish them (en.wikipedia.org/wiki/Payment_card_number collects them with sources).
const brands: readonly Brand[] = [
  { starts: [4], lengths: [13, 16, 19] },
  {
    starts: [
      [51, 55],
      [2221, 2720],
    ],
    lengths: [16],
  },
  { starts: [34, 37], lengths: [15] },
  { starts: [[300, 305], 3095, 36, [38, 39]], lengths: [14, 15, 16, 17, 18, 19] },
  { starts: [6011, [644, 649], 65], lengths: [16, 17, 18, 19] },
  { starts: [[3528, 3589]], lengths: [16, 17, 18, 19] },
  { starts: [1800, 2131], lengths: [15] },
  { starts: [62, 81], lengths: [16, 17, 18, 19] },
  { starts: [50, [56, 58], 60, 61, 63, 64, 66, 67, 68, 69], lengths: [12, 13, 14, 15, 16, 17, 18, 19] },
  { starts: [[2200, 2204]], lengths: [16, 17, 18, 19] },
  { starts: [82, 508, 353, 356, 9792], lengths: [16] },
];

function isOfBrand(digits: string): boolean {
  return brands.some(({ starts, lengths }) => lengths.includes(digits.length) && starts.some((start) => startsIn(digits, start)));
}

function startsIn(digits: string, start: number | readonly [number, number]): boolean {
  const [from, to] = typeof start === 'number' ? [start, start] : start;
  const lead = Number(digits.slice(0, String(from).length));
  return lead >= from && lead <= to;
}

/** Groups as cards print them: fours (with a shorter rest), 4-6-5, 4-6-4, 8-8. */
function isPrinted(groups: readonly number[]): boolean {
  if (groups.length === 1) return true;
  if (['4,6,5', '4,6,4', '8,8', '6,13'].includes(groups.join())) return true;
  return groups.slice(0, -1).every((length) => length === 4) && (groups.at(-1) ?? 0) <= 4;
}

/** Of the other lengths many numbers are: articles, times in milliseconds. */
const plainLengths: ReadonlySet<number> = new Set([15, 16]);

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
const isWord = (code: number): boolean =>
  isDigit(code) || (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a) || code === 0x5f;

/** Payment cards: brand, length, Luhn; from the first digit of each group on, so that a run of digits and separators is linear. */
export function findCards(text: string, hasContext: (start: number, end: number) => boolean): readonly TextFinding[] {
  const found: TextFinding[] = [];
  for (let at = 0; at < text.length; at += 1) {
    if (!isDigit(text.charCodeAt(at))) continue;
    const end = isEdge(text, at) ? cardAt(text, at, hasContext) : undefined;
    if (end !== undefined) {
      found.push({ start: at, end, kind: 'payment-card' });
      at = end - 1;
    } else {
      while (at + 1 < text.length && isDigit(text.charCodeAt(at + 1))) at += 1;
    }
  }
  return found;
}

/** Not within a word, nor behind a decimal point. */
function isEdge(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1);
  return at === 0 || !(isWord(before) || (before === 0x2e && isDigit(text.charCodeAt(at - 2))));
}

function cardAt(text: string, start: number, hasContext: (start: number, end: number) => boolean): number | undefined {
  const groups: number[] = [];
  let digits = '';
  let at = start;
  let separator: string | undefined;
  let best: number | undefined;
  while (digits.length < 19) {
    let end = at;
    while (end < text.length && end - at <= 19 && isDigit(text.charCodeAt(end))) end += 1;
    if (end === at) break;
    digits += text.slice(at, end);
    groups.push(end - at);
    if (digits.length > 19 || groups.length > 5 || (groups[0] ?? 0) < 4) break;
    if (isCard({ digits, groups, isNear: () => hasContext(start, end) }) && !isWord(text.charCodeAt(end))) best = end;
    const next = text.charAt(end);
    if (!' -.'.includes(next) || next === '' || (separator !== undefined && next !== separator)) break;
    separator = next;
    at = end + 1;
  }
  return best;
}

/** Near a word that says so the checksum is enough: ranges change. Else a brand's range and length, in groups or of 15 or 16 digits. */
function isCard({ digits, groups, isNear }: { readonly digits: string; readonly groups: readonly number[]; isNear(): boolean }): boolean {
  if (digits.length < 12 || !isPrinted(groups) || !isLuhn(digits) || /^(\d)\1*$/.test(digits)) return false;
  if (isOfBrand(digits) && (groups.length > 1 || plainLengths.has(digits.length))) return true;
  return isNear();
}

/** Lengths by country: the IBAN registry of SWIFT, release 99. */
const ibanLengths: Readonly<Record<string, number>> = Object.fromEntries(
  `AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27
  GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19
  MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24
  TR26 UA29 VA22 VG24 XK20 YE30`
    .split(/\s+/)
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
);

// The first four characters; the rest is read by hand.
const ibanStart = /(?<![A-Za-z0-9])[A-Za-z]{2} ?\d{2}/g;

/** IBANs: length of the country, remainder 97; spaces and dashes between. */
export function findIbans(text: string): readonly TextFinding[] {
  const found: TextFinding[] = [];
  for (const { index } of text.matchAll(ibanStart)) {
    const length = ibanLengths[text.slice(index, index + 2).toUpperCase()];
    if (length === undefined) continue;
    let compact = '';
    let at = index;
    while (compact.length < length && at < text.length && at - index < 80) {
      const character = text.charAt(at);
      if (isWord(character.charCodeAt(0)) && character !== '_') compact += character;
      else if (!(' -'.includes(character) && isWord(text.charCodeAt(at + 1)))) break;
      at += 1;
    }
    if (compact.length !== length || isWord(text.charCodeAt(at))) continue;
    const upper = compact.toUpperCase();
    if (mod97(upper.slice(4) + upper.slice(0, 4)) === 1) found.push({ start: index, end: at, kind: 'iban' });
  }
  return found;
}
