// Named places of a process at which it can be killed or frozen: around its store, its model, its tools and its guardrails.
import { appendFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { LogEvent } from '@guardloop/core';
import type { Store } from '@guardloop/store';

export interface Strike {
  /** Name of the place, as a process without a strike lists it; a number: the so many-th place that the process comes to, from 1. */
  readonly at: string | number;
  /** Struck here if the process comes to this place before. */
  readonly atLatest?: string | undefined;
  readonly signal: 'SIGKILL' | 'SIGSTOP';
  /** The signal comes so much later, milliseconds, from another thread: in the middle of what goes on then. Default: at the place itself. */
  readonly afterMs?: number | undefined;
}

export interface Places {
  /** The process has come to a place of this kind. The first of a kind is `kind#1 phase`. */
  reach(kind: string, phase: string): void;
  /** Counts a place of several phases once: gives what reaches them. A place of several kinds has a name of each. */
  begin(...kinds: readonly string[]): (phase: string) => void;
  /** Resolves once no strike is on its way: never where this process is being killed. */
  settled(): Promise<void>;
}

/** Each place that is reached is written to `file`, and the strike is struck at its place. */
export function openPlaces(file: string, strike: Strike | undefined): Places {
  const counts = new Map<string, number>();
  const strikeLater = strike?.afterMs === undefined ? undefined : openStriker(strike.signal, strike.afterMs);
  let isStruck = false;
  let reached = 0;
  const at = (names: readonly string[]): void => {
    appendFileSync(file, names.map((name) => `${process.pid} ${name}\n`).join(''));
    reached += 1;
    const isThere = strike?.at === reached || names.some((name) => name === strike?.at || name === strike?.atLatest);
    if (strike === undefined || isStruck || !isThere) return;
    isStruck = true;
    if (strikeLater) {
      strikeLater();
      return;
    }
    process.kill(process.pid, strike.signal);
    // Nothing more is done here before the signal has come.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  };
  const next = (kind: string): string => {
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    return `${kind}#${count}`;
  };
  return {
    reach: (kind, phase) => at([`${next(kind)} ${phase}`]),
    begin(...kinds) {
      const names = kinds.map(next);
      return (phase) => at(names.map((name) => `${name} ${phase}`));
    },
    async settled() {
      if (isStruck && strike?.signal === 'SIGKILL') await new Promise<void>((resolve) => setTimeout(resolve, 60_000));
    },
  };
}

/** Of the names of a place the first alone, for places in the order in which a process came to them. */
export function oneNameEach(places: readonly string[]): readonly string[] {
  // Between two appends there is another phase of the first.
  const partOf = (place: string | undefined): string | undefined => /^append .* (\w+)$/.exec(place ?? '')?.[1];
  return places.filter((place, index) => partOf(place) === undefined || partOf(place) !== partOf(places[index - 1]));
}

/** A thread that strikes this process a little after it is told to, whatever the main thread does then. */
function openStriker(signal: string, afterMs: number): () => void {
  const shared = new Int32Array(new SharedArrayBuffer(8));
  const program = `
    const { workerData } = require('node:worker_threads');
    const { shared, signal, afterMs } = workerData;
    Atomics.wait(shared, 0, 0);
    Atomics.wait(shared, 1, 0, afterMs);
    process.kill(process.pid, signal);
  `;
  new Worker(program, { eval: true, workerData: { shared, signal, afterMs } }).unref();
  return () => {
    Atomics.store(shared, 0, 1);
    Atomics.notify(shared, 0);
  };
}

/** The same store, with places around each append, and around claims and changes of run records. */
export function withPlaces(store: Store, places: Places): Store {
  const { runs } = store;
  const append = async (id: string, events: readonly LogEvent[], afterSeq: number): Promise<void> => {
    // How events come together in appends is a matter of time; which events there are is not.
    const phase = places.begin(...events.map(({ type }) => `append ${type}`));
    phase('before');
    const appending = store.append(id, events, afterSeq);
    phase('inside');
    await appending;
    phase('after');
    for (const event of events) if (event.type === 'tool.start') places.reach(`start ${event.tool}`, 'stored');
  };
  return {
    load: (id, afterSeq) => store.load(id, afterSeq),
    append,
    sessions: store.sessions,
    approvals: store.approvals,
    live: store.live,
    runs: {
      create: (run) => runs.create(run),
      get: (id) => runs.get(id),
      list: (query) => runs.list(query),
      async claim(options) {
        const record = await runs.claim(options);
        if (record) places.reach('claim', 'after');
        return record;
      },
      renew: (id, token, leaseMs) => runs.renew(id, token, leaseMs),
      async update(id, version, change) {
        const phase = places.begin(`record ${change.state ?? 'as it was'}`);
        phase('before');
        const record = await runs.update(id, version, change);
        phase('after');
        return record;
      },
    },
    now: () => store.now(),
    watch: (session, listener) => store.watch(session, listener),
    sweep: () => store.sweep(),
    close: () => store.close(),
  };
}
