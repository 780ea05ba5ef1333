import type { ClaimOptions, QueueLimits } from '@guardloop/store';
import type { RunPlace } from './active-run.js';
import { ActiveRun } from './active-run.js';
import type { Advanced } from './engine.js';
import { instant } from './lease.js';
import { LostRuns } from './lost-runs.js';
import { OptionReader } from './read-options.js';
import type { DurableWorker, WorkerOptions } from './types.js';
import { keepUp } from './upkeep.js';

export const defaultLeaseMs = 5_000;
const defaultConcurrency = 10;
const defaultGraceMs = 10_000;
const longestTimer = 2 ** 31 - 1;
const names = ['name', 'queues', 'concurrency', 'leaseMs'] as const;

/** What the workers of one `durable` share. */
export interface WorkerPlace extends Omit<RunPlace, 'log' | 'worker' | 'leaseMs'> {
  readonly queues: readonly QueueLimits[];
  readonly upkeepMs: number;
  onError(error: unknown): void;
}

/** Begins to take runs. Throws CONFIG_INVALID. */
export async function openWorker(place: WorkerPlace, options?: WorkerOptions): Promise<DurableWorker> {
  const { store, engine, agents, onError } = place;
  const read = readWorker(place, options);
  const { name, queues, concurrency, leaseMs } = read;
  const runPlace: RunPlace = { ...place, worker: name, leaseMs };
  const active = new Map<string, ActiveRun>();
  const lost = new LostRuns(leaseMs);
  let isStopping = false;
  const grace = openGrace(() => {
    for (const run of active.values()) run.handBack();
  });

  const advance = async (wanted: Partial<Pick<ClaimOptions, 'run' | 'agents' | 'queues'>>, onClaimed?: () => void): Promise<Advanced> => {
    if (isStopping) return { status: 'nothing' };
    try {
      const claimedAt = instant();
      const record = await store.runs.claim({ owner: name, leaseMs, queues, except: lost.left(), ...wanted });
      if (record === undefined) return { status: 'nothing' };
      onClaimed?.();
      const claimed = new ActiveRun(runPlace, record, claimedAt);
      active.set(record.id, claimed);
      if (isStopping) claimed.pause();
      if (grace.isOver()) claimed.handBack();
      try {
        const advanced = await claimed.go();
        lost.note(record.id, advanced.status === 'lost');
        return advanced;
      } finally {
        active.delete(record.id);
      }
    } catch (thrown) {
      onError(thrown);
      return { status: 'nothing' };
    }
  };

  const known = [...agents.keys()];
  const working = await engine.work({
    store,
    owner: name,
    queues,
    concurrency,
    leaseMs,
    advance: (run, onClaimed) => advance({ agents: known, ...(run === undefined ? {} : { run }) }, onClaimed),
  });
  const endUpkeep = keepUp({
    ...place,
    served: new Set(queues.map(({ queue }) => queue)),
    everyMs: place.upkeepMs,
    orphanMs: 2 * leaseMs,
    advance: ({ id, queue }) => advance({ run: id, queues: [{ queue }] }),
  });
  let stopped: Promise<void> | undefined;
  const stop = (graceMs: number): Promise<void> => {
    isStopping = true;
    for (const run of active.values()) run.pause();
    // The shortest grace of all calls counts. One that no timer can hold has no end.
    const timer = graceMs <= longestTimer ? setTimeout(grace.end, graceMs) : undefined;
    // A function of the user's that upkeep waits for is not waited for any longer than a run is.
    stopped ??= Promise.all([Promise.race([endUpkeep(), grace.over]), working.stop()]).then(() => undefined);
    return stopped.finally(() => clearTimeout(timer));
  };
  return {
    name,
    get runs() {
      return [...active.keys()];
    },
    stop(given) {
      const graceMs = new OptionReader('worker.stop', given, ['graceMs']).number('graceMs', { least: 0 }) ?? defaultGraceMs;
      return stop(graceMs);
    },
    [Symbol.asyncDispose]() {
      return stop(defaultGraceMs);
    },
  };
}

/** Until when runs that are under way are waited for. */
function openGrace(onOver: () => void) {
  let isOver = false;
  let tell = (): void => undefined;
  const over = new Promise<void>((resolve) => {
    tell = resolve;
  });
  return {
    over,
    isOver: () => isOver,
    end(): void {
      if (isOver) return;
      isOver = true;
      onOver();
      tell();
    },
  };
}

function readWorker({ queues }: WorkerPlace, options: unknown) {
  const reader = new OptionReader('worker', options, names);
  const known = queues.map(({ queue }) => queue);
  const wanted = reader.get('queues') ?? known;
  if (!Array.isArray(wanted) || wanted.length === 0 || !wanted.every((each) => known.includes(each)))
    return reader.refuse('queues', `Give a list of ${known.join(', ')}, or leave it out.`);
  return {
    name: reader.text('name', 200) ?? `w${globalThis.crypto.randomUUID().slice(0, 8)}`,
    queues: queues.filter(({ queue }) => wanted.includes(queue)),
    concurrency: reader.number('concurrency', { least: 1, isWhole: true }) ?? defaultConcurrency,
    leaseMs: reader.number('leaseMs', { least: 200, most: 3_600_000, isWhole: true }) ?? defaultLeaseMs,
  };
}
