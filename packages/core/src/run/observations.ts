// Core's own words to the model about calls that failed or did not run.
import type { Label } from '../model/types.js';
import type { CallEnd, CallStatus, ErrorClass, LimitName, Refusal } from '../state/events.js';

export const coreLabel: Label = Object.freeze({ origin: 'developer', integrity: 'trusted' });

export interface ErrorWords {
  readonly status: Exclude<CallStatus, 'ok'>;
  readonly errorClass: ErrorClass;
  /** One sentence: which argument or step, why. Holds no outside value unless that was guarded. */
  readonly summary: string;
  readonly retryable?: boolean | undefined;
  readonly label?: Label | undefined;
  readonly refusal?: Refusal | undefined;
}

/** An error observation: the JSON of `status`, `error_class`, `summary`, `retryable`. */
export function errorEnd({ status, errorClass, summary, retryable = false, label = coreLabel, refusal }: ErrorWords): CallEnd {
  return Object.freeze({
    status,
    content: JSON.stringify({ status, error_class: errorClass, summary, retryable }),
    errorClass,
    retryable,
    label,
    ...(refusal === undefined ? {} : { refusal }),
  });
}

export const deniedEnd = (refusal: Refusal): CallEnd =>
  errorEnd({ status: 'denied', errorClass: 'denied', summary: refusal.reason, refusal });
export const abortedEnd = (why = 'The run was stopped before this call was started.'): CallEnd =>
  errorEnd({ status: 'aborted', errorClass: 'aborted', summary: why });
export const laterHandoffEnd = (): CallEnd => abortedEnd('Only the first handoff of an answer is tried, and this was a later one.');
export const limitEnd = (limit: LimitName): CallEnd => abortedEnd(`This call was not started: the limit ${limit} of the run is reached.`);
export const withheldEnd = (tool: string, refusal: Refusal): CallEnd =>
  errorEnd({ status: 'error', errorClass: 'denied', summary: `${tool} ran; its result was withheld: ${refusal.reason}`, refusal });
export const unknownEnd = (tool: string, why: string): CallEnd =>
  errorEnd({
    status: 'unknown',
    errorClass: 'timeout',
    summary: `${tool} was started, but ${why}; it may have happened. Do not call it again before you have looked.`,
  });
