import { assertLog, GuardloopError } from '@guardloop/core';
import { suggest } from '@guardloop/core/model';
import { scoreNames } from './scores.js';

export function invalid(message: string): never {
  throw new GuardloopError('CONFIG_INVALID', message);
}
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What kind of thing was given, without what it holds. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : typeof value;
}

/** A field of its own: names of tasks and results are anything, `constructor` too. */
export const own = <T>(fields: { readonly [name: string]: T } | undefined, name: string): T | undefined =>
  fields !== undefined && Object.hasOwn(fields, name) ? fields[name] : undefined;

/** Throws CONFIG_INVALID for a name that is no score's. */
export function checkScoreNames(where: string, names: readonly string[]): void {
  for (const name of names)
    if (!(scoreNames as readonly string[]).includes(name))
      invalid(
        `${where} names ${typeof name === 'string' ? `the score ${name}` : `${kindOf(name)} for a score`}, which there is not. ${typeof name === 'string' ? suggest(name, scoreNames) : ''}The scores are ${scoreNames.join(', ')}.`,
      );
}

/** Throws LOG_INVALID, with the side whose log it is. */
export function checkSide(side: 'a' | 'b', log: unknown): void {
  try {
    assertLog(log, { words: 'any' });
  } catch (thrown) {
    if (!GuardloopError.is(thrown)) throw thrown;
    throw new GuardloopError('LOG_INVALID', `Of the log \`${side}\`: ${thrown.message}`, { details: thrown.details });
  }
}
