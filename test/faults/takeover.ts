// How long a run of a worker that died is without one.
import { setTimeout as sleep } from 'node:timers/promises';
import type { EngineKind, StoreKind } from './field.js';
import { openField } from './field.js';
import { randomOf, seed } from './kill-matrix.js';
import type { Row } from './report.js';
import { openTrial, until } from './trial.js';

const leaseMs = 3_000;

/** Kills a worker in the middle of a tool, while another one is there, at several moments of its lease. */
export async function takeover({
  store,
  engine,
  times,
  mostMs = 5_000,
}: {
  readonly store: StoreKind;
  readonly engine?: EngineKind;
  readonly times: number;
  /** A takeover that takes longer is a failure. */
  readonly mostMs?: number;
}): Promise<readonly Row[]> {
  const field = await openField(store, engine);
  const random = randomOf(seed);
  const taken: number[] = [];
  try {
    for (let index = 0; index < times; index += 1) {
      const trial = await openTrial(field, `takeover-${index}`);
      try {
        const first = trial.startWorker({ leaseMs, chargeMs: 60_000 });
        await until('the first worker is in its tool', () => trial.placesOf(first).includes('tool charge#1 before'));
        const second = trial.startWorker({ leaseMs });
        await second.ready;
        await sleep(random() * leaseMs);
        await first.end();
        const began = performance.now();
        await until('the second worker has entered the run', () => trial.placesOf(second).includes('append run.resume#1 after'));
        taken.push(performance.now() - began);
      } finally {
        await trial.close();
      }
    }
  } finally {
    await field.close();
  }
  const failures = taken.filter((ms) => ms > mostMs).map((ms) => `it took ${Math.round(ms)} ms`);
  const note = `lease ${leaseMs} ms; from death to re-entry ${taken.map((ms) => (ms / 1_000).toFixed(2)).join(', ')} s`;
  return [{ fault: 'takeover', where: `${store}, worker, ${field.engineKind}`, tried: times, failures, note }];
}
