import { GuardloopError, suggest } from '../errors.js';
import type { Usage } from '../model/types.js';
import type { LimitName, Limits, RecordedLimits } from './events.js';

/** What holds where nothing is said. */
export const defaultLimits: Limits = {
  turns: 8,
  toolCalls: Number.POSITIVE_INFINITY,
  tokens: Number.POSITIVE_INFINITY,
  cost: Number.POSITIVE_INFINITY,
  ms: Number.POSITIVE_INFINITY,
  handoffs: 8,
  repairs: 1,
  repeats: 3,
};

/** What holds in a mode where nothing is said. */
export function limitsOf(mode: { readonly turns: number | undefined } | undefined): Limits {
  return mode?.turns === undefined ? defaultLimits : { ...defaultLimits, turns: mode.turns };
}

export const limitNames = Object.keys(defaultLimits) as LimitName[];
const zeroAllowed: ReadonlySet<LimitName> = new Set(['repairs', 'handoffs', 'toolCalls']);

/** Checks limits given by a user over `base`. Zero is never unlimited; `Infinity` is. Throws CONFIG_INVALID. */
export function resolveLimits(given: { readonly [K in LimitName]?: number | undefined } | undefined, base: Limits = defaultLimits): Limits {
  if (given === undefined) return base;
  if (typeof given !== 'object' || given === null)
    throw new GuardloopError('CONFIG_INVALID', 'The option `limits` is not an object. Give limits as { turns: 8 }.');
  const limits = { ...base } as { -readonly [K in LimitName]: number };
  for (const [name, value] of Object.entries(given)) {
    if (!limitNames.includes(name as LimitName))
      throw new GuardloopError(
        'CONFIG_INVALID',
        `There is no limit named ${name}. ${suggest(name, limitNames)}Use one of ${limitNames.join(', ')}.`,
      );
    if (value === undefined) continue;
    const least = zeroAllowed.has(name as LimitName) ? 0 : 1;
    const isAmount = name === 'cost' || name === 'ms' || name === 'tokens';
    const isFit =
      typeof value === 'number' &&
      (isAmount ? value > 0 : value >= least && (value === Number.POSITIVE_INFINITY || Number.isInteger(value)));
    if (!isFit) {
      throw new GuardloopError(
        'CONFIG_INVALID',
        `The limit ${name} is ${typeof value === 'number' ? value : `a ${typeof value}`}. Give ${isAmount ? 'a number above 0' : `a whole number from ${least}`}, or Infinity for no limit.`,
      );
    }
    limits[name as LimitName] = value;
  }
  return limits;
}

/** `Infinity` is no JSON: it is recorded as `null`. */
export function recordLimits(limits: Limits): RecordedLimits {
  const recorded: { -readonly [K in LimitName]: number | null } = { ...limits };
  for (const name of limitNames) if (recorded[name] === Number.POSITIVE_INFINITY) recorded[name] = null;
  return Object.freeze(recorded);
}

export function readLimits(recorded: RecordedLimits): Limits {
  const limits: { -readonly [K in LimitName]: number } = { ...defaultLimits };
  for (const name of limitNames) {
    const value = recorded[name];
    // A log that is older than a limit does not tell it.
    if (value !== undefined) limits[name] = value ?? Number.POSITIVE_INFINITY;
  }
  return limits;
}

export const noUsage: Usage = { requests: 0, inputTokens: 0, outputTokens: 0 };
