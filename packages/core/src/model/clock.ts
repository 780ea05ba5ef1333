/** Time, as a run or a wrapped model sees it. Give your own in tests. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls `then` once after `ms`; returns what stops it. */
  after(ms: number, then: () => void): () => void;
}

const longest = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, then) {
    const timer = setTimeout(then, Math.min(ms, longest));
    return () => clearTimeout(timer);
  },
};
