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

const missed: { readonly [K in BoundName]: string } = {
  connectMs: 'did not begin to answer',
  firstEventMs: 'gave no first event',
  betweenEventsMs: 'gave no further event',
  totalMs: 'did not end its answer',
};

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
  /** Sets the timer of the read that is under way anew. */
  #rearm: (() => void) | undefined;
  /** Ends the read that is under way, for a reader that has left. */
  #settle: (() => void) | undefined;

  constructor(
    private readonly model: Model,
    private readonly bounds: Bounds,
    private readonly call: { readonly request: ModelRequest; readonly options: StreamOptions },
  ) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<ModelEvent, undefined>> {
    if (this.#isOver) return { done: true, value: undefined };
    try {
      this.#stream ??= this.#open();
      const result = await this.#read(this.#stream.next());
      if (result === undefined || result.done) {
        this.#close();
        return { done: true, value: undefined };
      }
      this.#note(result.value);
      return result;
    } catch (thrown) {
      this.#close();
      throw thrown;
    }
  }

  async return(): Promise<IteratorResult<ModelEvent, undefined>> {
    this.#close();
    this.#settle?.();
    leaveStream(this.#stream);
    return { done: true, value: undefined };
  }

  #open(): AsyncIterator<ModelEvent> {
    const { request, options } = this.call;
    this.#startedAt = this.bounds.clock.now();
    if (options.signal.aborted) this.#abort();
    else options.signal.addEventListener('abort', this.#abort, { once: true });
    const onConnect = (): void => {
      this.#isConnected = true;
      this.#rearm?.();
      options.onConnect?.();
    };
    return this.model.stream(request, { ...options, signal: this.#controller.signal, onConnect })[Symbol.asyncIterator]();
  }

  readonly #abort = (): void => {
    this.#controller.abort(this.call.options.signal.reason);
    this.#rearm?.();
  };

  #close(): void {
    this.#isOver = true;
    this.call.options.signal.removeEventListener('abort', this.#abort);
  }

  #note(event: ModelEvent): void {
    if (event.type === 'retry') this.#retries += 1;
    if (event.type === 'retry' || event.type === 'warning') return;
    this.#isConnected = true;
    this.#hasBegun = true;
    if (event.type === 'end') this.#isWhole = true;
    if (event.type === 'text.delta' || event.type === 'reasoning.delta') this.#hasDelivered ||= event.text !== '';
  }

  /** Waits for an event, but no longer than the bounds let it. Undefined: the reader has left. */
  #read(reading: Promise<IteratorResult<ModelEvent>>): Promise<IteratorResult<ModelEvent> | undefined> {
    const { clock } = this.bounds;
    const from = clock.now();
    return new Promise((resolve, reject) => {
      let stopTimer: (() => void) | undefined;
      const rest = (): void => {
        stopTimer?.();
        stopTimer = undefined;
        this.#rearm = undefined;
        this.#settle = undefined;
      };
      const giveUp = (name: BoundName): void => {
        rest();
        this.#controller.abort(new DOMException(`The bound ${name} of this call has passed.`, 'TimeoutError'));
        leaveStream(this.#stream);
        reject(this.#failure(name));
      };
      this.#rearm = () => {
        stopTimer?.();
        const next = this.#nextBound(from);
        stopTimer = next && clock.after(Math.max(0, next.at - clock.now()), () => giveUp(next.name));
      };
      this.#settle = () => {
        rest();
        resolve(undefined);
      };
      reading.then(
        (result) => {
          rest();
          resolve(result);
        },
        (thrown) => {
          rest();
          reject(thrown);
        },
      );
      this.#rearm();
    });
  }

  /** The bound that is passed first if nothing comes. `from`: when the reader began to wait. None where the call is over anyway. */
  #nextBound(from: number): { readonly name: BoundName; readonly at: number } | undefined {
    if (this.#isWhole || this.call.options.signal.aborted) return undefined;
    const since = { connectMs: this.#startedAt, firstEventMs: this.#startedAt, betweenEventsMs: from, totalMs: this.#startedAt };
    const isPast = { connectMs: this.#isConnected, firstEventMs: this.#hasBegun, betweenEventsMs: !this.#hasBegun, totalMs: false };
    let first: { readonly name: BoundName; readonly at: number } | undefined;
    for (const name of names) {
      const at = since[name] + this.bounds[name];
      if (!isPast[name] && at < (first?.at ?? none)) first = { name, at };
    }
    return first;
  }

  #failure(name: BoundName): GuardloopError {
    const { id, provider } = this.model;
    const ms = this.bounds[name];
    return new GuardloopError(
      'MODEL_FAILED',
      `Model ${id} ${missed[name]} within ${ms} ms. Try again later, or raise \`${name}\` of withTimeouts.`,
      {
        isRetryable: !this.#hasDelivered,
        details: { provider, model: id, timeout: name, ms, attempts: 1 + this.#retries, delivered: this.#hasDelivered },
      },
    );
  }
}
