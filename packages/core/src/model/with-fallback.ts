import { GuardloopError, safeCause } from '../errors.js';
import type { FollowingAttempt, NoAttempt } from './attempted-call.js';
import { AttemptedCall } from './attempted-call.js';
import { systemClock } from './clock.js';
import { modelLike } from './model-like.js';
import type { Model } from './types.js';
import { readModel, readOptions, someFunction } from './wrapper-options.js';

/** What {@link FallbackOptions.when} is told beside the error. */
export interface FallbackInfo {
  /** Who failed. */
  readonly model: Model;
  /** Who would be asked instead. */
  readonly next: Model;
}

/** Options of {@link withFallback}. */
export interface FallbackOptions {
  /**
   * Whether the next model is asked: `true` or `false`. Called once for each failure of which nothing was passed on, never after an abort.
   * Default: for what may pass (`isRetryable`), and where the provider answers that key, quota or model are not good (401 to 404, 429) or
   * that it is at fault (from 500). A request that is wrong in itself (400, 413, 422, `CONFIG_INVALID`) fails.
   */
  readonly when?: ((failure: GuardloopError, info: FallbackInfo) => boolean) | undefined;
}

const isModelsFault: NonNullable<FallbackOptions['when']> = ({ code, isRetryable, details: { status } }) => {
  if (isRetryable) return true;
  if (code !== 'MODEL_FAILED' || typeof status !== 'number') return false;
  return (status >= 401 && status <= 404) || status === 408 || status === 429 || status >= 500;
};

const defaults = { when: isModelsFault };
const rules = { when: someFunction } as const;

/**
 * The first of the models, and another in its place where it fails before anything of its answer was passed on; the run is warned of it
 * (`model.warning`, about `fallback`). Goes by the first one's names; the end of an answer tells who gave it. A refusal and an answer that
 * was cut by its length are answers, and no failures. Throws CONFIG_INVALID.
 */
export function withFallback(models: readonly Model[], options?: FallbackOptions): Model {
  const list = Array.isArray(models) ? models.map((model) => readModel('withFallback', model)) : [];
  const [first] = list;
  if (first === undefined || list.length < 2)
    throw new GuardloopError(
      'CONFIG_INVALID',
      'withFallback was not given two models. Give a list of at least two: withFallback([first, second]).',
    );
  const { when } = readOptions<{ readonly when: NonNullable<FallbackOptions['when']> }>('withFallback', options, { rules, defaults });
  const tools = new Set(list.flatMap(({ providerTools = [] }) => providerTools));
  return modelLike(
    first,
    (request, streamOptions) =>
      new AttemptedCall(first, request, {
        clock: systemClock,
        options: streamOptions,
        follow: (failure, attempt) => follow(failure, { model: list[attempt - 1], next: list[attempt], when }),
      }),
    tools.size === 0 ? undefined : [...tools],
  );
}

interface Turn {
  readonly model: Model | undefined;
  readonly next: Model | undefined;
  readonly when: NonNullable<FallbackOptions['when']>;
}

function follow(failure: GuardloopError, { model, next, when }: Turn): FollowingAttempt | NoAttempt {
  if (model === undefined || next === undefined || ask(when, failure, { model, next }) !== true) return {};
  const { status } = failure.details;
  const words = typeof status === 'number' ? `${failure.code}, status ${status}` : failure.code;
  const message = `Model ${model.id} (${model.provider}) failed (${words}); model ${next.id} (${next.provider}) is asked in its place.`;
  return { model: next, notice: { type: 'warning', about: 'fallback', message }, waitMs: 0 };
}

function ask(when: Turn['when'], failure: GuardloopError, info: FallbackInfo): unknown {
  const fault = (what: string, cause?: unknown): GuardloopError =>
    new GuardloopError(
      'CONFIG_INVALID',
      `The function \`when\` of withFallback ${what} when model ${info.model.id} had failed (${failure.code}). Have it answer true or false.`,
      { cause, details: failure.details },
    );
  let answer: unknown;
  try {
    answer = when(failure, info);
  } catch (thrown) {
    throw fault(`threw ${safeCause(thrown).name}`, thrown);
  }
  if (!(answer instanceof Promise)) return answer;
  answer.catch(() => undefined);
  throw fault('gave a promise');
}
