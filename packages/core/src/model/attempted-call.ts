import type { GuardloopError } from '../errors.js';
import type { Clock } from './clock.js';
import { abortedCall, missingEnd, modelFailure, withFailureDetails } from './failures.js';
import { leaveStream } from './leave-stream.js';
import type { Model, ModelEvent, ModelRequest, StreamOptions } from './types.js';
import type { ModelShare } from './usage.js';
import { sumUsage, usageOfFailure } from './usage.js';

/** What follows a failed attempt: another one, of this or another model. */
export interface FollowingAttempt {
  readonly model: Model;
  /** Told to the reader before the wait. */
  readonly notice: ModelEvent;
  readonly waitMs: number;
}

/** Details that the error of the call is to have, since nothing follows. */
export type NoAttempt = { readonly model?: undefined; readonly details?: Readonly<Record<string, unknown>> | undefined };

/** Who decides what follows. */
export interface AttemptPolicy {
  readonly clock: Clock;
  /** What the inner models are called with. */
  readonly options: StreamOptions;
  /** Called after each failure of which nothing was passed on, unless the call was aborted. `attempt` counts from 1. */
  follow(failure: GuardloopError, attempt: number): FollowingAttempt | NoAttempt;
  /** Called at most once: when a whole answer has come, or when it was not waited for any longer. */
  settle?(isAnswered: boolean): void;
}

/** A model call that is made again, until an attempt gives a whole answer or has said something. */
export class AttemptedCall implements AsyncIterableIterator<ModelEvent> {
  readonly #asked: Model;
  readonly #request: ModelRequest;
  readonly #policy: AttemptPolicy;
  #model: Model;
  #stream: AsyncIterator<ModelEvent> | undefined;
  #attempt = 1;
  /** Attempts that the models under this one have told of. */
  #retries = 0;
  /** What the failed attempts used. */
  readonly #used: ModelShare[] = [];
  /** Events to pass on. */
  #ready: ModelEvent[] = [];
  #passed = 0;
  /** Provisional until the answer is whole or text was passed on: an attempt that dies in the arguments of a call leaves nothing behind. */
  #held: ModelEvent[] = [];
  #warned: Set<string> | undefined;
  #resumesAt: number | undefined;
  #wake: (() => void) | undefined;
  #hasDelivered = false;
  #isOver = false;

  constructor(model: Model, request: ModelRequest, policy: AttemptPolicy) {
    this.#asked = model;
    this.#model = model;
    this.#request = request;
    this.#policy = policy;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<ModelEvent, undefined>> {
    for (;;) {
      const value = this.#ready[this.#passed];
      if (value !== undefined) {
        this.#passed += 1;
        return { done: false, value };
      }
      if (this.#isOver) return { done: true, value: undefined };
      if (this.#passed > 0) {
        this.#ready = [];
        this.#passed = 0;
      }
      if (this.#resumesAt !== undefined && !(await this.#rest(this.#resumesAt))) continue;
      let result: IteratorResult<ModelEvent>;
      try {
        this.#stream ??= this.#model.stream(this.#request, this.#policy.options)[Symbol.asyncIterator]();
        result = await this.#stream.next();
      } catch (thrown) {
        if (!this.#isOver) this.#fail(modelFailure(this.#model, thrown));
        continue;
      }
      if (this.#isOver) continue;
      if (result.done) this.#fail(missingEnd(this.#model));
      else if (this.#hasDelivered && (result.value.type === 'text.delta' || result.value.type === 'reasoning.delta')) return result;
      else this.#take(result.value);
    }
  }

  async return(): Promise<IteratorResult<ModelEvent, undefined>> {
    this.#ready = [];
    this.#passed = 0;
    if (!this.#isOver) {
      this.#isOver = true;
      this.#policy.settle?.(false);
    }
    this.#wake?.();
    leaveStream(this.#stream);
    this.#stream = undefined;
    return { done: true, value: undefined };
  }

  /** Waits until the next attempt is due. False: the reader has left meanwhile. */
  async #rest(until: number): Promise<boolean> {
    const { clock, options } = this.#policy;
    await this.#wait(until - clock.now());
    this.#resumesAt = undefined;
    if (options.signal.aborted && !this.#isOver) throw this.#end(abortedCall(this.#model, options.signal));
    return !this.#isOver;
  }

  #take(event: ModelEvent): void {
    switch (event.type) {
      case 'tool.delta':
      case 'tool.call':
        this.#hold(event);
        return;
      case 'retry':
        this.#retries += 1;
        this.#ready.push(event);
        return;
      case 'warning':
        if (this.#isNews(event)) this.#ready.push(event);
        return;
      case 'end':
        this.#release();
        this.#ready.push(this.#completed(event));
        this.#isOver = true;
        this.#policy.settle?.(true);
        // It is the last event: a stream that stays open after it is not waited for.
        leaveStream(this.#stream);
        this.#stream = undefined;
        return;
      default:
        if (event.text !== '' && !this.#hasDelivered) {
          this.#hasDelivered = true;
          this.#release();
        }
        this.#hold(event);
    }
  }

  #hold(event: ModelEvent): void {
    (this.#hasDelivered ? this.#ready : this.#held).push(event);
  }

  #release(): void {
    for (const event of this.#held) this.#ready.push(event);
    this.#held = [];
  }

  /** A later attempt drops what an earlier one dropped: that is told once. */
  #isNews({ about, message, item = '' }: Extract<ModelEvent, { type: 'warning' }>): boolean {
    const key = JSON.stringify([about, message, item]);
    this.#warned ??= new Set();
    if (this.#warned.has(key)) return false;
    this.#warned.add(key);
    return true;
  }

  #completed(end: Extract<ModelEvent, { type: 'end' }>): ModelEvent {
    const { id, provider } = this.#model;
    const by = end.by ?? (this.#model === this.#asked ? undefined : { id, provider });
    if (by === end.by && this.#used.length === 0) return end;
    const usage = sumUsage([...this.#used, { model: by?.id ?? id, usage: end.usage }]);
    return by === undefined ? { ...end, usage } : { ...end, usage, by };
  }

  #fail(failure: GuardloopError): void {
    leaveStream(this.#stream);
    this.#stream = undefined;
    this.#used.push({ model: this.#model.id, usage: usageOfFailure(failure, 1 + this.#retries) });
    this.#retries = 0;
    if (this.#hasDelivered || this.#policy.options.signal.aborted) throw this.#end(failure);
    let following: FollowingAttempt | NoAttempt;
    try {
      following = this.#policy.follow(failure, this.#attempt);
    } catch (thrown) {
      throw this.#end(modelFailure(this.#model, thrown));
    }
    if (following.model === undefined) throw this.#end(failure, following.details);
    this.#held = [];
    this.#attempt += 1;
    this.#model = following.model;
    this.#ready.push(following.notice);
    if (following.waitMs > 0) this.#resumesAt = this.#policy.clock.now() + following.waitMs;
  }

  /** The error of the whole call. */
  #end(failure: GuardloopError, details?: Readonly<Record<string, unknown>>): GuardloopError {
    this.#isOver = true;
    if (this.#policy.options.signal.aborted) this.#policy.settle?.(false);
    const isRetryable = failure.isRetryable && !this.#hasDelivered;
    const isTold = this.#used.length === 1 && failure.details.aborted !== true;
    if (isTold && details === undefined && isRetryable === failure.isRetryable) return failure;
    const usage = sumUsage(this.#used);
    const delivered = this.#hasDelivered ? { delivered: true } : {};
    return withFailureDetails(failure, { ...delivered, ...details, attempts: usage.requests, usage }, isRetryable);
  }

  /** Waits, but no longer than the signal lets it, or the reader is there. */
  #wait(ms: number): Promise<void> {
    const { clock, options } = this.#policy;
    const { signal } = options;
    if (ms <= 0 || signal.aborted || this.#isOver) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        stopTimer?.();
        signal.removeEventListener('abort', wake);
        this.#wake = undefined;
        resolve();
      };
      let stopTimer: (() => void) | undefined;
      signal.addEventListener('abort', wake, { once: true });
      this.#wake = wake;
      stopTimer = clock.after(ms, wake);
    });
  }
}
