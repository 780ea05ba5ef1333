import type { RunEvent } from '../state/events.js';

/** Unread text pieces after which the model is not read any further. */
export const unreadDeltas = 64;

const isDelta = (event: RunEvent): boolean => event.type === 'text.delta' || event.type === 'reasoning.delta';

/**
 * From one run to one reader. Every event is kept until it is read; only the pull from the model waits for a slow reader.
 */
export class Channel implements AsyncIterator<RunEvent, undefined> {
  private queue: RunEvent[] = [];
  /** Taken out of the queue together; `head` is the next to be read. */
  private reading: RunEvent[] = [];
  private head = 0;
  private deltas = 0;
  private isClosed = false;
  private isFree = false;
  /** Reads that nothing has answered yet, in the order in which they were asked. */
  private waiting: ((result: IteratorResult<RunEvent, undefined> | Promise<never>) => void)[] = [];
  private stalled: (() => void)[] = [];
  private failure: { readonly error: unknown } | undefined;

  /** `onLeave` is told what the reader threw into the stream, if it did. */
  constructor(private readonly onLeave: (thrown?: { readonly error: unknown }) => void) {}

  push(event: RunEvent): void {
    if (this.isClosed) return;
    const give = this.waiting.shift();
    if (give) {
      give({ value: event, done: false });
      return;
    }
    this.queue.push(event);
    if (isDelta(event)) this.deltas += 1;
  }

  /** Undefined when the model may be read on; else a promise for when it may. */
  ready(): Promise<void> | undefined {
    if (this.isFree || this.isClosed || this.deltas < unreadDeltas) return undefined;
    return new Promise((resolve) => this.stalled.push(resolve));
  }

  /** The reader waits for the result: unread pieces hold nothing back any more. */
  free(): void {
    this.isFree = true;
    this.wake();
  }

  close(failure?: { readonly error: unknown }): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.failure = failure;
    this.wake();
    this.answerWaiting(() => (failure ? Promise.reject(failure.error) : { value: undefined, done: true }));
  }

  next(): Promise<IteratorResult<RunEvent, undefined>> {
    if (this.head === this.reading.length) this.refill();
    const event = this.reading[this.head];
    if (event !== undefined) {
      this.head += 1;
      if (isDelta(event)) {
        this.deltas -= 1;
        if (this.deltas === unreadDeltas - 1) this.wake();
      }
      return Promise.resolve({ value: event, done: false });
    }
    if (this.isClosed) return this.failure ? Promise.reject(this.failure.error) : Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve) => {
      this.waiting.push(resolve);
    });
  }

  /** Leaving the iterator ends the run. */
  return(): Promise<IteratorResult<RunEvent, undefined>> {
    this.leave();
    return Promise.resolve({ value: undefined, done: true });
  }

  /** As leaving it, for this reason. */
  throw(error: unknown): Promise<never> {
    this.leave({ error });
    return Promise.reject(error);
  }

  private leave(thrown?: { readonly error: unknown }): void {
    const isRunning = !this.isClosed;
    this.isClosed = true;
    this.queue = [];
    this.reading = [];
    this.wake();
    this.answerWaiting(() => ({ value: undefined, done: true }));
    if (isRunning) this.onLeave(thrown);
  }

  private refill(): void {
    const read = this.reading;
    read.length = 0;
    this.reading = this.queue;
    this.queue = read;
    this.head = 0;
  }

  private answerWaiting(answer: () => IteratorResult<RunEvent, undefined> | Promise<never>): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const give of waiting) give(answer());
  }

  private wake(): void {
    const stalled = this.stalled;
    this.stalled = [];
    for (const go of stalled) go();
  }
}
