import type { Awaitable } from '@guardloop/core';

/** One thing that is counted for one call. */
export interface LimitEntry {
  /** What is counted together. Outside text may be part of it. */
  readonly key: string;
  /** 1 for a call, or what it spends. 0 or more. */
  readonly amount: number;
  readonly atMost: number;
  /** How long it counts, milliseconds. */
  readonly windowMs: number;
}
/** What one call needs, all of it or nothing. */
export interface Reservation {
  /** The call: `<run>/<call id>`. The same call asked again takes the place of what it had. */
  readonly id: string;
  /** Milliseconds since 1970, by the policy's clock. */
  readonly at: number;
  readonly entries: readonly LimitEntry[];
}
/**
 * Where limits over time are counted. Give one that all processes share (a table, a Lua script on a server of keys) where there are several.
 * One that throws or is late fails the guardrail, which refuses the call.
 */
export interface LimitStore {
  /**
   * In one step that nothing comes between: if for each entry the amounts of other calls under its key that are younger than its window, and
   * its own, come to at most `atMost`, keeps all of them for the call and gives undefined. Else keeps nothing, and gives the index of the first
   * that is too much. An earlier reservation of the same call under the same keys is replaced, and stays where the answer is an index.
   */
  reserve(reservation: Reservation): Awaitable<number | undefined>;
  /** The call will not run: what it had is given back. Called again, or for a call that has none, it does nothing. */
  release(id: string): Awaitable<void>;
}

interface Kept {
  readonly at: number;
  readonly amount: number;
}
interface Bucket {
  readonly byCall: Map<string, Kept>;
  windowMs: number;
}

/** A store that answers at once. */
export interface MemoryLimits extends LimitStore {
  reserve(reservation: Reservation): number | undefined;
  release(id: string): void;
}

/** Counts in memory: for one process. What is older than its window is forgotten. */
export function memoryLimits(): MemoryLimits {
  const buckets = new Map<string, Bucket>();
  const keysOf = new Map<string, Set<string>>();
  let sweepAt = 1_000;
  const forget = (key: string, bucket: Bucket, id: string): void => {
    bucket.byCall.delete(id);
    if (bucket.byCall.size === 0) buckets.delete(key);
    const keys = keysOf.get(id);
    keys?.delete(key);
    if (keys?.size === 0) keysOf.delete(id);
  };
  const prune = (key: string, bucket: Bucket, now: number): void => {
    for (const [id, { at }] of bucket.byCall) if (at <= now - bucket.windowMs) forget(key, bucket, id);
  };
  const sweep = (now: number): void => {
    if (buckets.size < sweepAt) return;
    for (const [key, bucket] of buckets) prune(key, bucket, now);
    sweepAt = Math.max(1_000, buckets.size * 2);
  };
  return {
    reserve({ id, at, entries }) {
      for (const [index, { key, amount, atMost, windowMs }] of entries.entries()) {
        const bucket = buckets.get(key);
        let sum = amount;
        if (bucket) {
          bucket.windowMs = windowMs;
          prune(key, bucket, at);
          for (const [other, kept] of bucket.byCall) if (other !== id) sum += kept.amount;
        }
        if (!(sum <= atMost)) return index;
      }
      for (const { key, amount, windowMs } of entries) {
        const bucket = buckets.get(key) ?? { byCall: new Map<string, Kept>(), windowMs };
        buckets.set(key, bucket);
        bucket.byCall.set(id, { at, amount });
        const keys = keysOf.get(id) ?? new Set<string>();
        keysOf.set(id, keys.add(key));
      }
      sweep(at);
      return undefined;
    },
    release(id) {
      for (const key of [...(keysOf.get(id) ?? [])]) {
        const bucket = buckets.get(key);
        if (bucket) forget(key, bucket, id);
      }
    },
  };
}
