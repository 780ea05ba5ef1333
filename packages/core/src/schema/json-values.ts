import type { JsonValue } from '../model/types.js';
import { isList, isObject } from './json-schema-node.js';

/** Whether a value has a JSON Schema type. `2.0` is an integer. */
export function isType(type: JsonValue, value: JsonValue): boolean {
  switch (type) {
    case 'object':
      return isObject(value);
    case 'array':
      return isList(value);
    case 'null':
      return value === null;
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

/** Equal as JSON: the order of keys does not count. */
export function equalJson(left: JsonValue, right: JsonValue): boolean {
  if (left === right) return true;
  if (isList(left))
    return isList(right) && left.length === right.length && left.every((element, index) => equalJson(element, right[index] ?? null));
  if (!isObject(left) || !isObject(right)) return false;
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && equalJson(left[key] ?? null, right[key] ?? null))
  );
}

/** Also of fractions: 0.3 is a multiple of 0.1. */
export function isMultipleOf(value: number, divisor: number): boolean {
  if (divisor <= 0) return true;
  const quotient = value / divisor;
  return Math.abs(quotient - Math.round(quotient)) <= Number.EPSILON * Math.max(1, Math.abs(quotient)) * 2;
}

const day = String.raw`\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])`;
const clock = String.raw`(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)`;
const formats: ReadonlyMap<string, RegExp> = new Map([
  ['date', new RegExp(`^${day}$`)],
  ['time', new RegExp(`^${clock}$`)],
  ['date-time', new RegExp(`^${day}[Tt]${clock}$`)],
  ['email', /^[^\s@]+@[^\s@]+$/],
  ['uuid', /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i],
  ['uri', /^[a-z][a-z\d+.-]*:\S*$/i],
  ['ipv4', /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/],
]);

/** Formats that are not known say nothing. */
export function fitsFormat(format: string, value: string): boolean {
  return formats.get(format)?.test(value) ?? true;
}
