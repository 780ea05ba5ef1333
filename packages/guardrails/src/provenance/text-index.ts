// A text in which values are looked up: whether a name, an address, an amount or a date stands in it, and not only a piece of one.

const whiteSpace = /\s+/g;
const scheme = /\bhttps?:\/\/(?=\S)/gi;
const quotes = /^["'“”‘’`«»(<[]+|["'“”‘’`«»)>\]]+$/g;

/** White space is one space, `http://` and `https://` are left out, Unicode is composed. Letters keep their case. */
function plain(text: string): string {
  return text.normalize('NFC').replace(scheme, '').replace(whiteSpace, ' ');
}

/** What joins characters to one name, address or number. */
const inWord = /[\p{L}\p{N}\p{M}_]/u;
const joins = '@.-/\\:+&=?#%~$';

/** Letters and digits of an account number or phone number, whatever stands between them. */
const compact = (text: string): string => text.replace(/[\s.\-/()]/g, '').toUpperCase();
const numberToken = /\d[\d.,'’]*/g;
const isoDate = /^(\d{4}-\d{2}-\d{2})(?:[ T](\d{1,2}:\d{2})(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const monthWords =
  '(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)';
const monthFirst = new RegExp(`\\b${monthWords}\\.? (\\d{1,2})(?:st|nd|rd|th)?,? (\\d{4})\\b`, 'gi');
const dayFirst = new RegExp(`\\b(\\d{1,2})(?:st|nd|rd|th|\\.)?(?: of)? ${monthWords}\\.?,? (\\d{4})\\b`, 'gi');
/** Words alone, an e-mail address, or a host: what people write in either case. Of all else, the case counts. */
const caseFree = /^[\p{L}\p{M}' .-]+$|^[^\s@/\\]+@[^\s@/\\]+$|^[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+\/?$/u;

/** Texts put together, in which values are looked up. */
export class TextIndex {
  private text = '';
  private lower = '';
  private packed = '';
  private readonly numbers = new Set<number>();
  private readonly dates = new Set<string>();

  get isEmpty(): boolean {
    return this.text === '';
  }

  add(given: string): void {
    const text = plain(given);
    this.text += `\n${text}`;
    this.lower += `\n${text.toLowerCase()}`;
    this.packed += `\n${compact(text)}`;
    for (const { 0: token, index } of text.matchAll(numberToken)) {
      if (inWord.test(charBefore(text, index)) || inWord.test(charAt(text, index + token.length))) continue;
      const number = readNumber(token);
      if (number !== undefined) this.numbers.add(number);
    }
    for (const [, month = '', day = '', year = ''] of text.matchAll(monthFirst)) this.addDate(year, month, day);
    for (const [, day = '', month = '', year = ''] of text.matchAll(dayFirst)) this.addDate(year, month, day);
  }

  private addDate(year: string, month: string, day: string): void {
    const number = months.indexOf(month.slice(0, 3).toLowerCase()) + 1;
    this.dates.add(`${year}-${String(number).padStart(2, '0')}-${day.padStart(2, '0')}`);
  }

  /** Whether a value stands in it: a text as it is but for white space, quotes, `https://` and (of words and addresses) case; a number in any usual form. */
  has(value: string | number): boolean {
    if (typeof value === 'number') return this.numbers.has(value);
    const wanted = plain(value).trim().replace(quotes, '').replace(/\/$/, '').trim();
    if (wanted === '') return false;
    if (this.stands(wanted)) return true;
    const date = isoDate.exec(wanted);
    if (date !== null) return this.hasDate(date[1] ?? '', date[2]);
    if (/^\d[\d.,]*$/.test(wanted)) {
      const number = readNumber(wanted);
      return number !== undefined && wanted.length < 12 && this.numbers.has(number);
    }
    // An account number in groups of four is the same account.
    const packed = compact(wanted);
    return packed.length >= 10 && /\d{4}/.test(packed) && /^[A-Z0-9+]+$/.test(packed) && this.hasPacked(packed);
  }

  private hasDate(day: string, time: string | undefined): boolean {
    const hasDay = this.dates.has(day) || this.stands(day);
    return hasDay && (time === undefined || this.stands(time) || this.stands(time.replace(/^0/, '')));
  }

  private hasPacked(packed: string): boolean {
    for (let at = this.packed.indexOf(packed); at !== -1; at = this.packed.indexOf(packed, at + 1)) {
      const before = this.packed.charAt(at - 1);
      const after = this.packed.charAt(at + packed.length);
      // Digits that go on are another number; letters may be the next word, since white space is gone.
      if (!/\d/.test(before) && !/\d/.test(after)) return true;
    }
    return false;
  }

  private stands(wanted: string): boolean {
    const isFree = caseFree.test(wanted);
    const text = isFree ? this.lower : this.text;
    const sought = isFree ? wanted.toLowerCase() : wanted;
    for (let at = text.indexOf(sought); at !== -1; at = text.indexOf(sought, at + 1)) {
      if (isBeginning(text, at, sought) && isEnd(text, at + sought.length)) return true;
    }
    return false;
  }
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
