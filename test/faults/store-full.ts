// A store that takes nothing more in the middle of a run: no effect without its `tool.start`, and the run goes on when there is room again.
import { statSync } from 'node:fs';
import type { StoreAddress } from './child-config.js';
import type { Field } from './field.js';
import { openField } from './field.js';
import { readLedger } from './ledger.js';
import type { Life } from './lives.js';
import type { Row } from './report.js';
import { repeatableTools } from './scene.js';
import { strikeWorkers } from './struck-run.js';
import type { Trial } from './trial.js';
import { openTrial, until } from './trial.js';
import type { Ending } from './verdict.js';
import { judge } from './verdict.js';

const page = 4_096;

/** SQLite with room for some pages more than when the run was submitted: full at another append each time. */
export async function sqliteFull({ times = 12 }: { readonly times?: number } = {}): Promise<readonly Row[]> {
  const field = await openField('sqlite');
  try {
    const undisturbed = await strikeWorkers({ field, name: 'undisturbed', strikes: [] });
    const failures: string[] = [];
    const size = await sizeOfSubmitted(field);
    let full = 0;
    for (let index = 0; index < times; index += 1) {
      const name = `full-${index}`;
      const trial = await openTrial(field, name);
      try {
        const address = field.address(name);
        if (address.kind !== 'sqlite') throw new Error('this needs SQLite');
        const { flaws, wasFull } = await fillAndFree(trial, { address: { ...address, maxBytes: size + (1 + index) * page }, undisturbed });
        if (wasFull) full += 1;
        if (flaws.length > 0) failures.push(`${index} pages: ${flaws.join('; ')}`);
      } finally {
        await trial.close();
      }
    }
    if (full === 0) failures.push('the store was never full');
    return [
      {
        fault: 'store full at a barrier',
        where: 'sqlite, worker',
        tried: times,
        failures,
        note: `${full} times it was full in the middle of the run`,
      },
    ];
  } finally {
    await field.close();
  }
}

/** Bytes of a file in which a run was submitted. */
async function sizeOfSubmitted(field: Field): Promise<number> {
  const trial = await openTrial(field, 'submitted');
  await trial.close();
  const address = field.address('submitted');
  return address.kind === 'sqlite' ? statSync(address.file).size : 0;
}

interface Filling {
  readonly address: StoreAddress;
  readonly undisturbed: Ending;
}

/** A worker whose store is bounded, until it is stuck or done; then one with room. */
async function fillAndFree(
  trial: Trial,
  { address, undisturbed }: Filling,
): Promise<{ readonly flaws: readonly string[]; readonly wasFull: boolean }> {
  const bounded = trial.startWorker({ store: address });
  await bounded.ready;
  let seen = '';
  let since = performance.now();
  await until('the bounded worker gets on no more', () => {
    const places = trial
      .placesOf(bounded)
      .filter((place) => /^(tool|model|guard)/.test(place))
      .join();
    if (places !== seen) since = performance.now();
    seen = places;
    return performance.now() - since > 800;
  });
  await bounded.end();
  const status = await trial.runs.result(trial.name, { waitMs: 0 });
  const wasFull = status.status === 'running' || status.status === 'queued';
  const flaws = [...(await effectsWithoutStart(trial))];
  const free = trial.startWorker();
  await trial.untilEnd(() => {
    if (free.isOver()) throw new Error(`the worker ended: ${free.complaints().slice(0, 500)}`);
  });
  flaws.push(...judge({ ...(await trial.ending(4)), isOneProcess: true }, undisturbed));
  return { flaws, wasFull };
}

/** Effects that the ledger has and the log has no start of. A tool that may run twice waits for no store. */
async function effectsWithoutStart(trial: Trial): Promise<readonly string[]> {
  const starts = new Set(
    (await trial.store.load(trial.name)).flatMap((event) => (event.type === 'tool.start' ? [event.idempotencyKey] : [])),
  );
  return readLedger(trial.files.ledger).flatMap(({ key, tool }) =>
    starts.has(key) || repeatableTools.includes(tool) ? [] : [`${tool} was done without a stored tool.start`],
  );
}

const places = [
  'append model.start#1 before',
  'append model.end#1 before',
  'tool charge#1 before',
  'append tool.end#1 before',
  'append handoff#1 before',
  'tool refund#1 before',
];

/** PostgreSQL takes reads alone from a place of the run on. */
export async function postgresReadOnly(): Promise<readonly Row[]> {
  const field = await openField('postgres');
  try {
    const undisturbed = await strikeWorkers({ field, name: 'undisturbed', strikes: [] });
    const failures: string[] = [];
    for (const [index, place] of places.entries()) {
      const flaws = await readOnlyAt(field, { place, name: `read-only-${index}`, undisturbed }).catch((thrown: unknown) => [
        thrown instanceof Error ? thrown.message : String(thrown),
      ]);
      if (flaws.length > 0) failures.push(`${place}: ${flaws.join('; ')}`);
    }
    return [{ fault: 'store read-only at a barrier', where: 'postgres, worker', tried: places.length, failures, note: '' }];
  } finally {
    await field.close();
  }
}

async function readOnlyAt(
  field: Field,
  { place, name, undisturbed }: { readonly place: string; readonly name: string; readonly undisturbed: Ending },
): Promise<readonly string[]> {
  const trial = await openTrial(field, name);
  try {
    // The place is held for as long as it takes to switch.
    const worker = trial.startWorker({ strike: { at: place, signal: 'SIGSTOP' }, leaseMs: 20_000 });
    await comesTo(trial, { worker, place });
    setReadOnly(field, true);
    worker.signal('SIGCONT');
    const before = trial.placesOf(worker).length;
    let flaws: readonly string[];
    try {
      await until(
        'the worker meets the store that takes nothing',
        async () => trial.placesOf(worker).length > before && worker.isOver() === false,
      );
      await new Promise((resolve) => setTimeout(resolve, 700));
      flaws = await effectsWithoutStart(trial);
    } finally {
      setReadOnly(field, false);
    }
    await worker.end();
    trial.startWorker();
    // The lease of the first worker is long, so that it did not lose its run while it was held.
    const record = await trial.store.runs.get(name);
    if (record?.state === 'running') await trial.store.runs.update(name, record.version, { state: 'queued', lease: null });
    await trial.untilEnd();
    return [...flaws, ...judge({ ...(await trial.ending(4)), isOneProcess: true }, undisturbed)];
  } finally {
    await trial.close();
  }
}

/** Decides on what is asked until the worker has come to the place. */
async function comesTo(trial: Trial, { worker, place }: { readonly worker: Life; readonly place: string }): Promise<void> {
  const there = new Error('It is there.');
  const ended = await trial
    .untilEnd(() => {
      if (trial.placesOf(worker).includes(place)) throw there;
    })
    .catch((thrown: unknown) => {
      if (thrown !== there) throw thrown;
      return undefined;
    });
  if (ended) throw new Error(`the run ended before the worker came to ${place}`);
}

/** For sessions that are open, too: they are ended, and come again. */
function setReadOnly(field: Field, isReadOnly: boolean): void {
  field.postgres?.sql(
    `set default_transaction_read_only = off;
     alter database postgres set default_transaction_read_only = ${isReadOnly ? 'on' : 'off'};
     select pg_terminate_backend(pid) from pg_stat_activity where datname = 'postgres' and pid <> pg_backend_pid();`,
  );
}
