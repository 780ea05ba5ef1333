import type { ModelEvent } from '../model/types.js';

type Retry = Extract<ModelEvent, { type: 'retry' }>;

/** Counts the HTTP attempts of one model call. Whoever sends tells when an attempt begins and ends; if nobody does, `count` stays 0. */
export class Attempts {
  /** Of all requests of the call. */
  count = 0;
  #ofRequest = 0;
  #endedAt = 0;
  #retries: Retry[] = [];
  #wake: (() => void) | undefined;

  /** A new request follows: its first attempt is no retry. */
  newRequest(): void {
    this.#ofRequest = 0;
  }

  begin(): void {
    this.count += 1;
    this.#ofRequest += 1;
    if (this.#ofRequest === 1) return;
    this.#retries.push({ type: 'retry', attempt: this.#ofRequest - 1, waitMs: Date.now() - this.#endedAt });
    this.#wake?.();
  }

  end(): void {
    this.#endedAt = Date.now();
  }

  /** The attempts that failed and were followed by another since the last call. */
  takeRetries(): readonly Retry[] {
    const taken = this.#retries;
    this.#retries = [];
    return taken;
  }

  /** Settles when there is a retry to take. */
  retried(): Promise<undefined> {
    return new Promise((resolve) => {
      this.#wake = () => resolve(undefined);
      if (this.#retries.length > 0) resolve(undefined);
    });
  }
}
