// Machines whose clocks are wrong, or are set while they work.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Field } from './field.js';
import { openField } from './field.js';
import type { Strike } from './places.js';
import type { Row } from './report.js';
import { strikeWorkers } from './struck-run.js';
import { openTrial, until } from './trial.js';
import type { Ending } from './verdict.js';
import { judge } from './verdict.js';

const day = 24 * 60 * 60_000;

interface Case {
  readonly name: string;
  /** What is done to a run that has been submitted. `setClock` sets the clock of the machine: of all its processes. */
  act(trial: Awaited<ReturnType<typeof openTrial>>, setClock: (aheadMs: number) => void): Promise<void>;
  readonly strikes?: number;
}

const frozenAt = (at: string): Strike => ({ at, signal: 'SIGSTOP' });
const killedAt = (at: string): Strike => ({ at, signal: 'SIGKILL' });

/** Holds a worker at a place while the clock is set. */
const setWhileHeld =
  (aheadMs: number): Case['act'] =>
  async (trial, setClock) => {
    const worker = trial.startWorker({ strike: frozenAt('tool charge#1 before') });
    await until('the worker is in its tool', () => trial.placesOf(worker).includes('tool charge#1 before'));
    setClock(aheadMs);
    worker.signal('SIGCONT');
  };

const cases: readonly Case[] = [
  { name: 'the clock is set two days forward while a tool runs', act: setWhileHeld(2 * day) },
  { name: 'the clock is set two days back while a tool runs', act: setWhileHeld(-2 * day) },
  {
    name: 'the clock is set back two days between a submission and its worker',
    async act(trial, setClock) {
      setClock(-2 * day);
      trial.startWorker();
    },
  },
  {
    name: 'the clock is set back two days after a worker died',
    strikes: 1,
    async act(trial, setClock) {
      const worker = trial.startWorker({ strike: killedAt('tool look#1 before') });
      await worker.ended;
      setClock(-2 * day);
      trial.startWorker();
    },
  },
  {
    name: 'the clock is set forward two days while two workers are there',
    async act(trial, setClock) {
      trial.startWorker({ chargeMs: 400 });
      const [first] = trial.lives;
      trial.startWorker({ chargeMs: 400 });
      await until(
        'a worker is in its tool',
        () => trial.lives.some((life) => trial.placesOf(life).includes('tool charge#1 before')) && first !== undefined,
      );
      setClock(2 * day);
    },
  },
  {
    name: 'two workers whose clocks are six days apart',
    async act(trial) {
      trial.startWorker({ aheadMs: -3 * day });
      trial.startWorker({ aheadMs: 3 * day });
    },
  },
];

/** SQLite has the machine's clock; PostgreSQL and Redis have one of their own, which workers' clocks do not reach. */
export async function clockJumps(): Promise<readonly Row[]> {
  const field = await openField('sqlite');
  try {
    const undisturbed = await strikeWorkers({ field, name: 'undisturbed', strikes: [] });
    const failures: string[] = [];
    for (const [index, each] of cases.entries()) {
      const flaws = await tryCase(field, { ...each, id: `clock-${index}`, undisturbed }).catch((thrown: unknown) => [
        thrown instanceof Error ? thrown.message : String(thrown),
      ]);
      if (flaws.length > 0) failures.push(`${each.name}: ${flaws.join('; ')}`);
    }
    return [{ fault: 'clock jumps', where: 'sqlite, worker', tried: cases.length, failures, note: 'by days, forward and back' }];
  } finally {
    await field.close();
  }
}

async function tryCase(
  field: Field,
  { act, id, strikes, undisturbed }: Case & { readonly id: string; readonly undisturbed: Ending },
): Promise<readonly string[]> {
  const clockFile = join(field.folder, `${id}.clock`);
  writeFileSync(clockFile, '0');
  const trial = await openTrial(field, id, clockFile);
  try {
    await act(trial, (aheadMs) => writeFileSync(clockFile, String(aheadMs)));
    await trial.untilEnd();
    // Workers that both hold themselves for the owner take the run from each other: how often is not bound, the end is.
    return judge({ ...(await trial.ending(strikes ?? 50)), isOneProcess: strikes === undefined }, undisturbed);
  } finally {
    await trial.close();
  }
}
