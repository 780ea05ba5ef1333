// A text in which values are looked up: whether a name, an address, an amount or a date stands in it, and not only a piece of one.
import { accountSource } from './account-numbers.js';

const whiteSpace = /\s+/g;
const scheme = /\bhttps?:\/\/(?=\S)/gi;

/** White space is one space, `http://` and `https://` are left out, Unicode is composed. Letters keep their case. */
function plain(text: string): string {
  return text.normalize('NFC').replace(scheme, '').replace(whiteSpace, ' ');
}

/** What joins characters to one name, address or number. */
const inWord = /[\p{L}\p{N}\p{M}_]/u;
const joins = "@.-/\\:+&=?#%~$'’{}*!|^`";
const around = '"\'“”„‘’`«»()<>[] ';

/** An account number as banks write them, and any number in groups: letters and digits, spaces or hyphens between. */
const account = new RegExp(String.raw`\b${accountSource}\b`, 'g');
const groups = /(?<!\d)\+?\d{2,}(?:[ -]\d{2,}){2,}/g;
const longNumber = /(?<!\d)\+?\d{10,}/g;
const packed = (text: string): string => text.replace(/[ -]/g, '');
const packedForm = /^(?:[A-Z]{2}\d{2}[A-Z0-9]{8,32}|\+?\d{10,34})$/;

const numberToken = /\d[\d.,'’]*/g;
const currency = /^(?:eur|usd|gbp|chf|euros?|dollars?|pounds?|€|\$|£)(?![\p{L}\p{N}])/iu;
const isoDate = /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{1,2}:\d{2})(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const monthWords =
  '(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)';
const monthFirst = new RegExp(`\\b${monthWords}\\.? (\\d{1,2})(?:st|nd|rd|th)?,? (\\d{4})\\b`, 'gi');
const dayFirst = new RegExp(`\\b(\\d{1,2})(?:st|nd|rd|th|\\.)?(?: of)? ${monthWords}\\.?,? (\\d{4})\\b`, 'gi');
/** Words alone, an e-mail address, or a host: what people write in either case. Of all else, the case counts. */
const caseFree = /^[\p{L}\p{M}' .-]+$|^[^\s@/\\]+@[^\s@/\\]+$|^[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+\/?$/u;
const quotation = /(?<![\p{L}\p{N}])'[^'\n]{1,300}'(?![\p{L}\p{N}])|"[^"\n]{1,300}"|[“„«][^”“»\n]{1,300}[”“»]|`[^`\n]{1,300}`/gu;

const mostLooked = 500;
const longestKept = 300;

/** Texts put together, in which values are looked up. */
export class TextIndex {
  private text = '';
  private lower = '';
  private readonly accounts = new Set<string>();
  private readonly numbers = new Set<number>();
  private readonly dates = new Set<string>();
  /** What was found out about the values that were looked up. */
  private readonly looked = new Map<string, boolean>();
  /** What stands between quotes: offsets in `text`. */
  private readonly quoted: { readonly start: number; readonly end: number }[] = [];

  add(given: string): void {
    this.looked.clear();
    const text = plain(given);
    const start = this.text.length + 1;
    this.text += `\n${text}`;
    // Of few letters the lower case has another length; then offsets would not fit, and the text is looked up as it is.
    const lower = text.toLowerCase();
    this.lower += `\n${lower.length === text.length ? lower : text}`;
    for (const { 0: each, index } of text.matchAll(quotation))
      this.quoted.push({ start: start + index + 1, end: start + index + each.length - 1 });
    for (const pattern of [account, groups, longNumber]) for (const [each] of text.matchAll(pattern)) this.accounts.add(packed(each));
    this.addNumbers([account, groups, monthFirst, dayFirst].reduce((rest, pattern) => rest.replace(pattern, ' '), text));
    for (const [, month = '', day = '', year = ''] of text.matchAll(monthFirst)) this.addDate(year, month, day);
    for (const [, day = '', month = '', year = ''] of text.matchAll(dayFirst)) this.addDate(year, month, day);
  }

  /** Numbers that stand for themselves: none that is a part of a name, an address, a date or a time. */
  private addNumbers(text: string): void {
    for (const { 0: token, index } of text.matchAll(numberToken)) {
      const end = index + token.length;
      const [before, after] = [charBefore(text, index), charAt(text, end)];
      if (inWord.test(before) || (inWord.test(after) && !currency.test(text.slice(end, end + 8)))) continue;
      if ('-/:@.'.includes(before) && before !== '' && inWord.test(charBefore(text, index - 1))) continue;
      if ('-/:@'.includes(after) && after !== '' && inWord.test(charAt(text, end + 1))) continue;
      const number = readNumber(token);
      if (number !== undefined) this.numbers.add(number);
    }
  }

  private addDate(year: string, month: string, day: string): void {
    const number = months.indexOf(month.slice(0, 3).toLowerCase()) + 1;
    this.dates.add(`${year}-${String(number).padStart(2, '0')}-${day.padStart(2, '0')}`);
  }

  /**
   * Whether a value stands in it: a text as it is but for white space, quotes, `https://` and (of words and addresses) case; a number in any
   * usual form; an account number in groups. What holds no letter and no digit stands nowhere.
   */
  has(value: string | number): boolean {
    if (typeof value === 'number') return this.numbers.has(value);
    if (value.length > longestKept) return this.find(value);
    let known = this.looked.get(value);
    if (known === undefined) {
      known = this.find(value);
      if (this.looked.size >= mostLooked) this.looked.clear();
      this.looked.set(value, known);
    }
    return known;
  }

  private find(value: string): boolean {
    const wanted = trimmed(plain(value));
    if (!/[\p{L}\p{N}]/u.test(wanted)) return false;
    if (this.stands(wanted)) return true;
    const date = isoDate.exec(wanted);
    if (date !== null) return this.hasDate(date[1] ?? '', date[2]);
    if (/^\d[\d.,]{0,11}$/.test(wanted)) {
      const number = readNumber(wanted);
      return number !== undefined && this.numbers.has(number);
    }
    const form = packed(wanted);
    return packedForm.test(form) && this.accounts.has(form);
  }

  /** Whether a word of a script without spaces stands anywhere in it. */
  includes(word: string): boolean {
    return this.text.includes(word.normalize('NFC'));
  }

  private hasDate(day: string, time: string | undefined): boolean {
    const hasDay = this.dates.has(day) || this.stands(day);
    return hasDay && (time === undefined || this.stands(time) || this.stands(time.replace(/^0/, '')));
  }

  private stands(wanted: string): boolean {
    const isFree = caseFree.test(wanted);
    const text = isFree ? this.lower : this.text;
    const sought = isFree ? wanted.toLowerCase() : wanted;
    const isPath = /[/\\]/.test(wanted);
    for (let at = text.indexOf(sought); at !== -1; at = text.indexOf(sought, at + 1)) {
      const end = at + sought.length;
      if (isBeginning(text, at, sought) && isEnd(text, end) && !(isPath && this.isPieceOfQuotation(at, end))) return true;
    }
    return false;
  }

  /** A path in quotes may have spaces: the piece before one is another path. */
  private isPieceOfQuotation(at: number, end: number): boolean {
    return this.quoted.some((each) => each.start <= at && end <= each.end && each.end - each.start > end - at);
  }
}

/** Without quotes, brackets and spaces around it, and a slash at the end. */
function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && around.includes(text.charAt(start))) start += 1;
  while (end > start && around.includes(text.charAt(end - 1))) end -= 1;
  if (end - start > 1 && text.charAt(end - 1) === '/') end -= 1;
  return text.slice(start, end);
}

/** Whether a value begins here, and is not the rest of a longer one. */
function isBeginning(text: string, at: number, sought: string): boolean {
  const before = charBefore(text, at);
  if (before === '') return true;
  if (inWord.test(before)) return !inWord.test(sought.charAt(0));
  if (before === ':') return !inWord.test(charBefore(text, at - 1)) || !/^\d/.test(sought);
  return !joins.includes(before) || !inWord.test(charBefore(text, at - 1));
}

function isEnd(text: string, end: number): boolean {
  const after = charAt(text, end);
  if (after === '') return true;
  if (inWord.test(after)) return !inWord.test(text.charAt(end - 1));
  if (after === '/' || after === ':') return !/\S/.test(charAt(text, end + 1));
  // `Bob's` is Bob.
  if ((after === "'" || after === '’') && /^s(?![\p{L}\p{N}])/iu.test(text.slice(end + 1, end + 4))) return true;
  return !joins.includes(after) || !inWord.test(charAt(text, end + 1));
}

const charAt = (text: string, at: number): string => (at < text.length ? String.fromCodePoint(text.codePointAt(at) ?? 0) : '');
const charBefore = (text: string, at: number): string => Array.from(text.slice(Math.max(0, at - 2), Math.max(0, at))).at(-1) ?? '';

/** A number as people write it: `1,200.50`, `1200`, `1.200,50`. `1.200` is read as it stands, one and two tenths. */
export function readNumber(token: string): number | undefined {
  const digits = token.replace(/[.,'’]+$/, '').replace(/['’]/g, '');
  const isGerman = /^\d{1,3}(?:\.\d{3})+,\d+$|^\d{1,3}(?:\.\d{3}){2,}$/.test(digits);
  const isEnglish = /^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(digits);
  const isDecimalComma = /^\d+,\d{1,2}$/.test(digits);
  const number = Number(
    isGerman
      ? digits.replaceAll('.', '').replace(',', '.')
      : isEnglish
        ? digits.replaceAll(',', '')
        : isDecimalComma
          ? digits.replace(',', '.')
          : digits,
  );
  return Number.isFinite(number) ? number : undefined;
}
