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
const mostDraws = 5;
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
    const struck = await strikePairs(strikeRun, undisturbed, {
      field,
      singles,
      count: pairs,
      end: isPlain ? 'append run.end#1 before' : 'record ended#1 before',
    });
    rows.push(
      row({ fault: 'kill -9, two in a row', where, tried: struck, note: `the second in recovery, seed ${seed}, ${seconds(began)}` }),
    );
  }
  return rows;
}

interface Tried {
  readonly strikes: readonly Strike[];
  /** Where it was struck. */
  readonly name: string;
  readonly died: number;
  readonly flaws: readonly string[];
  /** Places of the process that took over. */
  readonly recovery: readonly string[];
}

function strikeAll(strikeRun: (wanted: Try) => Promise<Struck>, undisturbed: Struck, tries: readonly Try[]): Promise<readonly Tried[]> {
  return forAll(tries, atOnce, (wanted) => strikeOne(strikeRun, undisturbed, wanted));
}

async function strikeOne(strikeRun: (wanted: Try) => Promise<Struck>, undisturbed: Struck, wanted: Try): Promise<Tried> {
  const { strikes } = wanted;
  try {
    const struck = await strikeRun(wanted);
    const { places, killed } = struck;
    const name = strikes
      .map(({ at }, index) => (typeof at === 'string' ? at : (places[killed[index] ?? -1]?.at(-1) ?? 'nowhere')))
      .join(', then ');
    return {
      strikes,
      name,
      died: killed.length,
      flaws: judge(struck, undisturbed),
      recovery: places[(killed[0] ?? places.length) + 1] ?? [],
    };
  } catch (thrown) {
    const flaws = [thrown instanceof Error ? thrown.message : String(thrown)];
    return { strikes, name: strikes.map(({ at }) => at).join(', then '), died: 0, flaws, recovery: [] };
  }
}

function row({ fault, where, tried, note }: Pick<Row, 'fault' | 'where' | 'note'> & { readonly tried: readonly Tried[] }): Row {
  const failures = tried.flatMap(({ strikes, name, died, flaws }) => {
    const missed = flaws.length === 0 && died < strikes.length ? ['its place was not reached'] : flaws;
    return missed.length === 0 ? [] : [`${name}: ${missed.join('; ')}`];
  });
  return { fault, where, tried: tried.length, failures, note };
}

/** In the middle of an append the signal comes from another thread, up to two milliseconds later. */
function strikeAt(at: string): Strike {
  if (!(at.startsWith('append') && at.endsWith('inside'))) return { at, signal: 'SIGKILL' };
  const random = randomOf([...at].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) % 1_000_003, seed));
  return { at: at.replace('inside', 'before'), signal: 'SIGKILL', afterMs: 0.05 + random() * 2 };
}

interface Pairs {
  readonly field: Field;
  readonly singles: readonly Tried[];
  readonly count: number;
  /** The last place of every process that ends the run. */
  readonly end: string;
}

/**
 * A second kill in the recovery from the first one. What a process that recovers comes to depends on what was under way, so that the second
 * place is told by its number: one that the recovery from the single kill came to, or the run's end, where this recovery is a shorter one.
 */
async function strikePairs(
  strikeRun: (wanted: Try) => Promise<Struck>,
  undisturbed: Struck,
  { field, singles, count, end }: Pairs,
): Promise<readonly Tried[]> {
  const random = randomOf(seed);
  const upTo = (most: number): number => Math.floor(random() * most);
  const usable = singles.filter(({ died, recovery }) => died > 0 && recovery.length > 0);
  const draw = (): readonly Strike[] => {
    const single = usable[upTo(usable.length)];
    if (single === undefined) throw new Error('No process recovered after a kill.');
    const at = 1 + upTo(single.recovery.length);
    const isLater = random() < 0.25;
    const afterMs = 0.05 + random() * 2;
    return [...single.strikes, { at, atLatest: end, signal: 'SIGKILL', ...(isLater ? { afterMs } : {}) }];
  };
  const drawn = Array.from({ length: count }, () => Array.from({ length: mostDraws }, draw));
  return forAll(drawn, atOnce, async (draws, index): Promise<Tried> => {
    for (const [number, strikes] of draws.entries()) {
      const struck = await strikeOne(strikeRun, undisturbed, { field, name: `pair-${index}-${number}`, strikes });
      // A kill in the middle of the last append may leave nothing to recover: this is no pair.
      if (struck.died !== 1 || struck.recovery.length > 0) return struck;
    }
    throw new Error(`${mostDraws} kills left nothing to recover.`);
  });
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
