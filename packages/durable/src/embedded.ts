import type { RunRecord } from '@guardloop/store';
import type { Engine, EngineWork, EngineWorker } from './engine.js';
import { openPlaces } from './places.js';
import { longestInterval, OptionReader } from './read-options.js';

/** Options of {@link embeddedEngine}. */
export interface EmbeddedOptions {
  /**
   * How often a worker looks for runs that nobody told it of, milliseconds: those that became due by time in another process, and those of
   * a dead worker. From 10 to a day; default 1,000.
   */
  readonly pollMs?: number | undefined;
}

const defaultPollMs = 1_000;
/** Changes that come together are looked at together. */
const gatherMs = 5;
/** Every event of a run under way is a change: a worker does not look more often than this. */
const busyMs = 30;
const longestTimer = 2 ** 31 - 1;

/**
 * The engine that needs nothing but the store: workers claim what is due, woken by the store's changes, by timers, and by looking now and
 * then. Works over every store, in one process or many. Throws CONFIG_INVALID.
 */
export function embeddedEngine(options?: EmbeddedOptions): Engine {
  const pollMs =
    new OptionReader('embeddedEngine', options, ['pollMs']).number('pollMs', { least: 10, most: longestInterval }) ?? defaultPollMs;
  const wakers = new Set<(dueAt: number) => void>();
  return {
    name: 'embedded',
    async kick({ dueAt }: RunRecord) {
      for (const wake of wakers) wake(dueAt);
    },
    async work(work) {
      return open(work, { pollMs, wakers });
    },
    async close() {
      wakers.clear();
    },
  };
}

interface Waking {
  readonly pollMs: number;
  readonly wakers: Set<(dueAt: number) => void>;
}

function open(work: EngineWork, { pollMs, wakers }: Waking): EngineWorker {
  const timers = new Set<ReturnType<typeof setTimeout>>();
  let isStopped = false;
  const after = (ms: number, act: () => void): void => {
    if (isStopped) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      act();
    }, ms);
    timers.add(timer);
  };
  let isGathering = false;
  let isLooking = false;
  let hasChanged = false;
  let lookedAt = Number.NEGATIVE_INFINITY;
  const places = openPlaces(
    {
      ...work,
      async advance(run, onClaimed) {
        const advanced = await work.advance(run, onClaimed);
        if (advanced.status === 'again') wakeAt(advanced.dueAt);
        return advanced;
      },
    },
    pollMs,
  );
  // What changes while it looks, is looked at again.
  const look = (): void => {
    if (isLooking) hasChanged = true;
    if (isGathering || isLooking || isStopped) return;
    isGathering = true;
    after(Math.max(gatherMs, lookedAt + busyMs - performance.now()), () => {
      isGathering = false;
      if (places.free === 0) return;
      lookedAt = performance.now();
      isLooking = true;
      hasChanged = false;
      void places.look().finally(() => {
        isLooking = false;
        if (hasChanged) look();
      });
    });
  };
  const wakeAt = (dueAt: number): void => {
    const left = dueAt - Date.now();
    if (left <= 0) look();
    else if (left < longestTimer) after(left, look);
  };
  wakers.add(wakeAt);
  const off = work.store.watch(undefined, look);
  return {
    async stop() {
      isStopped = true;
      wakers.delete(wakeAt);
      off();
      for (const timer of timers) clearTimeout(timer);
      await places.stop();
    },
  };
}
