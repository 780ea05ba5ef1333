import type { GuardrailSpec } from '../define/specs.js';
import { refusalMeant, strictest } from '../define/verdict.js';
import type { GuardFailure } from '../state/events.js';
import type { Settled } from './handle.js';

// What stands in the place of an answer that was not given.
const threw = Symbol('threw');
export const unasked = Symbol('unasked');
const late = Symbol('late');

/** What a guardrail that was waited for has given. */
export function givenBy(settled: Settled<unknown>, spec: GuardrailSpec): unknown {
  if (settled.kind === 'value') return settled.value;
  return settled.kind === 'threw' ? thrownBy(settled.error, spec) : late;
}

/** What a guardrail gives that throws: nothing; but a refusal written wrong stays one where `onError` would make less of it. */
export function thrownBy(thrown: unknown, { onError }: GuardrailSpec): unknown {
  const meant = refusalMeant(thrown);
  return meant !== undefined && strictest([{ action: onError }, meant]) === meant ? meant : threw;
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
