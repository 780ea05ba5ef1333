import type { GuardloopError } from '../errors.js';
import type { FollowingAttempt, NoAttempt } from './attempted-call.js';
import { AttemptedCall } from './attempted-call.js';
import type { Clock } from './clock.js';
import { systemClock } from './clock.js';
import { modelLike } from './model-like.js';
import type { Model } from './types.js';
import type { OptionRule } from './wrapper-options.js';
import { countFrom1, durationMs, numberFrom0, readModel, readOptions, someClock, someFunction } from './wrapper-options.js';

/** Options of {@link withRetry}. */
export interface RetryOptions {
  /** Attempts at one call, the first included. Default 3. */
  readonly attempts?: number | undefined;
  /** The longest wait before the second attempt; it doubles with each one. Default 500. */
  readonly baseMs?: number | undefined;
  /** No backoff is longer. Default 10,000. */
  readonly maxWaitMs?: number | undefined;
  /** A provider that asks for a longer wait than this (`details.retryAfterMs` of the error) makes the call fail at once. Default 60,000. */
  readonly maxRetryAfterMs?: number | undefined;
  /** `full`: each wait is random, from nothing to the backoff, so that callers do not come back together. Default `full`. */
  readonly jitter?: 'full' | 'none' | undefined;
  /**
   * How many retries all calls of this model together have in hand, so that an outage is not multiplied by `attempts`. A call that is
   * answered gives back what its retries took, and a tenth of one more. Default 100.
   */
  readonly budget?: number | undefined;
  /** Time, for tests. */
  readonly clock?: Clock | undefined;
  /** From 0 to 1, for tests. */
  readonly random?: (() => number) | undefined;
}

type Settings = { readonly [K in keyof RetryOptions]-?: Exclude<RetryOptions[K], undefined> };

const jitterRule: OptionRule = [(value) => value === 'full' || value === 'none', "Give 'full' or 'none'."];
const defaults: Settings = {
  attempts: 3,
  baseMs: 500,
  maxWaitMs: 10_000,
  maxRetryAfterMs: 60_000,
  jitter: 'full',
  budget: 100,
  clock: systemClock,
  random: Math.random,
};
const rules = {
  attempts: countFrom1,
  baseMs: numberFrom0,
  maxWaitMs: numberFrom0,
  maxRetryAfterMs: durationMs,
  jitter: jitterRule,
  budget: numberFrom0,
  clock: someClock,
  random: someFunction,
} as const;

/**
 * The model, asked again where it fails in a way that may pass (`isRetryable`) before anything of an answer was passed on. Honours the wait
 * that the provider asks for, else backs off. It is the one layer that retries: the model is told so (`isRetried`), and where this one is
 * told so itself, it makes one attempt. Throws CONFIG_INVALID.
 */
export function withRetry(model: Model, options?: RetryOptions): Model {
  const inner = readModel('withRetry', model);
  const settings = readOptions<Settings>('withRetry', options, { rules, defaults });
  const budget: Budget = { tenths: 10 * settings.budget };
  return modelLike(inner, (request, streamOptions) => {
    if (streamOptions.isRetried) return inner.stream(request, streamOptions);
    const retries = new Retries(inner, settings, budget);
    return new AttemptedCall(inner, request, {
      clock: settings.clock,
      options: { ...streamOptions, isRetried: true },
      follow: (failure, attempt) => retries.follow(failure, attempt),
      settle: (isAnswered) => retries.giveBack(isAnswered),
    });
  });
}

/** Tenths of retries that all calls of a model have in hand together. */
interface Budget {
  tenths: number;
}

/** The retries of one call. */
class Retries {
  #taken = 0;

  constructor(
    private readonly model: Model,
    private readonly settings: Settings,
    private readonly budget: Budget,
  ) {}

  follow(failure: GuardloopError, attempt: number): FollowingAttempt | NoAttempt {
    const { settings, budget } = this;
    if (!failure.isRetryable || attempt >= settings.attempts) return {};
    const { retryAfterMs } = failure.details;
    const asked = typeof retryAfterMs === 'number' && retryAfterMs >= 0 ? retryAfterMs : undefined;
    if (asked !== undefined && asked > settings.maxRetryAfterMs) return {};
    if (budget.tenths < 10) return { details: { retryBudget: 'spent' } };
    budget.tenths -= 10;
    this.#taken += 1;
    const waitMs = asked === undefined ? this.backoff(attempt) : asked === 0 ? this.bound(1) : asked;
    return { model: this.model, notice: { type: 'retry', attempt, waitMs }, waitMs };
  }

  giveBack(isAnswered: boolean): void {
    const { settings, budget } = this;
    budget.tenths = Math.min(10 * settings.budget, budget.tenths + 10 * this.#taken + (isAnswered ? 1 : 0));
  }

  private bound(attempt: number): number {
    const { baseMs, maxWaitMs } = this.settings;
    return Math.min(maxWaitMs, baseMs * 2 ** Math.min(attempt - 1, 50));
  }

  private backoff(attempt: number): number {
    const bound = this.bound(attempt);
    return this.settings.jitter === 'none' ? bound : Math.min(bound, Math.max(0, this.settings.random() * bound || 0));
  }
}
