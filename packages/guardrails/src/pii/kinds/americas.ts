import { isDate, isLuhn, numberAt, weighted } from '../checksums.js';
import type { PiiKind } from '../kind.js';

/** National numbers of the Americas. */
export const americanKinds = [
  {
    id: 'us-ssn',
    words: 'US social security number',
    group: 'identity',
    region: 'US',
    pattern: /(?<![\w.-])\d{3}[- ]?\d{2}[- ]?\d{4}(?![\w-]|\.\d)/g,
    plain: /^\d{3}-\d{2}-\d{4}$/,
    context: ['ssn', 'social security', 'social-security', 'socialsecurity', 'tax id', 'taxpayer id', 'seguro social'],
    // ssa.gov/employer/randomization.html: no area 000, 666, 900 to 999, no group 00, no serial 0000.
    check: (digits) => !/^(000|666|9)|^\d{3}00|0000$|^(\d)\2{8}$/.test(digits) && digits !== '078051120' && digits !== '219099999',
  },
  {
    id: 'us-itin',
    words: 'US individual taxpayer number',
    group: 'identity',
    region: 'US',
    pattern: /(?<![\w.-])9\d{2}[- ]?[5-9]\d[- ]?\d{4}(?![\w-])/g,
    plain: /^\d{3}-\d{2}-\d{4}$/,
    context: ['itin', 'taxpayer', 'tax id'],
    check: (digits) => /^9\d{2}(5\d|6[0-5]|7\d|8[0-8]|9[0-2]|9[4-9])/.test(digits),
  },
  {
    id: 'us-bank-routing-number',
    words: 'US bank routing number',
    group: 'finance',
    region: 'US',
    pattern: /(?<![\w.-])\d{9}(?![\w-])/g,
    context: ['routing', 'aba number', 'aba no', 'rtn'],
    check: (digits) =>
      weighted(digits, [3, 7, 1, 3, 7, 1, 3, 7, 1]) % 10 === 0 && /^(0\d|1[0-2]|2[1-9]|3[0-2]|6[1-9]|7[0-2]|80)/.test(digits),
  },
  {
    id: 'us-bank-account-number',
    words: 'bank account number',
    group: 'finance',
    region: 'US',
    pattern: /(?<![\w.-])\d{8,17}(?![\w-])/g,
    context: ['bank account', 'account number', 'account no', 'acct', 'checking account', 'savings account'],
  },
  {
    id: 'us-medicare-id',
    words: 'US Medicare beneficiary id',
    group: 'identity',
    region: 'US',
    pattern:
      /(?<![\w-])[1-9][AC-HJKMNP-RT-Y][0-9AC-HJKMNP-RT-Y]\d-?[AC-HJKMNP-RT-Y][0-9AC-HJKMNP-RT-Y]\d-?[AC-HJKMNP-RT-Y]{2}\d{2}(?![\w-])/g,
  },
  {
    id: 'us-driver-license',
    words: 'US driving licence',
    group: 'identity',
    region: 'US',
    pattern: /(?<![\w-])(?:[A-Z]\d{7,14}|[A-Z]{2}\d{6,7}|\d{7,9})(?![\w-])/g,
    context: [
      "driver's license",
      'driver license',
      'drivers license',
      'driving license',
      "driver's licence",
      'driving licence',
      'dl number',
      'dl#',
      'license number',
    ],
  },
  {
    id: 'ca-sin',
    words: 'Canadian social insurance number',
    group: 'identity',
    region: 'CA',
    pattern: /(?<![\w.-])\d{3}[- ]?\d{3}[- ]?\d{3}(?![\w-]|\.\d)/g,
    context: ['social insurance', 'sin number', 'sin:', 'sin is', 'my sin', 'assurance sociale', 'nas'],
    check: isLuhn,
  },
  {
    id: 'br-cpf',
    words: 'Brazilian CPF',
    group: 'identity',
    region: 'BR',
    pattern: /(?<![\w.-])\d{3}[. ]?\d{3}[. ]?\d{3}[- ]?\d{2}(?![\w-])/g,
    plain: /^\d{3}\.\d{3}\.\d{3}-\d{2}$/,
    context: ['cpf', 'cadastro de pessoa'],
    check: (digits) =>
      !/^(\d)\1{10}$/.test(digits) &&
      brazilian(digits, [10, 9, 8, 7, 6, 5, 4, 3, 2], 9) &&
      brazilian(digits, [11, 10, 9, 8, 7, 6, 5, 4, 3, 2], 10),
  },
  {
    id: 'br-cnpj',
    words: 'Brazilian CNPJ',
    group: 'identity',
    region: 'BR',
    pattern: /(?<![\w.-])\d{2}\.?\d{3}\.?\d{3}\/?\d{4}-?\d{2}(?![\w-])/g,
    plain: /^\d{2}\.\d{3}\.\d{3}\/\d{4}-\d{2}$/,
    context: ['cnpj'],
    check: (digits) =>
      !/^(\d)\1{13}$/.test(digits) &&
      brazilian(digits, [5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2], 12) &&
      brazilian(digits, [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2], 13),
  },
  {
    id: 'mx-curp',
    words: 'Mexican CURP',
    group: 'identity',
    region: 'MX',
    pattern: /(?<![\w-])[A-Z][AEIOUX][A-Z]{2}\d{6}[HMX][A-Z]{2}[B-DF-HJ-NP-TV-Z]{3}[A-Z0-9]\d(?![\w-])/gi,
    check: (text) => isDate(numberAt(text, 8, 2), numberAt(text, 6, 2)),
  },
  {
    id: 'cl-rut',
    words: 'Chilean RUT',
    group: 'identity',
    region: 'CL',
    pattern: /(?<![\w.-])\d{1,2}\.?\d{3}\.?\d{3}-[\dkK](?![\w-])/g,
    plain: /^\d{1,2}\.\d{3}\.\d{3}-/,
    context: ['rut', 'rol unico'],
    check: isRut,
  },
  {
    id: 'ar-cuit',
    words: 'Argentine CUIT or CUIL',
    group: 'identity',
    region: 'AR',
    pattern: /(?<![\w.-])(?:2[03478]|3[034])-?\d{8}-?\d(?![\w-])/g,
    context: ['cuit', 'cuil'],
    check: (digits) => {
      const check = 11 - (weighted(digits, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11);
      return (check === 11 ? 0 : check) === numberAt(digits, 10, 1);
    },
  },
  {
    id: 'ec-cedula',
    words: 'Ecuadorian identity number',
    group: 'identity',
    region: 'EC',
    pattern: /(?<![\w.-])[0-3]\d{9}(?![\w-])/g,
    context: ['cedula', 'identidad'],
    check: isLuhn,
  },
  {
    id: 'uy-ci',
    words: 'Uruguayan identity number',
    group: 'identity',
    region: 'UY',
    pattern: /(?<![\w.-])\d\.?\d{3}\.?\d{3}-?\d(?![\w-])/g,
    context: ['cedula', 'documento de identidad'],
    check: (digits) => (10 - (weighted(digits, [2, 9, 8, 7, 6, 3, 4]) % 10)) % 10 === numberAt(digits, 7, 1),
  },
  {
    id: 'pe-ruc',
    words: 'Peruvian RUC',
    group: 'identity',
    region: 'PE',
    pattern: /(?<![\w.-])(?:10|15|17|20)\d{9}(?![\w-])/g,
    context: ['ruc'],
    check: (digits) => (11 - (weighted(digits, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11)) % 10 === numberAt(digits, 10, 1),
  },
  {
    id: 'co-nit',
    words: 'Colombian NIT',
    group: 'identity',
    region: 'CO',
    pattern: /(?<![\w.-])\d{3}\.?\d{3}\.?\d{3}-\d(?![\w-])/g,
    context: ['nit'],
    check: (digits) => {
      const rest = weighted(digits, [41, 37, 29, 23, 19, 17, 13, 7, 3]) % 11;
      return (rest < 2 ? rest : 11 - rest) === numberAt(digits, 9, 1);
    },
  },
  {
    id: 've-rif',
    words: 'Venezuelan RIF',
    group: 'identity',
    region: 'VE',
    pattern: /(?<![\w.-])[VEJPG]-?\d{8}-?\d(?![\w-])/g,
    context: ['rif', 'cedula'],
  },
  {
    id: 'do-cedula',
    words: 'Dominican identity number',
    group: 'identity',
    region: 'DO',
    pattern: /(?<![\w.-])\d{3}-?\d{7}-?\d(?![\w-])/g,
    context: ['cedula'],
    check: isLuhn,
  },
] as const satisfies readonly PiiKind[];

function brazilian(digits: string, weights: readonly number[], at: number): boolean {
  const rest = weighted(digits, weights) % 11;
  return (rest < 2 ? 0 : 11 - rest) === numberAt(digits, at, 1);
}

function isRut(text: string): boolean {
  const body = text.slice(0, -1).padStart(8, '0');
  const check = 11 - (weighted(body, [3, 2, 7, 6, 5, 4, 3, 2]) % 11);
  return (check === 11 ? '0' : check === 10 ? 'K' : String(check)) === text.slice(-1);
}
