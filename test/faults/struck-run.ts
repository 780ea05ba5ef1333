// One run of the scene to its end, through processes that are struck one after another.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Field } from './field.js';
import type { Life } from './lives.js';
import { startChild } from './lives.js';
import { openStore } from './open-store.js';
import { decideOn } from './person.js';
import type { Strike } from './places.js';
import { oneNameEach } from './places.js';
import { filesOf, openTrial, placesOf } from './trial.js';
import type { Ending } from './verdict.js';

export interface Try {
  readonly field: Field;
  /** Of the run and its folder; unique in the field. */
  readonly name: string;
  /** The first process gets the first, the next one the second. */
  readonly strikes: readonly Strike[];
}
/** How long a strike may be on its way. */
const lateMs = 20_000;

export interface Struck extends Ending {
  /** Places that each process came to, in order; of several names the first. */
  readonly places: readonly (readonly string[])[];
  /** Which of the processes were killed. */
  readonly killed: readonly number[];
}

/** A durable run, whose workers are struck. */
export async function strikeWorkers({ field, name, strikes }: Try): Promise<Struck> {
  const trial = await openTrial(field, name);
  const { lives } = trial;
  const start = (): Life => trial.startWorker({ strike: strikes[lives.length] });
  try {
    let current = start();
    await trial.untilEnd(async () => {
      if (!current.isOver()) return;
      const { signal, code } = await current.ended;
      if (signal !== 'SIGKILL') throw new Error(`a worker ended by itself with ${code}: ${current.complaints().slice(0, 500)}`);
      current = start();
    });
    // A strike at what is done behind the run's end may still be on its way.
    if (lives.length <= strikes.length) await Promise.race([current.ended, sleep(lateMs, undefined, { ref: false })]);
    const killed = lives.flatMap((life, index) => (life.isOver() ? [index] : []));
    return { ...(await trial.ending(killed.length)), places: lives.map((life) => oneNameEach(trial.placesOf(life))), killed };
  } finally {
    await trial.close();
  }
}

/** A run of `run` and `resume` over a store, without workers: each process takes it on until it ends, asks, or is struck. */
export async function strikePlain({ field, name, strikes }: Try): Promise<Struck> {
  const address = field.address(name);
  const files = filesOf(field, name);
  const store = await openStore(address);
  const lives: Life[] = [];
  const killed: number[] = [];
  try {
    for (let lifetimes = 0; lifetimes < 12; lifetimes += 1) {
      const session = await store.sessions.get(name);
      if (session?.status !== undefined && session.status !== 'open' && session.status !== 'waiting')
        return {
          run: name,
          events: await store.load(name),
          files,
          strikes: killed.length,
          places: lives.map(({ pid }) => oneNameEach(placesOf(files.places, pid))),
          killed,
        };
      const { items } = await store.approvals.list({ session: name, state: 'open' });
      const events = await store.load(name);
      const decisions = Object.fromEntries(items.map(({ id, approval }) => [id, decideOn(approval, events, files.ledger)]));
      const strike = strikes[killed.length];
      const life = startChild(join(field.folder, name), { store: address, files, does: { kind: 'plain', run: name, decisions }, strike });
      lives.push(life);
      const { signal, code } = await life.ended;
      if (signal === 'SIGKILL') killed.push(lives.length - 1);
      else if (code !== 0) throw new Error(`a process ended with ${code}: ${life.complaints().slice(0, 500)}`);
    }
    throw new Error('it does not come to its end in 12 processes');
  } finally {
    for (const life of lives) await life.end();
    await store.close();
  }
}
