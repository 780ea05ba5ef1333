import { expect, it } from 'vitest';
import { baselineOf, compareToBaseline, describeComparison, readBaseline } from './baseline.js';
import { evalMarkdown } from './eval-markdown.js';
import type { EvalResult, Trial } from './evaluate.js';
import type { Scores } from './scores.js';

const scores = (given: Partial<Scores> = {}): Scores => ({
  success: 1,
  steps: 3,
  modelCalls: 3,
  calls: 2,
  tokens: 100,
  ms: 5,
  largest: 40,
  ...given,
});
const trial = (of: Scores, why?: string): Trial => ({
  trial: 1,
  seed: 1,
  run: 'r',
  status: 'completed',
  scores: of,
  ...(why === undefined ? {} : { why }),
});
const result = (of: Scores, name = 'react', task = 'two-hops'): EvalResult => ({
  name,
  tasks: [{ id: task, tags: [], trials: [trial(of)], scores: of }],
  scores: of,
});
const before = baselineOf(result(scores()));

it('a baseline is what it was after JSON, and holds no time', () => {
  expect(readBaseline(JSON.parse(JSON.stringify(before)))).toEqual(before);
  expect(before.results.react?.['two-hops']).toEqual({ success: 1, steps: 3, modelCalls: 3, calls: 2, tokens: 100, largest: 40 });
  expect(() => readBaseline({ version: 1, results: { react: { a: { speed: 1 } } } })).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID' }),
  );
  expect(() => readBaseline(undefined)).toThrow(/Write it anew/);
});

it('equal scores hold, however long they took', () => {
  const comparison = compareToBaseline(result(scores({ ms: 5_000 })), before);
  expect(comparison).toEqual({ holds: true, regressions: [], improvements: [], missing: [], added: [] });
  expect(describeComparison(comparison)).toBe('Every score is as in the baseline.');
});

it('says which score fell on which task, in the direction in which it counts', () => {
  const comparison = compareToBaseline(result(scores({ success: 0, tokens: 120, calls: 9, steps: 2 })), before);
  expect(comparison.holds).toBe(false);
  expect(describeComparison(comparison).split('\n')).toEqual([
    'worse: success of task two-hops (react) 1 → 0',
    'worse: tokens of task two-hops (react) 100 → 120',
    'better: steps of task two-hops (react) 3 → 2',
  ]);
});

it('lets a score be worse by its tolerance, as an amount or a share', () => {
  const worse = result(scores({ tokens: 110, steps: 4 }));
  expect(compareToBaseline(worse, before, { tokens: { share: 0.1 }, steps: 1 }).holds).toBe(true);
  expect(compareToBaseline(worse, before, { tokens: { share: 0.05 }, steps: 1 }).regressions.map(({ score }) => score)).toEqual(['tokens']);
  expect(compareToBaseline(worse, before, { tokens: 10 }).regressions.map(({ score }) => score)).toEqual(['steps']);
});

it('fails where a task of the baseline was not run, and only tells of one that is new', () => {
  const comparison = compareToBaseline(result(scores(), 'react', 'other'), before);
  expect(comparison.holds).toBe(false);
  expect(describeComparison(comparison)).toBe(
    'missing: task two-hops (react) stands in the baseline and was not run\nnew: task other (react) is not in the baseline',
  );
});

it('takes a score that does not apply any more for no regression', () => {
  const recovered = baselineOf(result(scores({ recovery: 1 })));
  expect(compareToBaseline(result(scores()), recovered).holds).toBe(true);
});

it('writes results side by side, with shares in percent, and why a trial failed; names cannot break the table', () => {
  const bad = scores({ success: 0, recall: 0.5, cost: 0.01234 });
  const failing: EvalResult = {
    name: 'a|b',
    tasks: [{ id: 't', tags: [], trials: [trial(bad, 'it ended failed,\nnot completed')], scores: bad }],
    scores: bad,
  };
  const text = evalMarkdown([result(scores()), failing], { scores: ['success', 'recall', 'cost', 'tokens'] });
  expect(text).toContain(
    '| result | success % | recall % | cost | tokens |\n| --- | ---: | ---: | ---: | ---: |\n| react | 100 |  |  | 100 |\n| a\\|b | 0 | 50 | 0.0123 | 100 |',
  );
  expect(text).toContain('## No success\n\n- a\\|b, t, trial 1: it ended failed, not completed');
  expect(evalMarkdown(result(scores()), { tasks: false }).split('\n').length).toBe(4);
});
