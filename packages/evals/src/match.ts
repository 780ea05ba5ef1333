import type { JsonObject, JsonValue } from '@guardloop/core/model';
import type { ExpectedAnswer, ExpectedCall } from './task.js';

/** Whether a value has at least what is wanted: objects may have more fields, lists may not have more items. */
export function fits(wanted: JsonValue | undefined, given: JsonValue | undefined): boolean {
  if (Array.isArray(wanted))
    return Array.isArray(given) && given.length === wanted.length && wanted.every((each, index) => fits(each, given[index]));
  if (!isObject(wanted)) return wanted === given;
  return (
    isObject(given) &&
    Object.entries(wanted).every(([name, value]) => value === undefined || (Object.hasOwn(given, name) && fits(value, given[name])))
  );
}

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isEqual = (left: JsonValue | undefined, right: JsonValue | undefined): boolean => fits(left, right) && fits(right, left);

export interface MadeCall {
  readonly name: string;
  readonly input: JsonObject;
}

/** How many of the expected calls were made, where each made call stands for at most one: the most there can be. */
export function countMatches(expected: readonly ExpectedCall[], made: readonly MadeCall[]): number {
  const takenBy = new Map<number, number>();
  const place = (index: number, tried: Set<number>): boolean => {
    const wanted = expected[index];
    if (wanted === undefined) return false;
    for (const [at, call] of made.entries()) {
      if (tried.has(at) || call.name !== wanted.tool || !fits(wanted.input ?? {}, call.input)) continue;
      tried.add(at);
      const before = takenBy.get(at);
      if (before === undefined || place(before, tried)) {
        takenBy.set(at, index);
        return true;
      }
    }
    return false;
  };
  return expected.filter((_, index) => place(index, new Set())).length;
}

/** Whether an answer is as expected. */
export function isAnswer(
  { equals, contains = [], lacks = [], matches }: ExpectedAnswer,
  text: string,
  value: JsonValue | undefined,
): boolean {
  const lower = text.toLowerCase();
  return (
    (equals === undefined || isEqual(equals, value ?? text)) &&
    contains.every((each) => lower.includes(each.toLowerCase())) &&
    !lacks.some((each) => lower.includes(each.toLowerCase())) &&
    (matches === undefined || new RegExp(matches, 'iu').test(text))
  );
}
