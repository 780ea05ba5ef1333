import { isDate, isLuhn, isMod11And10, isVerhoeff, mod97, numberAt, weighted } from '../checksums.js';
import type { PiiKind } from '../kind.js';

/** National numbers of Asia, Oceania and Africa. */
export const asianKinds = [
  {
    id: 'in-aadhaar',
    words: 'Indian Aadhaar number',
    group: 'identity',
    region: 'IN',
    pattern: /(?<![\w.-])[2-9]\d{3}[ -]?\d{4}[ -]?\d{4}(?![\w-]| \d)/g,
    context: ['aadhaar', 'aadhar', 'adhaar', 'uidai', 'uid', 'आधार'],
    check: isVerhoeff,
  },
  {
    id: 'in-pan',
    words: 'Indian PAN',
    group: 'identity',
    region: 'IN',
    pattern: /(?<![\w-])[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z](?![\w-])/g,
  },
  {
    id: 'in-voter-id',
    words: 'Indian voter id',
    group: 'identity',
    region: 'IN',
    pattern: /(?<![\w-])[A-Z]{3}\d{7}(?![\w-])/g,
    context: ['voter', 'epic'],
  },
  {
    id: 'au-tfn',
    words: 'Australian tax file number',
    group: 'identity',
    region: 'AU',
    pattern: /(?<![\w.-])\d{3}[ -]?\d{3}[ -]?\d{3}(?![\w-]| \d)/g,
    context: ['tfn', 'tax file'],
    check: (digits) => weighted(digits, [1, 4, 3, 7, 5, 8, 6, 9, 10]) % 11 === 0,
  },
  {
    id: 'au-abn',
    words: 'Australian business number',
    group: 'identity',
    region: 'AU',
    pattern: /(?<![\w.-])\d{2} ?\d{3} ?\d{3} ?\d{3}(?![\w-]| \d)/g,
    context: ['abn', 'business number'],
    check: (digits) => (weighted(digits, [10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19]) - 10) % 89 === 0,
  },
  {
    id: 'au-medicare',
    words: 'Australian Medicare number',
    group: 'identity',
    region: 'AU',
    pattern: /(?<![\w.-])[2-6]\d{3} ?\d{5} ?\d(?:[ /-]?\d)?(?![\w-])/g,
    context: ['medicare'],
    check: (digits) => weighted(digits, [1, 3, 7, 9, 1, 3, 7, 9]) % 10 === numberAt(digits, 8, 1),
  },
  {
    id: 'nz-ird',
    words: 'New Zealand IRD number',
    group: 'identity',
    region: 'NZ',
    pattern: /(?<![\w.-])\d{2,3}[ -]?\d{3}[ -]?\d{3}(?![\w-])/g,
    context: ['ird'],
    check: isIrd,
  },
  {
    id: 'cn-resident-id',
    words: 'Chinese resident id',
    group: 'identity',
    region: 'CN',
    pattern: /(?<![\w.-])[1-9]\d{5}(?:18|19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx](?![\w-])/g,
    check: (text) => '10X98765432'.charAt(weighted(text, [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]) % 11) === text.slice(-1),
  },
  {
    id: 'jp-my-number',
    words: 'Japanese My Number',
    group: 'identity',
    region: 'JP',
    pattern: /(?<![\w.-])\d{4}[ -]?\d{4}[ -]?\d{4}(?![\w-]| \d)/g,
    context: ['my number', 'mynumber', 'individual number', 'マイナンバー', '個人番号'],
    check: (digits) => {
      const rest = weighted(digits, [6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
      return (rest <= 1 ? 0 : 11 - rest) === numberAt(digits, 11, 1);
    },
  },
  {
    id: 'kr-rrn',
    words: 'Korean resident registration number',
    group: 'identity',
    region: 'KR',
    pattern: /(?<![\w.-])\d{6}-?[1-8]\d{6}(?![\w-])/g,
    plain: /^\d{6}-\d{7}$/,
    context: ['rrn', 'resident registration', '주민등록'],
    // Numbers given since October 2020 have no checksum: the date is all that can be judged.
    check: (digits) => isDate(numberAt(digits, 4, 2), numberAt(digits, 2, 2)),
  },
  {
    id: 'tw-national-id',
    words: 'Taiwanese national id',
    group: 'identity',
    region: 'TW',
    pattern: /(?<![\w-])[A-Z][1289]\d{8}(?![\w-])/g,
    check: isTaiwanese,
  },
  {
    id: 'hk-id',
    words: 'Hong Kong identity card',
    group: 'identity',
    region: 'HK',
    pattern: /(?<![\w-])[A-Z]{1,2}\d{6} ?\([\dA]\)/g,
    check: isHongKong,
  },
  {
    id: 'sg-nric',
    words: 'Singaporean NRIC or FIN',
    group: 'identity',
    region: 'SG',
    pattern: /(?<![\w-])[STFGM]\d{7}[A-Z](?![\w-])/g,
    check: isNric,
  },
  {
    id: 'my-nric',
    words: 'Malaysian identity number',
    group: 'identity',
    region: 'MY',
    pattern: /(?<![\w.-])\d{6}-?\d{2}-?\d{4}(?![\w-])/g,
    context: ['nric', 'mykad', 'ic number', 'ic no', 'kad pengenalan'],
    check: (digits) => isDate(numberAt(digits, 4, 2), numberAt(digits, 2, 2)),
  },
  {
    id: 'th-national-id',
    words: 'Thai national id',
    group: 'identity',
    region: 'TH',
    pattern: /(?<![\w.-])[1-8][ -]?\d{4}[ -]?\d{5}[ -]?\d{2}[ -]?\d(?![\w-])/g,
    plain: /^\d-\d{4}-\d{5}-\d{2}-\d$/,
    context: ['thai id', 'national id', 'identity card', 'บัตรประชาชน'],
    check: (digits) => (11 - (weighted(digits, [13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11)) % 10 === numberAt(digits, 12, 1),
  },
  {
    id: 'id-nik',
    words: 'Indonesian NIK',
    group: 'identity',
    region: 'ID',
    pattern: /(?<![\w.-])[1-9]\d{15}(?![\w-])/g,
    context: ['nik', 'ktp', 'kependudukan'],
    check: (digits) => isDate(numberAt(digits, 6, 2) % 40, numberAt(digits, 8, 2)),
  },
  {
    id: 'ph-sss',
    words: 'Philippine SSS number',
    group: 'identity',
    region: 'PH',
    pattern: /(?<![\w.-])\d{2}-?\d{7}-?\d(?![\w-])/g,
    context: ['sss', 'philhealth'],
  },
  { id: 'pk-cnic', words: 'Pakistani CNIC', group: 'identity', region: 'PK', pattern: /(?<![\w.-])[1-7]\d{4}-\d{7}-\d(?![\w-])/g },
  {
    id: 'tr-identity-number',
    words: 'Turkish identity number',
    group: 'identity',
    region: 'TR',
    pattern: /(?<![\w.-])[1-9]\d{10}(?![\w-])/g,
    context: ['tckn', 'tc kimlik', 't.c.', 'kimlik', 'turkish id'],
    check: isTurkish,
  },
  {
    id: 'il-identity-number',
    words: 'Israeli identity number',
    group: 'identity',
    region: 'IL',
    pattern: /(?<![\w.-])\d{8}-?\d(?![\w-])/g,
    context: ['teudat zehut', 'israeli id', 'israel id', 'תעודת זהות'],
    check: isLuhn,
  },
  {
    id: 'ae-emirates-id',
    words: 'Emirates id',
    group: 'identity',
    region: 'AE',
    pattern: /(?<![\w.-])784-?\d{4}-?\d{7}-?\d(?![\w-])/g,
    check: isLuhn,
  },
  {
    id: 'sa-national-id',
    words: 'Saudi national id or iqama',
    group: 'identity',
    region: 'SA',
    pattern: /(?<![\w.-])[12]\d{9}(?![\w-])/g,
    context: ['iqama', 'saudi', 'national id', 'هوية'],
    check: isLuhn,
  },
  {
    id: 'za-id-number',
    words: 'South African identity number',
    group: 'identity',
    region: 'ZA',
    pattern: /(?<![\w.-])\d{6} ?\d{4} ?[01]\d{2}(?![\w-])/g,
    context: ['south african id', 'sa id', 'id number', 'identity number', 'rsa id'],
    check: (digits) => isDate(numberAt(digits, 4, 2), numberAt(digits, 2, 2)) && isLuhn(digits),
  },
  {
    id: 'ng-nin',
    words: 'Nigerian NIN or BVN',
    group: 'identity',
    region: 'NG',
    pattern: /(?<![\w.-])\d{11}(?![\w-])/g,
    context: ['nin', 'bvn', 'national identification number'],
  },
  {
    id: 'hr-oib',
    words: 'Croatian OIB',
    group: 'identity',
    region: 'HR',
    pattern: /(?<![\w.-])\d{11}(?![\w-])/g,
    context: ['oib'],
    check: isMod11And10,
  },
  {
    id: 'rs-jmbg',
    words: 'JMBG of the countries of former Yugoslavia',
    group: 'identity',
    region: 'RS',
    pattern: /(?<![\w.-])\d{13}(?![\w-])/g,
    context: ['jmbg', 'emso', 'maticni broj'],
    check: isJmbg,
  },
  {
    id: 'lei',
    words: 'legal entity identifier',
    group: 'finance',
    pattern: /(?<![\w-])[A-Z0-9]{4}00[A-Z0-9]{12}\d{2}(?![\w-])/g,
    context: ['lei', 'legal entity'],
    check: (text) => mod97(text) === 1,
  },
] as const satisfies readonly PiiKind[];

function isIrd(text: string): boolean {
  const digits = text.padStart(9, '0');
  const value = Number(digits);
  if (value < 10_000_000 || value > 150_000_000) return false;
  const by = (weights: readonly number[]): number => (11 - (weighted(digits, weights) % 11)) % 11;
  const first = by([3, 2, 7, 6, 5, 4, 3, 2]);
  const check = first === 10 ? by([7, 4, 3, 2, 5, 2, 7, 6]) : first;
  return check !== 10 && check === numberAt(digits, 8, 1);
}

function isTaiwanese(text: string): boolean {
  // Letters are numbered from 10 on in this order.
  const area = 'ABCDEFGHJKLMNPQRSTUVXYWZIO'.indexOf(text.charAt(0)) + 10;
  const sum = Math.floor(area / 10) + (area % 10) * 9 + weighted(text.slice(1), [8, 7, 6, 5, 4, 3, 2, 1, 1]);
  return area >= 10 && sum % 10 === 0;
}

function isHongKong(text: string): boolean {
  const plain = text.replace(/[()]/g, '');
  const padded = plain.length === 8 ? ` ${plain}` : plain;
  const value = (character: string): number => (character === ' ' ? 36 : Number.parseInt(character, 36));
  const sum = Array.from(padded.slice(0, 8)).reduce((total, character, index) => total + value(character) * (9 - index), 0);
  return (sum + Number.parseInt(padded.slice(8), 16)) % 11 === 0;
}

function isNric(text: string): boolean {
  const prefix = text.charAt(0);
  const sum = weighted(text.slice(1), [2, 7, 6, 5, 4, 3, 2]) + (prefix === 'T' || prefix === 'G' ? 4 : prefix === 'M' ? 3 : 0);
  if (prefix === 'M') return 'KLJNPQRTUWX'.charAt(10 - (sum % 11)) === text.slice(-1);
  return (prefix === 'S' || prefix === 'T' ? 'JZIHGFEDCBA' : 'XWUTRQPNMLK').charAt(sum % 11) === text.slice(-1);
}

function isTurkish(text: string): boolean {
  const odd = weighted(text, [1, 0, 1, 0, 1, 0, 1, 0, 1]);
  const even = weighted(text, [0, 1, 0, 1, 0, 1, 0, 1]);
  const tenth = (((odd * 7 - even) % 10) + 10) % 10;
  return tenth === numberAt(text, 9, 1) && weighted(text, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]) % 10 === numberAt(text, 10, 1);
}

function isJmbg(text: string): boolean {
  const rest = 11 - (weighted(text, [7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11);
  return (rest > 9 ? 0 : rest) === numberAt(text, 12, 1) && isDate(numberAt(text, 0, 2), numberAt(text, 2, 2));
}
