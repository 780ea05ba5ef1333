import type { JsonValue } from './types.js';

/** Up to here every whole number can be read as it is written. */
const safeDigits = 15;
const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const dash = 0x2d;

/**
 * What of a JSON text is lost in its value, in words that quote nothing of it; undefined where nothing is. A value of a key that stands
 * twice would be seen by nobody, and a whole number that is read as another one would be acted on. `value` is what the text was read as.
 */
export function jsonLoss(text: string, value: JsonValue): string | undefined {
  let members = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === quote) index = endOfString(text, index);
    else if (unit === colon) members += 1;
    else if (unit === dash || isDigit(unit)) {
      const end = endOfNumber(text, index);
      if (end - index > safeDigits && isAnother(text.slice(index, end)))
        return 'a whole number has more digits than can be read: where the schema takes text, send it as text';
      index = end - 1;
    }
  }
  return members > 0 && members !== membersOf(value) ? 'a key stands twice in one object' : undefined;
}

function endOfString(text: string, start: number): number {
  let index = start + 1;
  while (index < text.length && text.charCodeAt(index) !== quote) index += text.charCodeAt(index) === backslash ? 2 : 1;
  return index;
}

function endOfNumber(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && '0123456789.eE+-'.includes(text.charAt(end))) end += 1;
  return end;
}

function isAnother(number: string): boolean {
  return /^-?\d+$/.test(number) && inDigits(Number(number)) !== number;
}

/** A whole number as JSON writes it, with all its noughts: from 10^21 on that would be an exponent. */
function inDigits(number: number): string {
  const [digits = '', exponent] = String(number).split('e+');
  if (exponent === undefined) return digits;
  const [whole = '', fraction = ''] = digits.split('.');
  return whole + fraction.padEnd(Number(exponent), '0');
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

/** Fields of all objects in it. Without recursion: it may be nested deeper than the stack is. */
function membersOf(value: JsonValue): number {
  let count = 0;
  const open: JsonValue[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    const fields = Object.values(next) as readonly JsonValue[];
    if (!Array.isArray(next)) count += fields.length;
    for (const field of fields) if (typeof field === 'object' && field !== null) open.push(field);
  }
  return count;
}
