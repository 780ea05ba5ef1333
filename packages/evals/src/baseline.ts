import { z } from 'zod';
import type { EvalResult } from './evaluate.js';
import { checkScoreNames, invalid, isRecord, kindOf, own } from './given.js';
import { resultsOf } from './results.js';
import type { ScoreName, Scores } from './scores.js';
import { directions, scoreNames } from './scores.js';

/** Scores as they once were, to be kept in a file. `ms` is not among them: a machine's speed is no property of an agent. */
export interface Baseline {
  readonly version: 1;
  /** By the name of the result, then by task. */
  readonly results: { readonly [name: string]: { readonly [task: string]: { readonly [S in ScoreName]?: number } } };
}
/** By how much a score may be worse: an amount, or a `share` of what it was. */
export type Tolerance = number | { readonly share: number };
/** By score; one that is not named may not be worse at all. */
export type Tolerances = { readonly [S in ScoreName]?: Tolerance };
/** A score that is worse, or better, than it was. */
export interface ScoreChange {
  readonly result: string;
  readonly task: string;
  readonly score: ScoreName;
  readonly was: number;
  readonly is: number;
  readonly tolerance: number;
}
/** What a comparison comes to. */
export interface BaselineComparison {
  /** Whether nothing has become worse, and nothing of the baseline is missing. */
  readonly holds: boolean;
  readonly regressions: readonly ScoreChange[];
  readonly improvements: readonly ScoreChange[];
  /** Tasks of the baseline that were not run. */
  readonly missing: readonly { readonly result: string; readonly task: string }[];
  /** Tasks that the baseline does not have. */
  readonly added: readonly { readonly result: string; readonly task: string }[];
}

/**
 * The scores of results as a baseline. Numbers are rounded to six places, so that a file changes only where a score does. Throws CONFIG_INVALID
 * for what is no result.
 */
export function baselineOf(results: EvalResult | readonly EvalResult[]): Baseline {
  const rounded = (scores: Scores) =>
    Object.fromEntries(
      scoreNames.flatMap((name) => {
        const value = scores[name];
        return value === undefined || name === 'ms' ? [] : [[name, Math.round(value * 1e6) / 1e6]];
      }),
    );
  return {
    version: 1,
    results: Object.fromEntries(
      resultsOf('baselineOf', results).map(({ name, tasks }) => [
        name,
        Object.fromEntries(tasks.map(({ id, scores }) => [id, rounded(scores)])),
      ]),
    ),
  };
}

const baselineSchema = z.object({
  version: z.literal(1),
  results: z.record(z.string(), z.record(z.string(), z.partialRecord(z.enum(scoreNames as [ScoreName, ...ScoreName[]]), z.number()))),
});

/** A baseline from JSON that was parsed, checked. Throws CONFIG_INVALID. */
export function readBaseline(given: unknown): Baseline {
  const read = baselineSchema.safeParse(given);
  if (read.success) return read.data as Baseline;
  const [issue] = read.error.issues;
  return invalid(
    `The baseline is not as it must be at ${issue?.path.join('.') || 'its root'}: ${issue?.message ?? ''}. Write it anew with baselineOf.`,
  );
}

/**
 * Compares scores with those of a baseline, task by task. Results that the baseline does not name are new; only named ones can be missing. Throws
 * CONFIG_INVALID for what is no result, no baseline, or no tolerance.
 */
export function compareToBaseline(
  results: EvalResult | readonly EvalResult[],
  baseline: Baseline,
  tolerances: Tolerances = {},
): BaselineComparison {
  const list = resultsOf('compareToBaseline', results);
  const { results: before } = readBaseline(baseline);
  checkTolerances(tolerances);
  const now = list.flatMap(({ name: result, tasks }) => tasks.map(({ id: task, scores }) => ({ result, task, scores })));
  const changes = now.flatMap(({ result, task, scores }) =>
    changesOf(own(own(before, result), task) ?? {}, scores, tolerances).map((change) => ({ result, task, ...change })),
  );
  const added = now
    .filter(({ result, task }) => own(own(before, result), task) === undefined)
    .map(({ result, task }) => ({ result, task }));
  const missing = Object.entries(before)
    .flatMap(([result, tasks]) => Object.keys(tasks).map((task) => ({ result, task })))
    .filter(({ result, task }) => !now.some((each) => each.result === result && each.task === task));
  const regressions = changes.filter(({ isWorse }) => isWorse).map(({ isWorse: _, ...change }) => change);
  const improvements = changes.filter(({ isWorse }) => !isWorse).map(({ isWorse: _, ...change }) => change);
  return { holds: regressions.length === 0 && missing.length === 0, regressions, improvements, missing, added };
}

type Change = Omit<ScoreChange, 'result' | 'task'> & { readonly isWorse: boolean };

/** Where nothing failed there is nothing to recover from: a score that does not apply any more is no worse. */
function changesOf(old: Baseline['results'][string][string], scores: Scores, tolerances: Tolerances): readonly Change[] {
  return scoreNames.flatMap((score): readonly Change[] => {
    const [was, is, direction] = [old[score], scores[score], directions[score]];
    if (was === undefined || is === undefined || direction === 'none') return [];
    const tolerance = amountOf(tolerances[score] ?? 0, was);
    const worse = direction === 'up' ? was - is : is - was;
    const isWorse = worse > tolerance + rounding;
    return isWorse || worse < -rounding ? [{ score, was, is, tolerance, isWorse }] : [];
  });
}

/** A tolerance that is no number would let everything pass. */
function checkTolerances(tolerances: unknown): void {
  if (!isRecord(tolerances))
    invalid(`The tolerances are ${kindOf(tolerances)}. Give an object such as { tokens: { share: 0.05 }, steps: 1 }.`);
  checkScoreNames('A tolerance', Object.keys(tolerances));
  for (const [score, tolerance] of Object.entries(tolerances)) {
    const amount: unknown = isRecord(tolerance) ? tolerance.share : tolerance;
    if (tolerance !== undefined && !(typeof amount === 'number' && amount >= 0))
      invalid(`The tolerance of ${score} is no number from 0 on. Give an amount, or { share } of what it was.`);
  }
}

/** Baselines are rounded to six places. */
const rounding = 1e-6;
const amountOf = (tolerance: Tolerance, was: number): number =>
  typeof tolerance === 'number' ? tolerance : Math.abs(was) * tolerance.share;

/** What has changed, one line each; says so when nothing has. Throws CONFIG_INVALID for what is no comparison. */
export function describeComparison(comparison: BaselineComparison): string {
  const lists = isRecord(comparison) ? [comparison.regressions, comparison.improvements, comparison.missing, comparison.added] : [];
  if (lists.length === 0 || !lists.every(Array.isArray))
    invalid('describeComparison was given no comparison. Give what `compareToBaseline` gives.');
  const { regressions, improvements, missing, added } = comparison;
  const change =
    (word: string) =>
    ({ result, task, score, was, is, tolerance }: ScoreChange) =>
      `${word}: ${score} of task ${task} (${result}) ${tell(was)} → ${tell(is)}${tolerance > 0 ? `, tolerance ${tell(tolerance)}` : ''}`;
  const lines = [
    ...regressions.map(change('worse')),
    ...missing.map(({ result, task }) => `missing: task ${task} (${result}) stands in the baseline and was not run`),
    ...improvements.map(change('better')),
    ...added.map(({ result, task }) => `new: task ${task} (${result}) is not in the baseline`),
  ];
  return lines.length === 0 ? 'Every score is as in the baseline.' : lines.join('\n');
}

const tell = (value: number): string => String(Math.round(value * 1000) / 1000);
