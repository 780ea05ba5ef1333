import { GuardloopError, safeCause } from '../errors.js';
import type { Model } from './types.js';

/** What a model threw, as an error of ours: its own where it is one. */
export function modelFailure(model: Pick<Model, 'id'>, thrown: unknown): GuardloopError {
  if (GuardloopError.is(thrown)) return thrown;
  return new GuardloopError(
    'MODEL_FAILED',
    `Model ${model.id} threw ${safeCause(thrown).name}. Look at the cause; resume the run to ask it again.`,
    { cause: thrown, isRetryable: true },
  );
}

/** A stream that was over without its end event. */
export function missingEnd(model: Pick<Model, 'id'>): GuardloopError {
  return new GuardloopError(
    'MODEL_PROTOCOL',
    `The stream of model ${model.id} ended without its end event: the answer may be cut. Nothing of it was recorded; resume the run to ask again.`,
    { isRetryable: true },
  );
}

/** The caller's signal was aborted. */
export function abortedCall(model: Pick<Model, 'id'>, signal: AbortSignal): GuardloopError {
  return new GuardloopError('MODEL_FAILED', `The call of model ${model.id} was aborted by its signal.`, {
    cause: signal.reason,
    details: { aborted: true },
  });
}

/** A copy of an error that knows more, or is not to be repeated any more. */
export function withFailureDetails(
  failure: GuardloopError,
  details: Readonly<Record<string, unknown>>,
  isRetryable = failure.isRetryable,
): GuardloopError {
  const { code, message, cause } = failure;
  return new GuardloopError(code, message, { cause, isRetryable, details: { ...failure.details, ...details } });
}
