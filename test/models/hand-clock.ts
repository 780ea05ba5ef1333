import type { Clock } from '@guardloop/core';

/** A clock that stands still until it is moved. */
export class HandClock implements Clock {
  #now = 0;
  readonly #timers = new Set<{ readonly at: number; readonly then: () => void }>();
  /** Every wait that was asked for, in order. */
  readonly asked: number[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, then: () => void): () => void {
    const timer = { at: this.#now + ms, then };
    this.asked.push(ms);
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Timers that are set. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Lets this much time pass: what is due happens in order, with all that follows at once from it. */
  async pass(ms: number): Promise<void> {
    const until = this.#now + ms;
    await settle();
    for (;;) {
      const [next] = [...this.#timers].filter(({ at }) => at <= until).sort((left, right) => left.at - right.at);
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.then();
      await settle();
    }
    this.#now = until;
  }

  /** Passes time until the promise has settled. */
  async until<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false;
    const over = (): void => {
      isSettled = true;
    };
    promise.then(over, over);
    for (let rounds = 0; rounds < 1_000; rounds += 1) {
      await settle();
      if (isSettled) break;
      const next = Math.min(...[...this.#timers].map(({ at }) => at));
      if (next === Number.POSITIVE_INFINITY) break;
      await this.pass(next - this.#now);
    }
    return promise;
  }
}

/** Lets everything happen that waits for nothing. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
