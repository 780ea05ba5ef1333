import { GuardloopError } from '../errors.js';
import type { Clock } from './clock.js';
import { systemClock } from './clock.js';
import { leaveStream } from './leave-stream.js';
import { modelLike } from './model-like.js';
import type { Model, ModelEvent, ModelRequest, StreamOptions } from './types.js';
import { durationMs, readModel, readOptions, someClock } from './wrapper-options.js';

/** Options of {@link withTimeouts}: milliseconds, at least one. What is left out has no bound. */
export interface TimeoutOptions {
  /**
   * From the call to the head of the provider's answer. Of a model that does not tell of it (`onConnect`): to the first event that is
   * neither `retry` nor `warning`.
   */
  readonly connectMs?: number | undefined;
  /** From the call to the first event that is neither `retry` nor `warning`. */
  readonly firstEventMs?: number | undefined;
  /** From one event to the next, as long as the reader waits for it. Models that reason unseen send nothing meanwhile. */
  readonly betweenEventsMs?: number | undefined;
  /** From the call to the end of the answer. */
  readonly totalMs?: number | undefined;
  /** Time, for tests. */
  readonly clock?: Clock | undefined;
}

type BoundName = Exclude<keyof TimeoutOptions, 'clock'>;
type Bounds = { readonly [K in BoundName]: number } & { readonly clock: Clock };

const none = Number.POSITIVE_INFINITY;
const defaults: Bounds = { connectMs: none, firstEventMs: none, betweenEventsMs: none, totalMs: none, clock: systemClock };
const rules = {
  connectMs: durationMs,
  firstEventMs: durationMs,
  betweenEventsMs: durationMs,
  totalMs: durationMs,
  clock: someClock,
} as const;

/**
 * The model, given up where it takes too long: the call is aborted, and fails with `MODEL_FAILED` that names the bound, retryable if
 * nothing was delivered. Throws CONFIG_INVALID.
 */
export function withTimeouts(model: Model, options: TimeoutOptions): Model {
  const inner = readModel('withTimeouts', model);
  const bounds = readOptions<Bounds>('withTimeouts', options, { rules, defaults });
  if (names.every((name) => options?.[name] === undefined))
    throw new GuardloopError(
      'CONFIG_INVALID',
      `withTimeouts was given no bound. Give at least one of ${names.join(', ')}, in milliseconds.`,
    );
  return modelLike(inner, (request, streamOptions) => new TimedCall(inner, bounds, { request, options: streamOptions }));
}

const names: readonly BoundName[] = ['connectMs', 'firstEventMs', 'betweenEventsMs', 'totalMs'];

const words: { readonly [K in BoundName]: string } = {
  connectMs: 'did not begin to answer',
  firstEventMs: 'gave no first event',
  betweenEventsMs: 'gave no further event',
  totalMs: 'did not end its answer',
};

type Read = IteratorResult<ModelEvent, undefined>;
const over: Read = { done: true, value: undefined };

class TimedCall implements AsyncIterableIterator<ModelEvent> {
  readonly #controller = new AbortController();
  #stream: AsyncIterator<ModelEvent> | undefined;
  #startedAt = 0;
  #isConnected = false;
  #hasBegun = false;
  #hasDelivered = false;
  #isWhole = false;
  #retries = 0;
  #isOver = false;
  /** Since when the reader waits for an event, and how to settle that. */
  #waitsSince: number | undefined;
  #resolve: (read: Read) => void = () => undefined;
  #reject: (failure: unknown) => void = () => undefined;
  /** One timer for many reads: when it fires too early for the read under way, it is set again. */
  #stopTimer: (() => void) | undefined;
  #firesAt = none;

  constructor(
    private readonly model: Model,
    private readonly bounds: Bounds,
    private readonly call: { readonly request: ModelRequest; readonly options: StreamOptions },
  ) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Read> {
    if (this.#isOver) return Promise.resolve(over);
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      try {
        this.#stream ??= this.#open();
        this.#waitsSince = this.bounds.clock.now();
        this.#stream.next().then(this.#take, this.#fail);
        this.#arm();
      } catch (thrown) {
        this.#fail(thrown);
      }
    });
  }

  async return(): Promise<Read> {
    this.#close();
    this.#resolve(over);
    leaveStream(this.#stream);
    return over;
  }

  #open(): AsyncIterator<ModelEvent> {
    const { request, options } = this.call;
    this.#startedAt = this.bounds.clock.now();
    if (options.signal.aborted) this.#abort();
    else options.signal.addEventListener('abort', this.#abort, { once: true });
    const onConnect = (): void => {
      this.#isConnected = true;
      options.onConnect?.();
    };
    return this.model.stream(request, { ...options, signal: this.#controller.signal, onConnect })[Symbol.asyncIterator]();
  }

  readonly #abort = (): void => {
    this.#controller.abort(this.call.options.signal.reason);
    this.#disarm();
  };

  readonly #take = (result: IteratorResult<ModelEvent>): void => {
    if (this.#isOver) return;
    this.#waitsSince = undefined;
    if (result.done) this.#close();
    else this.#note(result.value);
    this.#resolve(result.done ? over : result);
  };

  readonly #fail = (thrown: unknown): void => {
    if (this.#isOver) return;
    this.#close();
    this.#reject(thrown);
  };

  #close(): void {
    this.#isOver = true;
    this.#waitsSince = undefined;
    this.#disarm();
    this.call.options.signal.removeEventListener('abort', this.#abort);
  }

  #note(event: ModelEvent): void {
    const { type } = event;
    if (type === 'retry') this.#retries += 1;
    if (type === 'retry' || type === 'warning') return;
    this.#isConnected = true;
    this.#hasBegun = true;
    if (type === 'text.delta' || type === 'reasoning.delta') this.#hasDelivered ||= event.text !== '';
    if (type !== 'end') return;
    this.#isWhole = true;
    this.#disarm();
  }

  /** Sees to it that the timer fires no later than the first bound. */
  #arm(): void {
    let at = none;
    for (const name of names) at = Math.min(at, this.#deadline(name));
    if (at >= this.#firesAt) return;
    this.#disarm();
    const { clock } = this.bounds;
    this.#firesAt = at;
    this.#stopTimer = clock.after(Math.max(0, at - clock.now()), this.#fire);
  }

  #disarm(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#firesAt = none;
  }

  readonly #fire = (): void => {
    const firedAt = this.#firesAt;
    this.#disarm();
    const missed = names.find((name) => this.#deadline(name) <= firedAt);
    if (missed === undefined) {
      this.#arm();
      return;
    }
    this.#controller.abort(new DOMException(`The bound ${missed} of this call has passed.`, 'TimeoutError'));
    leaveStream(this.#stream);
    this.#fail(this.#failure(missed));
  };

  /** When a bound is passed if nothing comes; never, where it does not hold now, nobody waits, or the call is over anyway. */
  #deadline(name: BoundName): number {
    const from = this.#waitsSince;
    if (from === undefined || this.#isWhole || this.call.options.signal.aborted) return none;
    const ms = this.bounds[name];
    switch (name) {
      case 'connectMs':
        return this.#isConnected ? none : this.#startedAt + ms;
      case 'firstEventMs':
        return this.#hasBegun ? none : this.#startedAt + ms;
      case 'betweenEventsMs':
        return this.#hasBegun ? from + ms : none;
      case 'totalMs':
        return this.#startedAt + ms;
      default:
        return name satisfies never;
    }
  }

  #failure(name: BoundName): GuardloopError {
    const { id, provider } = this.model;
    const ms = this.bounds[name];
    return new GuardloopError(
      'MODEL_FAILED',
      `Model ${id} ${words[name]} within ${ms} ms. Try again later, or raise \`${name}\` of withTimeouts.`,
      {
        isRetryable: !this.#hasDelivered,
        details: { provider, model: id, timeout: name, ms, attempts: 1 + this.#retries, delivered: this.#hasDelivered },
      },
    );
  }
}
