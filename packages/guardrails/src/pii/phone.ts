import type { CountryCode } from 'libphonenumber-js';
import { getCountries, getCountryCallingCode, isValidPhoneNumber, Metadata } from 'libphonenumber-js';
import type { TextFinding } from '../text/finding.js';

/** A piece of text that is written as a telephone number may be. */
interface Piece {
  readonly start: number;
  readonly end: number;
  readonly digits: string;
  /** Lengths of its groups of digits. */
  readonly groups: readonly number[];
  readonly hasPlus: boolean;
  readonly hasBrackets: boolean;
}

/** Words near which any number that is long enough is one to call. In lower case without accents. */
export const phoneContext = [
  'phone',
  'telephone',
  'tel.',
  'tel:',
  'tel ',
  'mobile',
  'cell',
  'fax',
  'office',
  'call me',
  'call us',
  'call at',
  'call on',
  'calling',
  'reach me',
  'reach us',
  'reach him',
  'reach her',
  'ring me',
  'dial',
  'hotline',
  'helpline',
  'landline',
  'whatsapp',
  'signal',
  'telegram',
  'sms',
  'text me',
  'texts to',
  'messages to',
  'message to',
  'contact me',
  'contact us',
  'contact number',
  'callback',
  'call back',
  'voicemail',
  'handy',
  'telefon',
  'rufen',
  'ruf ',
  'anruf',
  'mobil',
  'telefono',
  'telefone',
  'movil',
  'celular',
  'llamame',
  'llame',
  'ligue',
  'telephoner',
  'portable',
  'appelez',
  'appeler',
  'chiamami',
  'cellulare',
  'telefoon',
  'bel me',
  'puhelin',
  'telefonnummer',
  '电话',
  '手机',
  '電話',
  '携帯',
  '전화',
  'телефон',
  'тел.',
  'هاتف',
  'फोन',
] as const; // prettier-ignore

const longestPiece = 34;
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

interface Countries {
  /** Lengths of national numbers by calling code. */
  readonly byCode: ReadonlyMap<string, ReadonlySet<number>>;
  readonly lengths: ReadonlyMap<string, ReadonlySet<number>>;
}
let countries: Countries | undefined;

/** From the library's data, once. */
function readCountries(): Countries {
  if (countries !== undefined) return countries;
  const byCode = new Map<string, Set<number>>();
  const lengths = new Map<string, ReadonlySet<number>>();
  const metadata = new Metadata();
  for (const country of getCountries()) {
    metadata.selectNumberingPlan(country);
    const possible = metadata.numberingPlan?.possibleLengths() ?? [];
    lengths.set(country, new Set(possible));
    const code = getCountryCallingCode(country);
    const known = byCode.get(code) ?? new Set<number>();
    for (const length of possible) known.add(length);
    byCode.set(code, known);
  }
  countries = { byCode, lengths };
  return countries;
}

/** Countries whose numbers are known. */
export function phoneRegions(): readonly string[] {
  return getCountries();
}

/** Characters in which so many pieces are a crowd, where the library is not asked. */
const crowdWithin = 200;
const crowdAsks = 4;

/**
 * Telephone numbers: international ones by calling code and length; those of North America as they are written; those of `regions` by the
 * library's patterns; any other near a word that says so. One answer of the library takes up to 0.1 ms: where pieces stand in a crowd
 * their length decides, so that what is crowded is redacted and not missed.
 */
export function findPhones(
  text: string,
  regions: readonly string[],
  hasContext: (start: number, end: number) => boolean,
): readonly TextFinding[] {
  const found: TextFinding[] = [];
  const starts: number[] = [];
  const most = Math.floor(crowdAsks / Math.max(1, regions.length));
  const isNational = (piece: Piece): boolean => {
    const isCrowd = (starts[starts.length - 1 - most] ?? Number.NEGATIVE_INFINITY) >= piece.start - crowdWithin;
    const written = text.slice(piece.start, piece.end);
    return regions.some((region) => {
      const lengths = readCountries().lengths.get(region);
      if (lengths === undefined || !(lengths.has(piece.digits.length) || lengths.has(piece.digits.length - 1))) return false;
      return isCrowd || isValidPhoneNumber(written, region as CountryCode);
    });
  };
  for (const piece of pieces(text)) {
    starts.push(piece.start);
    const { start, end } = piece;
    if (
      isPhone(piece, {
        isNear: () => hasContext(start, end),
        isNamed: () => otherName.test(text.slice(Math.max(0, start - 40), start)),
        isNational: () => isNational(piece),
      })
    )
      found.push({ start, end, kind: 'phone' });
  }
  return found;
}

// A word, perhaps with `number` behind it, right before: bounded.
const otherName =
  /(?:invoice|order|ticket|case|reference|ref|account|acct|serial|tracking|isbn|version|build|customer|policy|article|item|model|page|zip|ssn|id|rechnung|bestellung|kunde|kunden)(?:[ -]?(?:number|nummer|no\.?|nr\.?|id|code))?[ :#.]{0,3}$/i;

interface Evidence {
  /** A word that says so stands near. */
  isNear(): boolean;
  /** It is called by another name: `order 1234567`. */
  isNamed(): boolean;
  /** It is a number of one of the regions. */
  isNational(): boolean;
}

function isPhone(piece: Piece, evidence: Evidence): boolean {
  const { isNear, isNational } = evidence;
  const { digits, hasPlus, groups } = piece;
  if (digits.length < 7 || digits.length > 17 || /^(\d)\1+$/.test(digits)) return false;
  if (hasPlus) return isInternational(digits);
  if (digits.startsWith('00') && isInternational(digits.slice(2)) && (groups.length > 1 || isNear())) return true;
  if (digits.startsWith('011') && isInternational(digits.slice(3)) && groups.length > 1) return true;
  if (isNorthAmerican(piece)) return true;
  if ((groups.length > 1 || digits.startsWith('0')) && isNational()) return true;
  // Bare round numbers are amounts.
  if (groups.length === 1 && digits.length < 9 && digits.endsWith('0000')) return false;
  return digits.length <= 15 && !evidence.isNamed() && isNear();
}

/** Begins with a calling code whose countries have numbers of that length; a trunk zero, `+44 (0)20`, does not count. */
function isInternational(digits: string): boolean {
  const { byCode } = readCountries();
  for (let length = 1; length <= 3; length += 1) {
    const lengths = byCode.get(digits.slice(0, length));
    if (lengths === undefined) continue;
    const rest = digits.length - length;
    if (lengths.has(rest) || (digits.charAt(length) === '0' && lengths.has(rest - 1))) return true;
  }
  return false;
}

/** As it is written: 212-555-0123, (212) 555-0123, 1 212 555 0123. Area and exchange begin with 2 to 9. */
function isNorthAmerican({ digits, groups, hasBrackets }: Piece): boolean {
  const national = digits.length === 11 && digits.startsWith('1') ? digits.slice(1) : digits;
  if (!/^[2-9]\d{2}[2-9]\d{6}$/.test(national)) return false;
  const written = groups.slice(digits.length === 11 && groups[0] === 1 ? 1 : 0).join();
  return written === '3,3,4' || (hasBrackets && written === '3,7') || (written === '3,7' && groups.length === 2);
}

/** Cuts pieces out of the text: digits in groups with one or two signs between them. Each character is looked at a bounded number of times. */
function* pieces(text: string): Iterable<Piece> {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const opens = code === 0x2b || code === 0x28;
    if (!isDigit(code) && !opens) continue;
    if (opens && !isDigit(text.charCodeAt(at + 1)) && !(code === 0x28 && text.charCodeAt(at + 1) === 0x2b)) continue;
    const piece = isFree(text, at) ? readPiece(text, at) : undefined;
    if (piece !== undefined) {
      yield piece;
      at = piece.end - 1;
    } else if (isDigit(code)) {
      while (at + 1 < text.length && isDigit(text.charCodeAt(at + 1))) at += 1;
    }
  }
}

/** Not part of a word, an amount, a decimal number, an address, a path or an identifier. */
function isFree(text: string, at: number): boolean {
  if (at === 0) return true;
  const before = text.charAt(at - 1);
  if (/[\w#$€£¥%@&/\\]/.test(before) || before === '+') return false;
  return !((before === '.' || before === ',' || before === '-' || before === ':') && /\w/.test(text.charAt(at - 2)) && before !== ':');
}

function readPiece(text: string, start: number): Piece | undefined {
  let at = start;
  let digits = '';
  const groups: number[] = [];
  const signs: string[] = [];
  let end = start;
  while (at < text.length && at - start < longestPiece) {
    const from = at;
    while (at < text.length && at - from < 18 && isDigit(text.charCodeAt(at))) at += 1;
    if (at > from) {
      digits += text.slice(from, at);
      groups.push(at - from);
      if (groups.length > 8 || (groups.length === 3 && digits.length === 3)) return undefined;
      end = at;
    } else if (at > start && !'( '.includes(text.charAt(at - 1)) && signs.length > 0) break;
    const sign = signAt(text, at, start);
    if (sign === '') break;
    signs.push(sign);
    at += sign.length;
  }
  const number = end;
  end = endOfExtension(text, end);
  const after = text.charAt(end);
  if (digits.length < 7 || /[\w%€£$]/.test(after) || (/[.,:/-]/.test(after) && isDigit(text.charCodeAt(end + 1)))) return undefined;
  const written = text.slice(start, number);
  if (isOther(written, groups)) return undefined;
  return { start, end, digits, groups, hasPlus: /^\(?\+/.test(written), hasBrackets: written.includes('(') };
}

// An extension: `x123`, ` ext. 12`.
const extension = /[ ,]{0,2}(?:x|ext\.?|extension|Durchwahl|poste|#) ?\d{1,6}(?!\w)/y;

function endOfExtension(text: string, at: number): number {
  extension.lastIndex = at;
  return at + (extension.exec(text)?.[0].length ?? 0);
}

// What stands between two groups, or opens the first: one to three signs.
const sign = /(?:\+|\(\+?|\) ?[-./]? ?\(?|[-./·]\(?| ?[-–] ?| {1,2}\(?)(?=[\d(+])/y;

function signAt(text: string, at: number, start: number): string {
  sign.lastIndex = at;
  const found = sign.exec(text)?.[0] ?? '';
  return at > start && found.includes('+') ? '' : found;
}

/** Dates, times, years, addresses of machines, plain decimals and numbers with grouped thousands. */
function isOther(written: string, groups: readonly number[]): boolean {
  if (/^\d{4}[-./]\d{1,2}[-./]\d{1,2}(?!\d)|^\d{1,2}[-./]\d{1,2}[-./](?:19|20)\d{2}$/.test(written)) return true;
  if (/^(?:19|20)\d{2} ?[-–/] ?(?:19|20)\d{2}$/.test(written) || /^\d{1,3}(?:\.\d{1,3}){3}$/.test(written)) return true;
  if (/^\d{3}-\d{2}-\d{4}$|^\d+\.\d+$/.test(written)) return true;
  return groups.every((length) => length === 1);
}
