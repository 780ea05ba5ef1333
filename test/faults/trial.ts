// One durable run of the scene, with the processes that take it on.
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DurableClient, DurableResult } from '@guardloop/durable';
import { durableClient } from '@guardloop/durable';
import type { Store } from '@guardloop/store';
import type { ChildConfig, WorkerWish } from './child-config.js';
import type { Field } from './field.js';
import type { Life } from './lives.js';
import { startChild } from './lives.js';
import { machineClock } from './machine-clock.js';
import { openEngine, openStore } from './open-store.js';
import { decideOn } from './person.js';
import { sceneInput } from './scene.js';
import type { Ending } from './verdict.js';

export interface Trial {
  readonly name: string;
  readonly files: ChildConfig['files'];
  readonly store: Store;
  readonly runs: DurableClient;
  readonly lives: readonly Life[];
  /** Starts one more worker process. */
  startWorker(wish?: Partial<WorkerWish> & Partial<Pick<ChildConfig, 'strike' | 'store' | 'chargeMs'>>): Life;
  /** Decides on what people are asked, until the run has ended. `between` is called again and again meanwhile. Rejects after two minutes. */
  untilEnd(between?: () => Promise<void> | void): Promise<DurableResult>;
  /** Places that a process has come to, in order. */
  placesOf(life: Life): readonly string[];
  ending(strikes: number): Promise<Ending>;
  close(): Promise<void>;
}

const patienceMs = 120_000;
export const defaultLeaseMs = 1_500;

/** Files of one trial. */
export function filesOf(field: Field, name: string): ChildConfig['files'] {
  const folder = join(field.folder, name);
  mkdirSync(folder, { recursive: true });
  return { ledger: join(folder, 'ledger'), requests: join(folder, 'requests'), places: join(folder, 'places') };
}

/** Submits the run; no worker is there yet. The names of trials are unique in a field. `clockFile`: holds how wrong the machine's clock is. */
export async function openTrial(field: Field, name: string, clockFile?: string): Promise<Trial> {
  const address = field.address(name);
  const files = filesOf(field, name);
  const store = await openStore(address, machineClock(clockFile));
  const engine = await openEngine(field.engine(name));
  const runs = durableClient({ store, engine });
  const lives: Life[] = [];
  const close = async (): Promise<void> => {
    for (const life of lives) await life.end();
    await runs.close();
    await store.close();
  };
  try {
    await runs.submit('desk', sceneInput, { id: name });
  } catch (thrown) {
    await close();
    throw thrown;
  }
  return {
    name,
    files,
    store,
    runs,
    lives,
    startWorker({ strike, store: other, chargeMs, ...wish } = {}) {
      const does = {
        kind: 'worker',
        engine: field.engine(name),
        leaseMs: defaultLeaseMs,
        name: `${name}-${lives.length}`,
        ...wish,
      } as const;
      const life = startChild(join(field.folder, name), { store: other ?? address, files, does, strike, chargeMs, clockFile });
      lives.push(life);
      return life;
    },
    async untilEnd(between) {
      const deadline = Date.now() + patienceMs;
      for (;;) {
        const result = await runs.result(name, { waitMs: 100, until: 'wait' });
        if (result.status === 'interrupted') await decideAll({ runs, store, name, ledger: files.ledger });
        // Its log may have ended under a worker that was struck before it noted that: another one is to do so.
        else if (result.status !== 'queued' && result.status !== 'running' && (await runs.status(name))?.state === 'ended') return result;
        if (Date.now() > deadline)
          throw new Error(
            `it does not end: ${JSON.stringify(await runs.status(name))}; ${lives.map((life) => life.complaints().slice(0, 300)).join(' ')}`,
          );
        await between?.();
        if (result.status === 'interrupted') await sleep(20);
      }
    },
    placesOf: ({ pid }) => placesOf(files.places, pid),
    async ending(strikes) {
      return { run: name, events: await store.load(name), files, strikes };
    },
    close,
  };
}

/** Places that a process has come to, in order. */
export function placesOf(file: string, pid: number): readonly string[] {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  return lines.filter((line) => line.startsWith(`${pid} `)).map((line) => line.slice(String(pid).length + 1));
}

interface Deciding {
  readonly runs: DurableClient;
  readonly store: Store;
  readonly name: string;
  readonly ledger: string;
}
/** Decides on everything that is open. */
async function decideAll({ runs, store, name, ledger }: Deciding): Promise<void> {
  const { items } = await runs.approvals.list({ run: name, state: 'open' });
  if (items.length === 0) return;
  const events = await store.load(name);
  for (const { id, approval } of items) await runs.approvals.decide(id, decideOn(approval, events, ledger), { by: 'anna' });
}

/** Waits until something holds. Rejects after two minutes. */
export async function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = Date.now() + patienceMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`waited for two minutes: ${what}`);
    await sleep(10);
  }
}
