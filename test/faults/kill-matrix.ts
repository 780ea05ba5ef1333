// Kill -9 at every place of a run, then pairs of kills.
import type { EngineKind, Field, StoreKind } from './field.js';
import { openField } from './field.js';
import type { Strike } from './places.js';
import type { Row } from './report.js';
import { forAll } from './report.js';
import type { Struck, Try } from './struck-run.js';
import { strikePlain, strikeWorkers } from './struck-run.js';
import { judge } from './verdict.js';

export interface MatrixOptions {
  readonly store: StoreKind;
  readonly engine?: EngineKind | undefined;
  /** Without workers: `run` and `resume` alone. */
  readonly isPlain?: boolean | undefined;
  /** At most so many places, spread over all of them. Default: all. */
  readonly most?: number | undefined;
  /** So many pairs of kills: one at a place of the first process, one at a place of the one that takes over. Default 0. */
  readonly pairs?: number | undefined;
}

const atOnce = 3;
export const seed = 20_261;

export async function killMatrix(options: MatrixOptions): Promise<readonly Row[]> {
  const field = await openField(options.store, options.engine);
  try {
    return await matrixOn(field, options);
  } finally {
    await field.close();
  }
}

async function matrixOn(field: Field, { isPlain = false, most, pairs = 0 }: MatrixOptions): Promise<readonly Row[]> {
  const strikeRun = isPlain ? strikePlain : strikeWorkers;
  const undisturbed = await strikeRun({ field, name: 'undisturbed', strikes: [] });
  const flaws = judge(undisturbed, undisturbed);
  const where = `${field.store}, ${isPlain ? 'run and resume' : `worker, ${field.engineKind}`}`;
  if (flaws.length > 0) return [{ fault: 'no fault', where, tried: 1, failures: flaws, note: '' }];

  const known = [...new Set(undisturbed.places.flat())];
  const places = spread(known, most ?? known.length).map((at): Strike => strikeAt(at));
  const began = performance.now();
  const singles = await strikeAll(
    strikeRun,
    undisturbed,
    places.map((strike, index) => ({ field, name: `single-${index}`, strikes: [strike] })),
  );
  const rows = [row({ fault: 'kill -9, one', where, tried: singles, note: `of ${known.length} places, ${seconds(began)}` })];
  if (pairs > 0) {
    const began = performance.now();
    const tries = await samplePairs(singles, pairs, field);
    const struck = await strikeAll(strikeRun, undisturbed, tries);
    const beforeEnd = struck.filter(({ died }) => died === 2).length;
    rows.push(
      row({
        fault: 'kill -9, two in a row',
        where,
        tried: struck,
        note: `${beforeEnd} killed in recovery, seed ${seed}, ${seconds(began)}`,
      }),
    );
  }
  return rows;
}

interface Tried {
  readonly strikes: readonly Strike[];
  readonly died: number;
  readonly flaws: readonly string[];
  /** Places of the process that took over. */
  readonly recovery: readonly string[];
}

function strikeAll(strikeRun: (wanted: Try) => Promise<Struck>, undisturbed: Struck, tries: readonly Try[]): Promise<readonly Tried[]> {
  return forAll(tries, atOnce, async (wanted): Promise<Tried> => {
    try {
      const struck = await strikeRun(wanted);
      const flaws = judge(struck, undisturbed);
      return { strikes: wanted.strikes, died: struck.strikes, flaws, recovery: struck.places[1] ?? [] };
    } catch (thrown) {
      return { strikes: wanted.strikes, died: 0, flaws: [thrown instanceof Error ? thrown.message : String(thrown)], recovery: [] };
    }
  });
}

function row({ fault, where, tried, note }: Pick<Row, 'fault' | 'where' | 'note'> & { readonly tried: readonly Tried[] }): Row {
  const failures = tried.flatMap(({ strikes, flaws }) =>
    flaws.length === 0 ? [] : [`${strikes.map(({ at }) => at).join(', then ')}: ${flaws.join('; ')}`],
  );
  // How events come together in appends is a matter of time, so that the last of them may not be there. Not many of them: one of a few.
  const names = tried.flatMap(({ strikes, died, flaws }) =>
    died === 0 && flaws.length === 0 ? [strikes.map(({ at }) => at).join(', then ')] : [],
  );
  const missed = names.length;
  if (missed > Math.max(1, tried.length / 10)) failures.push(`${missed} places were not reached: ${names.join('; ')}`);
  return { fault, where, tried: tried.length, failures, note: missed > 0 ? `${note}, not reached: ${names.join('; ')}` : note };
}

/** In the middle of an append the signal comes from another thread, up to two milliseconds later. */
function strikeAt(at: string): Strike {
  if (!(at.startsWith('append') && at.endsWith('inside'))) return { at, signal: 'SIGKILL' };
  const random = randomOf(Number(/\d+/.exec(at)?.[0] ?? 1) + seed);
  return { at: at.replace('inside', 'before'), signal: 'SIGKILL', afterMs: 0.05 + random() * 2 };
}

/** A second kill at a place to which the recovery from the first one came. */
async function samplePairs(singles: readonly Tried[], count: number, field: Field): Promise<readonly Try[]> {
  const random = randomOf(seed);
  const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(random() * items.length)];
  const usable = singles.filter(({ died, recovery }) => died > 0 && recovery.length > 0);
  const tries: Try[] = [];
  for (let index = 0; index < count; index += 1) {
    const first = pick(usable);
    const second = pick(first?.recovery ?? []);
    if (first?.strikes[0] && second) tries.push({ field, name: `pair-${index}`, strikes: [first.strikes[0], strikeAt(second)] });
  }
  return tries;
}

/** At most `most` of them, evenly over the list. */
export function spread<T>(items: readonly T[], most: number): readonly T[] {
  if (items.length <= most) return items;
  return Array.from({ length: most }, (_, index) => items[Math.floor((index * items.length) / most)]).filter((item) => item !== undefined);
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function randomOf(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const seconds = (began: number): string => `${Math.round((performance.now() - began) / 1_000)} s`;
