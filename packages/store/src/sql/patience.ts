/** How long a database that is busy or away is waited for. */
export interface Patience {
  /** Milliseconds in all. */
  readonly patienceMs: number;
  /** Whether nothing was done, and trying again may help. */
  isPassing(error: unknown): boolean;
  readonly pauses: Pauses;
}
/** Pauses between tries, milliseconds. They are of random length about these, so that nobody is always too late. */
export interface Pauses {
  readonly firstMs: number;
  /** How much longer each is than the one before. */
  readonly growth: number;
  readonly longestMs: number;
}

/** Tries until it works, fails for good, or the patience is over: then with the last error. */
export async function patiently<T>(work: () => Promise<T>, { patienceMs, isPassing, pauses }: Patience): Promise<T> {
  const until = performance.now() + patienceMs;
  for (let pauseMs = pauses.firstMs; ; pauseMs = Math.min(pauseMs * pauses.growth, pauses.longestMs)) {
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
