import { GuardloopError, suggest } from '../errors.js';
import type { Model } from './types.js';

/** What an option must be, as a test and in words. */
export type OptionRule = readonly [test: (value: unknown) => boolean, expected: string];

const isNumber = (value: unknown): value is number => typeof value === 'number' && !Number.isNaN(value);

export const countFrom1: OptionRule = [
  (value) => isNumber(value) && value >= 1 && (Number.isInteger(value) || value === Number.POSITIVE_INFINITY),
  'Give a whole number from 1, or Infinity.',
];
export const numberFrom0: OptionRule = [(value) => isNumber(value) && value >= 0, 'Give a number from 0, or Infinity.'];
export const durationMs: OptionRule = [(value) => isNumber(value) && value > 0, 'Give milliseconds above 0, or Infinity for no bound.'];
export const someFunction: OptionRule = [(value) => typeof value === 'function', 'Give a function.'];
export const someClock: OptionRule = [
  (value) => hasMethods(value, ['now', 'after']),
  'Give an object with the functions `now` and `after`.',
];

/** A model as it was given to `owner`. Throws CONFIG_INVALID. */
export function readModel(owner: string, given: unknown): Model {
  const { id, provider } = (typeof given === 'object' && given !== null ? given : {}) as Partial<Model>;
  if (typeof id !== 'string' || typeof provider !== 'string' || !hasMethods(given, ['stream']))
    throw new GuardloopError(
      'CONFIG_INVALID',
      `${owner} was given ${describe(given)} as its model. Give a model made by an adapter, such as openai('gpt-5'): an object with \`id\`, \`provider\` and \`stream\`.`,
    );
  return given as Model;
}

/** The options of `owner`, those left out taken from `defaults`. Throws CONFIG_INVALID for one that is wrong or does not exist. */
export function readOptions<T extends object>(
  owner: string,
  given: unknown,
  { rules, defaults }: { readonly rules: { readonly [K in keyof T]-?: OptionRule }; readonly defaults: T },
): T {
  if (given === undefined) return defaults;
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new GuardloopError(
      'CONFIG_INVALID',
      `${owner} was given ${describe(given)} as its options. Give an object with ${Object.keys(rules).join(', ')}.`,
    );
  const options: Record<string, unknown> = Object.fromEntries(Object.entries(defaults));
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(rules, name))
      throw new GuardloopError(
        'CONFIG_INVALID',
        `${owner} has no option ${JSON.stringify(name)}. ${suggest(name, Object.keys(rules))}Its options are ${Object.keys(rules).join(', ')}.`,
      );
    if (value === undefined) continue;
    const [test, expected] = rules[name as keyof T];
    if (!test(value))
      throw new GuardloopError('CONFIG_INVALID', `${owner} was given ${describe(value)} as its option \`${name}\`. ${expected}`);
    options[name] = value;
  }
  return options as T;
}

function hasMethods(value: unknown, names: readonly string[]): boolean {
  return (
    typeof value === 'object' && value !== null && names.every((name) => typeof (value as Record<string, unknown>)[name] === 'function')
  );
}

function describe(value: unknown): string {
  if (value === null || value === undefined || typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 60));
  return Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
