import type { GuardFailure } from '../state/events.js';
import type { Settled } from './handle.js';

// What stands in the place of an answer that was not given.
export const threw = Symbol('threw');
export const unasked = Symbol('unasked');
const late = Symbol('late');

/** What a guardrail that was waited for has given. */
export function givenBy(settled: Settled<unknown>): unknown {
  if (settled.kind === 'value') return settled.value;
  return settled.kind === 'threw' ? threw : late;
}

/** How a guardrail has failed whose answer cannot be read. */
export function failureOf(given: unknown): GuardFailure {
  switch (given) {
    case threw:
      return 'threw';
    case late:
      return 'late';
    case unasked:
      return 'unasked';
    default:
      return 'misfit';
  }
}
