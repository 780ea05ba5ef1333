import { isDate, isLuhn, isMod11, isMod11And10, numberAt, weighted } from '../checksums.js';
import type { PiiKind } from '../kind.js';

/** National numbers of Europe. */
export const europeanKinds = [
  {
    id: 'uk-nhs-number',
    words: 'UK NHS number',
    group: 'identity',
    region: 'GB',
    pattern: /(?<![\w.-])\d{3}[ -]?\d{3}[ -]?\d{4}(?![\w-]| \d)/g,
    context: ['nhs', 'national health'],
    check: (digits) => isMod11(digits, [10, 9, 8, 7, 6, 5, 4, 3, 2]),
  },
  {
    id: 'uk-nino',
    words: 'UK national insurance number',
    group: 'identity',
    region: 'GB',
    // gov.uk, NIM39110: no D, F, I, Q, U, V first or second, no O second, and seven prefixes that are not given.
    pattern: /(?<![\w-])(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D](?![\w-])/g,
  },
  {
    id: 'uk-utr',
    words: 'UK unique taxpayer reference',
    group: 'identity',
    region: 'GB',
    pattern: /(?<![\w.-])\d{5} ?\d{5}(?![\w-])/g,
    context: ['utr', 'taxpayer reference'],
    check: isUtr,
  },
  {
    id: 'uk-driving-licence',
    words: 'UK driving licence',
    group: 'identity',
    region: 'GB',
    pattern: /(?<![\w-])[A-Z9]{5}\d[0156]\d[0-3]\d{2}[A-Z9]{2}\d[A-Z]{2}(?![\w-])/g,
  },
  {
    id: 'uk-sort-code',
    words: 'UK bank account',
    group: 'finance',
    region: 'GB',
    pattern: /(?<![\w.-])\d{2}-\d{2}-\d{2}(?:[ ,]{1,3}\d{8})?(?![\w-])/g,
    context: ['sort code', 'sortcode'],
  },
  {
    id: 'de-tax-id',
    words: 'German tax id',
    group: 'identity',
    region: 'DE',
    pattern: /(?<![\w.-])[1-9]\d ?\d{3} ?\d{3} ?\d{3}(?![\w-])/g,
    context: [
      'steuer-id',
      'steuerid',
      'steuer id',
      'steueridentifikation',
      'steuer-identifikation',
      'steuerliche identifikation',
      'idnr',
      'identifikationsnummer',
      'tax id',
      'tin',
    ],
    check: (digits) => isMod11And10(digits) && hasRepeat(digits.slice(0, 10)),
  },
  {
    id: 'de-social-insurance-number',
    words: 'German social insurance number',
    group: 'identity',
    region: 'DE',
    pattern: /(?<![\w.-])\d{2} ?\d{6} ?[A-Z] ?\d{3}(?![\w-])/g,
    check: isGermanInsurance,
  },
  {
    id: 'de-id-card',
    words: 'German identity card',
    group: 'identity',
    region: 'DE',
    pattern: /(?<![\w-])[CFGHJKLMNPRTVWXYZ][0-9CFGHJKLMNPRTVWXYZ]{8}\d?(?![\w-])/g,
    context: ['personalausweis', 'ausweisnummer', 'ausweis'],
  },
  {
    id: 'fr-nir',
    words: 'French social security number',
    group: 'identity',
    region: 'FR',
    pattern: /(?<![\w.-])[1-478] ?\d{2} ?(?:0[1-9]|1[0-2]|[2-9]\d) ?(?:\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}(?![\w-])/g,
    check: (text) => 97 - (Number(text.slice(0, 13).replace('2A', '19').replace('2B', '18')) % 97) === numberAt(text, 13, 2),
  },
  {
    id: 'es-dni',
    words: 'Spanish DNI',
    group: 'identity',
    region: 'ES',
    pattern: /(?<![\w-])\d{2}\.?\d{3}\.?\d{3}[- ]?[A-HJ-NP-TV-Z](?![\w-])/gi,
    check: (text) => spanishLetter(Number(text.slice(0, 8))) === text.slice(8),
  },
  {
    id: 'es-nie',
    words: 'Spanish NIE',
    group: 'identity',
    region: 'ES',
    pattern: /(?<![\w-])[XYZ][- ]?\d{7}[- ]?[A-HJ-NP-TV-Z](?![\w-])/gi,
    check: (text) => spanishLetter(Number(`${'XYZ'.indexOf(text.charAt(0))}${text.slice(1, 8)}`)) === text.slice(8),
  },
  {
    id: 'it-codice-fiscale',
    words: 'Italian codice fiscale',
    group: 'identity',
    region: 'IT',
    pattern: /(?<![\w-])[A-Z]{6}[0-9LMNP-V]{2}[ABCDEHLMPRST][0-9LMNP-V]{2}[A-Z][0-9LMNP-V]{3}[A-Z](?![\w-])/gi,
    check: isCodiceFiscale,
  },
  {
    id: 'it-partita-iva',
    words: 'Italian VAT number',
    group: 'identity',
    region: 'IT',
    pattern: /(?<![\w.-])(?:IT)?\d{11}(?![\w-])/g,
    context: ['partita iva', 'p.iva', 'p. iva', 'vat'],
    check: (text) => isLuhn(text.replace('IT', '')),
  },
  {
    id: 'nl-bsn',
    words: 'Dutch BSN',
    group: 'identity',
    region: 'NL',
    pattern: /(?<![\w.-])\d{4}[. ]?\d{2}[. ]?\d{3}(?![\w-])/g,
    context: ['bsn', 'burgerservice', 'sofi'],
    check: (digits) => Number(digits) > 0 && (weighted(digits, [9, 8, 7, 6, 5, 4, 3, 2]) - numberAt(digits, 8, 1)) % 11 === 0,
  },
  {
    id: 'be-national-number',
    words: 'Belgian national number',
    group: 'identity',
    region: 'BE',
    pattern: /(?<![\w.-])\d{2}[. ]?\d{2}[. ]?\d{2}[- ]?\d{3}[. ]?\d{2}(?![\w-])/g,
    plain: /^\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}$/,
    context: ['rijksregister', 'registre national', 'national number', 'insz', 'niss'],
    check: isBelgian,
  },
  {
    id: 'lu-matricule',
    words: 'Luxembourgish matricule',
    group: 'identity',
    region: 'LU',
    pattern: /(?<![\w.-])(?:19|20)\d{2} ?\d{4} ?\d{5}(?![\w-])/g,
    context: ['matricule', 'luxemb'],
    check: (digits) => isLuhn(digits.slice(0, 12)),
  },
  {
    id: 'pl-pesel',
    words: 'Polish PESEL',
    group: 'identity',
    region: 'PL',
    pattern: /(?<![\w.-])\d{11}(?![\w-])/g,
    context: ['pesel'],
    check: (digits) =>
      weighted(digits, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 === 0 && isDate(numberAt(digits, 4, 2), numberAt(digits, 2, 2) % 20),
  },
  {
    id: 'pl-nip',
    words: 'Polish NIP',
    group: 'identity',
    region: 'PL',
    pattern: /(?<![\w.-])\d{3}-?\d{2,3}-?\d{2}-?\d{2,3}(?![\w-])/g,
    context: ['nip'],
    check: (digits) => digits.length === 10 && weighted(digits, [6, 5, 7, 2, 3, 4, 5, 6, 7]) % 11 === numberAt(digits, 9, 1),
  },
  {
    id: 'se-personnummer',
    words: 'Swedish personnummer',
    group: 'identity',
    region: 'SE',
    pattern: /(?<![\w.-])(?:19|20)?\d{6}[-+]?\d{4}(?![\w-])/g,
    plain: /^(?:19|20)?\d{6}[-+]\d{4}$/,
    context: ['personnummer', 'personnr', 'samordningsnummer', 'swedish id'],
    check: isPersonnummer,
  },
  {
    id: 'fi-hetu',
    words: 'Finnish personal identity code',
    group: 'identity',
    region: 'FI',
    pattern: /(?<![\w.-])[0-3]\d[01]\d{3}[-+A-FU-Y]\d{3}[0-9A-FHJ-NPR-Y](?![\w-])/g,
    check: isHetu,
  },
  {
    id: 'dk-cpr',
    words: 'Danish CPR number',
    group: 'identity',
    region: 'DK',
    pattern: /(?<![\w.-])[0-3]\d[01]\d{3}[- ]?\d{4}(?![\w-])/g,
    context: ['cpr', 'personnummer'],
    check: (digits) => isDate(numberAt(digits, 0, 2), numberAt(digits, 2, 2)),
  },
  {
    id: 'no-fodselsnummer',
    words: 'Norwegian national number',
    group: 'identity',
    region: 'NO',
    pattern: /(?<![\w.-])\d{6} ?\d{5}(?![\w-])/g,
    context: ['fodselsnummer', 'fødselsnummer', 'personnummer', 'd-nummer', 'fnr'],
    check: isNorwegian,
  },
  {
    id: 'is-kennitala',
    words: 'Icelandic kennitala',
    group: 'identity',
    region: 'IS',
    pattern: /(?<![\w.-])\d{6}-?\d{4}(?![\w-])/g,
    context: ['kennitala'],
    check: (digits) => (11 - (weighted(digits, [3, 2, 7, 6, 5, 4, 3, 2]) % 11)) % 11 === numberAt(digits, 8, 1),
  },
  {
    id: 'ch-ahv',
    words: 'Swiss AHV number',
    group: 'identity',
    region: 'CH',
    pattern: /(?<![\w.-])756\.?\d{4}\.?\d{4}\.?\d{2}(?![\w-])/g,
    check: (digits) => weighted(digits, [1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]) % 10 === 0,
  },
  {
    id: 'at-svnr',
    words: 'Austrian social insurance number',
    group: 'identity',
    region: 'AT',
    pattern: /(?<![\w.-])[1-9]\d{3} ?\d{6}(?![\w-])/g,
    context: ['svnr', 'sozialversicherung', 'sv-nummer', 'versicherungsnummer'],
    check: (digits) => weighted(digits, [3, 7, 9, 0, 5, 8, 4, 2, 1, 6]) % 11 === numberAt(digits, 3, 1),
  },
  {
    id: 'pt-nif',
    words: 'Portuguese NIF',
    group: 'identity',
    region: 'PT',
    pattern: /(?<![\w.-])[1-35689]\d{2} ?\d{3} ?\d{3}(?![\w-])/g,
    context: ['nif', 'contribuinte', 'numero fiscal'],
    check: (digits) => upTo9(11 - (weighted(digits, [9, 8, 7, 6, 5, 4, 3, 2]) % 11)) === numberAt(digits, 8, 1),
  },
  {
    id: 'ie-pps',
    words: 'Irish PPS number',
    group: 'identity',
    region: 'IE',
    pattern: /(?<![\w-])\d{7}[A-W][A-IW]?(?![\w-])/g,
    context: ['pps', 'ppsn', 'personal public service'],
    check: isPps,
  },
  {
    id: 'gr-afm',
    words: 'Greek AFM',
    group: 'identity',
    region: 'GR',
    pattern: /(?<![\w.-])\d{9}(?![\w-])/g,
    context: ['afm', 'αφμ', 'α.φ.μ'],
    check: (digits) => (weighted(digits, [256, 128, 64, 32, 16, 8, 4, 2]) % 11) % 10 === numberAt(digits, 8, 1),
  },
  {
    id: 'ro-cnp',
    words: 'Romanian CNP',
    group: 'identity',
    region: 'RO',
    pattern: /(?<![\w.-])[1-9]\d{12}(?![\w-])/g,
    context: ['cnp', 'cod numeric'],
    check: (digits) => {
      const rest = weighted(digits, [2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11;
      return (rest === 10 ? 1 : rest) === numberAt(digits, 12, 1);
    },
  },
  {
    id: 'bg-egn',
    words: 'Bulgarian EGN',
    group: 'identity',
    region: 'BG',
    pattern: /(?<![\w.-])\d{10}(?![\w-])/g,
    context: ['egn', 'егн'],
    check: (digits) => (weighted(digits, [2, 4, 8, 5, 10, 9, 7, 3, 6]) % 11) % 10 === numberAt(digits, 9, 1),
  },
  {
    id: 'cz-birth-number',
    words: 'Czech or Slovak birth number',
    group: 'identity',
    region: 'CZ',
    pattern: /(?<![\w.-])\d{6}\/?\d{4}(?![\w-])/g,
    plain: /^\d{6}\/\d{4}$/,
    context: ['rodne cislo', 'birth number', 'r.c.'],
    check: isCzech,
  },
  {
    id: 'hu-taj',
    words: 'Hungarian TAJ number',
    group: 'identity',
    region: 'HU',
    pattern: /(?<![\w.-])\d{3}[ -]?\d{3}[ -]?\d{3}(?![\w-])/g,
    context: ['taj'],
    check: (digits) => weighted(digits, [3, 7, 3, 7, 3, 7, 3, 7]) % 10 === numberAt(digits, 8, 1),
  },
  {
    id: 'ee-personal-code',
    words: 'Estonian or Lithuanian personal code',
    group: 'identity',
    region: 'EE',
    pattern: /(?<![\w.-])[1-6]\d{10}(?![\w-])/g,
    context: ['isikukood', 'asmens kodas', 'personal code'],
    check: isBaltic,
  },
  {
    id: 'lv-personal-code',
    words: 'Latvian personal code',
    group: 'identity',
    region: 'LV',
    pattern: /(?<![\w.-])\d{6}-\d{5}(?![\w-])/g,
    context: ['personas kods', 'personal code'],
  },
  {
    id: 'ru-snils',
    words: 'Russian SNILS',
    group: 'identity',
    region: 'RU',
    pattern: /(?<![\w.-])\d{3}-\d{3}-\d{3}[ -]\d{2}(?![\w-])/g,
    check: (digits) => (weighted(digits, [9, 8, 7, 6, 5, 4, 3, 2, 1]) % 101) % 100 === numberAt(digits, 9, 2),
  },
  {
    id: 'ru-inn',
    words: 'Russian INN',
    group: 'identity',
    region: 'RU',
    pattern: /(?<![\w.-])\d{12}(?![\w-])/g,
    context: ['инн', 'inn'],
    check: (digits) =>
      (weighted(digits, [7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) % 11) % 10 === numberAt(digits, 10, 1) &&
      (weighted(digits, [3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) % 11) % 10 === numberAt(digits, 11, 1),
  },
  {
    id: 'ua-tax-number',
    words: 'Ukrainian tax number',
    group: 'identity',
    region: 'UA',
    pattern: /(?<![\w.-])\d{10}(?![\w-])/g,
    context: ['рнокпп', 'іпн', 'rnokpp', 'ipn'],
    check: (digits) => (((weighted(digits, [-1, 5, 7, 9, 4, 6, 10, 5, 7]) % 11) + 11) % 11) % 10 === numberAt(digits, 9, 1),
  },
] as const satisfies readonly PiiKind[];

const upTo9 = (check: number): number => (check > 9 ? 0 : check);

/** One digit stands twice or three times among the first ten (identity numbers of the tax office). */
function hasRepeat(digits: string): boolean {
  const distinct = new Set(digits).size;
  return distinct === 9 || distinct === 8;
}

function isUtr(digits: string): boolean {
  return '21987654321'.charAt(weighted(digits.slice(1), [6, 7, 8, 9, 10, 5, 4, 3, 2]) % 11) === digits.charAt(0);
}

function isGermanInsurance(text: string): boolean {
  const letter = String(text.charCodeAt(8) - 64).padStart(2, '0');
  const digits = text.slice(0, 8) + letter + text.slice(9, 11);
  const sum = [2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1].reduce((total, weight, index) => {
    const product = numberAt(digits, index, 1) * weight;
    return total + Math.floor(product / 10) + (product % 10);
  }, 0);
  return sum % 10 === numberAt(text, 11, 1) && isDate(numberAt(text, 2, 2) % 50 || 1, numberAt(text, 4, 2) || 1);
}

function spanishLetter(value: number): string {
  return 'TRWAGMYFPDXBNJZSQVHLCKE'.charAt(value % 23);
}

const oddValues = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];

function isCodiceFiscale(text: string): boolean {
  let sum = 0;
  for (let index = 0; index < 15; index += 1) {
    const code = text.charCodeAt(index);
    const value = code < 65 ? code - 48 : code - 65;
    sum += index % 2 === 0 ? (oddValues[value] ?? 0) : value;
  }
  return String.fromCharCode(65 + (sum % 26)) === text.slice(15);
}

function isBelgian(digits: string): boolean {
  const check = numberAt(digits, 9, 2);
  const body = digits.slice(0, 9);
  return 97 - (Number(body) % 97) === check || 97 - (Number(`2${body}`) % 97) === check;
}

function isPersonnummer(text: string): boolean {
  const digits = text.replace('+', '').slice(-10);
  // Coordination numbers add 60 to the day.
  return isLuhn(digits) && isDate(numberAt(digits, 4, 2) % 60, numberAt(digits, 2, 2));
}

function isHetu(_compact: string, written: string): boolean {
  const value = Number(written.slice(0, 6) + written.slice(7, 10));
  return (
    isDate(numberAt(written, 0, 2), numberAt(written, 2, 2)) && '0123456789ABCDEFHJKLMNPRSTUVWXY'.charAt(value % 31) === written.charAt(10)
  );
}

function isNorwegian(digits: string): boolean {
  return isMod11(digits.slice(0, 10), [3, 7, 6, 1, 8, 9, 4, 5, 2]) && isMod11(digits, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2]);
}

function isPps(text: string): boolean {
  const second = text.length > 8 ? text.charCodeAt(8) - 64 : 0;
  const rest = (weighted(text, [8, 7, 6, 5, 4, 3, 2]) + (second === 23 ? 0 : second * 9)) % 23;
  return (rest === 0 ? 'W' : String.fromCharCode(64 + rest)) === text.charAt(7);
}

function isCzech(digits: string): boolean {
  const month = numberAt(digits, 2, 2) % 50;
  return Number(digits) % 11 === 0 && isDate(numberAt(digits, 4, 2), month > 20 ? month - 20 : month);
}

function isBaltic(digits: string): boolean {
  const first = weighted(digits, [1, 2, 3, 4, 5, 6, 7, 8, 9, 1]) % 11;
  const check = first === 10 ? weighted(digits, [3, 4, 5, 6, 7, 8, 9, 1, 2, 3]) % 11 : first;
  return upTo9(check) === numberAt(digits, 10, 1) && isDate(numberAt(digits, 5, 2), numberAt(digits, 3, 2));
}
