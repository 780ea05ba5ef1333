// PostgreSQL crashes in the middle of runs, and comes back.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Field } from './field.js';
import { openField } from './field.js';
import type { Row } from './report.js';
import { strikeWorkers } from './struck-run.js';
import { openTrial, until } from './trial.js';
import type { Ending } from './verdict.js';
import { judge } from './verdict.js';

/** Each time it is stopped once a process has come to one of these places. */
const places = [
  'claim#1 after',
  'append model.start#1 before',
  'append model.end#1 before',
  'tool charge#1 before',
  'tool mail#1 effect',
  'append handoff#1 before',
  'record waiting#1 before',
  'tool refund#1 before',
  'append run.end#1 before',
];

/** `patienceMs`: of the worker's store. A stop takes longer or shorter than that. */
export async function databaseDown({ most = places.length }: { readonly most?: number } = {}): Promise<readonly Row[]> {
  const field = await openField('postgres');
  try {
    const undisturbed = await strikeWorkers({ field, name: 'undisturbed', strikes: [] });
    const rows: Row[] = [];
    for (const patienceMs of [10_000, 300]) {
      const failures: string[] = [];
      const tried = places.slice(0, most);
      for (const [index, place] of tried.entries()) {
        const flaws = await stopAt(field, { place, name: `down-${patienceMs}-${index}`, patienceMs, undisturbed }).catch(
          (thrown: unknown) => [thrown instanceof Error ? thrown.message : String(thrown)],
        );
        if (flaws.length > 0) failures.push(`${place}: ${flaws.join('; ')}`);
      }
      const note = patienceMs > 1_000 ? 'back within the patience of the store' : 'away for longer than the store is patient';
      rows.push({ fault: 'PostgreSQL stopped (immediate)', where: 'postgres, worker', tried: tried.length, failures, note });
    }
    return rows;
  } finally {
    await field.close();
  }
}

interface Stop {
  readonly place: string;
  readonly name: string;
  readonly patienceMs: number;
  readonly undisturbed: Ending;
}

export async function stopAt(field: Field, { place, name, patienceMs, undisturbed }: Stop): Promise<readonly string[]> {
  const trial = await openTrial(field, name);
  const address = field.address(name);
  if (address.kind !== 'postgres') return ['this needs PostgreSQL'];
  try {
    const worker = trial.startWorker({ store: { ...address, patienceMs } });
    let isDown = false;
    const watching = until(`the worker comes to ${place}`, () => trial.placesOf(worker).includes(place)).then(async () => {
      isDown = true;
      await field.postgres?.stop('immediate');
      await sleep(1_200);
      await field.postgres?.start();
    });
    const ended = trial.untilEnd(async () => {
      if (worker.isOver()) throw new Error(`the worker ended: ${worker.complaints().slice(0, 500)}`);
    });
    await Promise.all([watching, ended]);
    if (!isDown) return ['its place was not reached'];
    return judge({ ...(await trial.ending(2)), isOneProcess: true }, undisturbed);
  } finally {
    await trial.close();
  }
}
