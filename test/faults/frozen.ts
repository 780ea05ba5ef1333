// A worker that is frozen while another one takes its run over, and then wakes: it may start nothing more.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Field, StoreKind } from './field.js';
import { openField } from './field.js';
import { spread } from './kill-matrix.js';
import { readLedger } from './ledger.js';
import type { Strike } from './places.js';
import type { Row } from './report.js';
import { forAll } from './report.js';
import { strikeWorkers } from './struck-run.js';
import type { Trial } from './trial.js';
import { openTrial, until } from './trial.js';
import type { Ending } from './verdict.js';
import { judge } from './verdict.js';

/** What a frozen worker does within this after it was woken counts. */
const watchedMs = 1_500;

/** Freezes a worker at places of each kind, at most so many, spread over them. */
export async function frozenWorkers(store: StoreKind, most = Number.POSITIVE_INFINITY): Promise<readonly Row[]> {
  const field = await openField(store);
  try {
    const undisturbed = await strikeWorkers({ field, name: 'undisturbed', strikes: [] });
    const known = undisturbed.places.flat();
    const appends = known.filter((place) => /^append .* after$/.test(place));
    const starts = known.filter((place) => place.startsWith('start '));
    const others = [
      'claim#1 after',
      'model triage#1 inside',
      'tool charge#1 before',
      'tool charge#1 effect',
      'guard toolInput#1 after',
      'append tool.start#1 before',
      'append tool.end#1 before',
    ];
    const places = spread([...starts, ...appends, ...others], most);
    const frozen = await forAll(places, 2, (at, index) =>
      freeze({ field, name: `frozen-${index}`, strike: { at, signal: 'SIGSTOP' }, undisturbed }).catch((thrown: unknown) => ({
        flaws: [thrown instanceof Error ? thrown.message : String(thrown)],
        heldLock: false,
      })),
    );
    const failures = places.flatMap((at, index) => (frozen[index]?.flaws.length ? [`${at}: ${frozen[index]?.flaws.join('; ')}`] : []));
    const held = frozen.filter(({ heldLock }) => heldLock).length;
    const note = [
      `watched for ${watchedMs} ms after waking`,
      ...(held > 0 ? [`${held} held the lock of the file, and were taken over by nobody before they woke`] : []),
    ];
    return [{ fault: 'frozen, taken over, woken', where: `${store}, worker`, tried: places.length, failures, note: note.join('; ') }];
  } finally {
    await field.close();
  }
}

interface Freezing {
  readonly field: Field;
  readonly name: string;
  readonly strike: Strike;
  readonly undisturbed: Ending;
}

/** Freezes a worker at a place, lets another one end the run, and wakes it. */
export async function freeze({
  field,
  name,
  strike,
  undisturbed,
}: Freezing): Promise<{ readonly flaws: readonly string[]; readonly heldLock: boolean }> {
  const trial = await openTrial(field, name);
  let heldLock = false;
  try {
    const frozen = trial.startWorker({ strike });
    await trial.untilEnd(() => {
      const [, second] = trial.lives;
      if (second === undefined && isStopped(frozen.pid)) trial.startWorker();
      // SQLite: it was frozen in a transaction. Nobody writes before it wakes.
      if (field.store === 'sqlite' && second?.complaints().includes('locked by another process')) {
        heldLock = true;
        frozen.signal('SIGCONT');
      }
    });
    if (trial.lives.length === 1) return { flaws: ['its place was not reached'], heldLock };
    const ending = await trial.ending(1);
    const flaws = [...judge({ ...ending, isOneProcess: heldLock }, undisturbed)];
    const before = readLedger(trial.files.ledger).length;
    const begun = underWay(trial, frozen.pid);
    frozen.signal('SIGCONT');
    await until('the frozen process goes on', () => !isStopped(frozen.pid));
    await sleep(watchedMs);
    const later = readLedger(trial.files.ledger).slice(before);
    for (const { tool, key } of later)
      if (!begun.includes(tool)) flaws.push(`after it woke, the frozen worker began ${tool} (${key.replace(name, 'RUN')})`);
    if ((await trial.store.load(name)).length !== ending.events.length) flaws.push('the log has grown after the run had ended');
    return { flaws, heldLock };
  } finally {
    await trial.close();
  }
}

/** Tools that had begun in the process, and had not yet made their effect, when it was frozen. */
function underWay(trial: Trial, pid: number): readonly string[] {
  const places = readFileSync(trial.files.places, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith(`${pid} tool `));
  const calls = places.map((line) => line.split(' ')[2] ?? '');
  return calls.filter((call) => !places.some((line) => line.includes(` ${call} effect`))).map((call) => call.split('#')[0] ?? '');
}

/** By the state that Linux tells: T is stopped. */
export function isStopped(pid: number): boolean {
  try {
    return /\) T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
