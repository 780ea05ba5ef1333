// Checksums of cards, accounts and national numbers. All take the digits or characters alone, without separators.

const digitsOf = (text: string): readonly number[] => Array.from(text, (character) => character.charCodeAt(0) - 48);

/** Sum of products of digits and weights; digits beyond the weights do not count. */
export function weighted(text: string, weights: readonly number[]): number {
  return digitsOf(text)
    .slice(0, weights.length)
    .reduce((sum, digit, index) => sum + digit * (weights[index] ?? 0), 0);
}

const lastDigit = (text: string): number => text.charCodeAt(text.length - 1) - 48;

/** ISO/IEC 7812-1: cards, and many national numbers. */
export function isLuhn(text: string): boolean {
  let sum = 0;
  for (let index = 0; index < text.length; index += 1) {
    const digit = text.charCodeAt(text.length - 1 - index) - 48;
    const doubled = index % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** ISO 7064 MOD 97-10 over digits and letters (A is 10): the remainder. */
export function mod97(text: string): number {
  let rest = 0;
  for (const character of text) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest;
}

/** ISO 7064 MOD 11,10: German tax id, Croatian OIB. */
export function isMod11And10(text: string): boolean {
  let product = 10;
  for (const digit of digitsOf(text.slice(0, -1))) {
    const sum = (digit + product) % 10 || 10;
    product = (sum * 2) % 11;
  }
  return (11 - product) % 10 === lastDigit(text);
}

/** Verhoeff's dihedral check: Aadhaar. */
export function isVerhoeff(text: string): boolean {
  let check = 0;
  const digits = digitsOf(text).toReversed();
  for (const [index, digit] of digits.entries()) check = dihedral(check, permuted(digit, index % 8));
  return check === 0;
}

function dihedral(left: number, right: number): number {
  if (left < 5) return right < 5 ? (left + right) % 5 : 5 + ((left + right - 5) % 5);
  return right < 5 ? 5 + ((left - 5 - right + 5) % 5) : (left - right + 5) % 5;
}

const permutation = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];
function permuted(digit: number, times: number): number {
  let value = digit;
  for (let count = 0; count < times; count += 1) value = permutation[value] ?? 0;
  return value;
}

/** Weighted sum modulo 11, the check digit being what is missing to 11; ten has no digit. */
export function isMod11(text: string, weights: readonly number[]): boolean {
  const check = (11 - (weighted(text, weights) % 11)) % 11;
  return check !== 10 && check === lastDigit(text);
}

/** Day and month of a date exist. Two-digit years are not judged. */
export function isDate(day: number, month: number): boolean {
  return month >= 1 && month <= 12 && day >= 1 && day <= (month === 2 ? 29 : [4, 6, 9, 11].includes(month) ? 30 : 31);
}

/** The number in so many characters from an offset. */
export function numberAt(text: string, from: number, length: number): number {
  return Number(text.slice(from, from + length));
}
