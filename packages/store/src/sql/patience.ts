/** How long a database that is busy or away is waited for. */
export interface Patience {
  /** Milliseconds in all. */
  readonly patienceMs: number;
  /** Whether nothing was done, and trying again may help. */
  isPassing(error: unknown): boolean;
  /** Longest pause between two tries, milliseconds. */
  readonly longestPauseMs: number;
}

/** Tries until it works, fails for good, or the patience is over: then with the last error. Pauses grow, and differ between processes. */
export async function patiently<T>(work: () => Promise<T>, { patienceMs, isPassing, longestPauseMs }: Patience): Promise<T> {
  const until = performance.now() + patienceMs;
  for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)) {
    try {
      return await work();
    } catch (thrown) {
      const leftMs = until - performance.now();
      if (!isPassing(thrown) || leftMs <= 0) throw thrown;
      await pause(Math.min(leftMs, pauseMs * (0.5 + Math.random())));
    }
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** One after another, in the order in which they came. */
export class Line {
  #last: Promise<unknown> = Promise.resolve();

  async stand<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#last;
    const turn = before.then(work, work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
