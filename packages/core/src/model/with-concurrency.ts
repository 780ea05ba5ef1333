import type { LimitFunction } from 'p-limit';
import pLimit from 'p-limit';
import { GuardloopError } from '../errors.js';
import { abortedCall, withFailureDetails } from './failures.js';
import { leaveStream } from './leave-stream.js';
import { modelLike } from './model-like.js';
import type { Model, ModelEvent, ModelRequest, StreamOptions } from './types.js';
import { countFrom1, readModel, readOptions } from './wrapper-options.js';

/** Options of {@link withConcurrency}. */
export interface ConcurrencyOptions {
  /** Calls of the model at the same time, over all runs of this process. */
  readonly limit: number;
}

const rules = { limit: countFrom1 } as const;

/**
 * The model, called at most so many times at once; further calls wait, first come, first served. A call holds its place until its answer
 * is whole, it failed, or its reader has left it. One that is aborted while it waits leaves the queue at once. Throws CONFIG_INVALID.
 */
export function withConcurrency(model: Model, options: ConcurrencyOptions): Model {
  const inner = readModel('withConcurrency', model);
  const { limit } = readOptions<Partial<ConcurrencyOptions>>('withConcurrency', options, { rules, defaults: {} });
  if (limit === undefined)
    throw new GuardloopError('CONFIG_INVALID', 'withConcurrency was given no `limit`. Give how many calls may run at once: { limit: 4 }.');
  const slots = pLimit(limit);
  return modelLike(inner, (request, streamOptions) => new QueuedCall(inner, slots, { request, options: streamOptions }));
}

/** What stands in the queue for a call: nothing but how to let it in. */
interface Waiter {
  /** Undefined once nobody waits any more: then the place goes to the next in the same moment. */
  admit: ((free: () => void) => void) | undefined;
}

class QueuedCall implements AsyncIterableIterator<ModelEvent> {
  #stream: AsyncIterator<ModelEvent> | undefined;
  #waiter: Waiter | undefined;
  #free: (() => void) | undefined;
  #isLeft = false;

  constructor(
    private readonly model: Model,
    private readonly slots: LimitFunction,
    private readonly call: { readonly request: ModelRequest; readonly options: StreamOptions },
  ) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<ModelEvent, undefined>> {
    if (this.#isLeft) return { done: true, value: undefined };
    try {
      if (this.#stream === undefined) {
        await this.#enter();
        if (this.#isLeft) return { done: true, value: undefined };
        this.#stream = this.model.stream(this.call.request, this.call.options)[Symbol.asyncIterator]();
      }
      const result = await this.#stream.next();
      if (result.done) this.#isLeft = true;
      if (result.done || result.value.type === 'end') this.#free?.();
      return result.done ? { done: true, value: undefined } : result;
    } catch (thrown) {
      this.#isLeft = true;
      this.#free?.();
      throw thrown;
    }
  }

  async return(): Promise<IteratorResult<ModelEvent, undefined>> {
    this.#isLeft = true;
    this.#waiter?.admit?.(() => undefined);
    this.#free?.();
    leaveStream(this.#stream);
    return { done: true, value: undefined };
  }

  /** Waits for a place. Rejects when the signal is aborted meanwhile; returns without one when the reader leaves. */
  #enter(): Promise<void> {
    const { signal } = this.call.options;
    if (signal.aborted) return Promise.reject(this.#unasked());
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { admit: undefined };
      const leave = (): void => {
        waiter.admit = undefined;
        reject(this.#unasked());
      };
      waiter.admit = (free) => {
        waiter.admit = undefined;
        signal.removeEventListener('abort', leave);
        this.#free = free;
        resolve();
      };
      this.#waiter = waiter;
      signal.addEventListener('abort', leave, { once: true });
      void this.slots(() => hold(waiter));
    });
  }

  #unasked(): GuardloopError {
    return withFailureDetails(abortedCall(this.model, this.call.options.signal), { usage: { requests: 0 } });
  }
}

/** Keeps the place until it is freed. */
function hold(waiter: Waiter): Promise<void> | undefined {
  const { admit } = waiter;
  return admit === undefined ? undefined : new Promise((free) => admit(free));
}
