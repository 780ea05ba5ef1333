import type { Log } from '@guardloop/core';
import { defineAgent, run } from '@guardloop/core';
import { say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { diffRuns } from './diff-runs.js';
import {
  baselineOf,
  compareToBaseline,
  describeComparison,
  evalMarkdown,
  evaluate,
  evaluateLogs,
  printDiff,
  readBaseline,
} from './index.js';
import { scoreLog } from './score-log.js';

const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('Done.')]) });
const { log } = await run(agent, 'go');
const task = { id: 't', input: 'go' };
const kept = 'quartz-lantern';
/** What people give by mistake: a promise, a result for its log, JSON that was not parsed, a part of a log. */
const noLogs: readonly unknown[] = [
  undefined,
  null,
  kept,
  7,
  [],
  {},
  Promise.resolve(log),
  { log },
  { version: 1 },
  { version: 1, events: [null] },
  { version: 1, events: [{ type: 'model.end', text: kept }] },
  { version: 1, events: log.events.slice(1) },
  JSON.stringify(log),
];
const code = (wanted: string) => expect.objectContaining({ name: 'GuardloopError', code: wanted });
const thrownBy = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (thrown) {
    return thrown;
  }
};

describe('what is no log', () => {
  it.each(noLogs.map((given, index) => [index, given] as const))('is told as such by whatever reads one (%i)', (_index, given) => {
    const wrong = given as Log;
    for (const read of [
      () => scoreLog(task, wrong),
      () => evaluateLogs('x', [{ task, log: wrong }]),
      () => diffRuns(wrong, log),
      () => diffRuns(log, wrong),
    ]) {
      const thrown = thrownBy(read);
      expect(thrown).toEqual(code('LOG_INVALID'));
      expect(String(thrown)).not.toContain(kept);
    }
  });

  it('names the side on which it stands', () => {
    expect(() => diffRuns(log, undefined as unknown as Log)).toThrow(/`b`/);
    expect(() => diffRuns(undefined as unknown as Log, log)).toThrow(/`a`/);
  });
});

describe('what is no task, result, baseline, comparison or difference', () => {
  const wrong = [undefined, null, 7, 'x', [undefined], { name: 'x' }, Promise.resolve({})] as unknown as readonly never[];
  const result = evaluateLogs('x', [{ task, log }]);

  it('is CONFIG_INVALID, whatever takes it', () => {
    for (const given of wrong)
      for (const take of [
        () => scoreLog(given, log),
        () => evaluateLogs('x', given),
        () => evaluateLogs('x', [given]),
        () => baselineOf(given),
        () => evalMarkdown(given),
        () => compareToBaseline(given, baselineOf(result)),
        () => compareToBaseline(result, given),
        () => describeComparison(given),
        () => printDiff(given),
      ])
        expect(thrownBy(take)).toEqual(code('CONFIG_INVALID'));
  });

  it('options that cannot be are CONFIG_INVALID too', async () => {
    const base = baselineOf(result);
    for (const tolerance of [Number.NaN, -1, '1', {}, { share: Number.NaN }, null])
      expect(() => compareToBaseline(result, base, { success: tolerance as number })).toThrow(code('CONFIG_INVALID'));
    expect(() => compareToBaseline(result, base, { sucess: 1 } as object)).toThrow(/success/);
    expect(() => evalMarkdown(result, { scores: ['sucess'] as never })).toThrow(/success/);
    expect(() => evalMarkdown(result, { score: ['success'] } as object)).toThrow(/scores/);
    for (const options of [{ checks: { t: true } }, { checks: [] }, { name: '' }, { name: 7 }, { seed: 0.5 }, { onTrial: 'x' }])
      await expect(evaluate({ tasks: [task], agent, ...(options as object) })).rejects.toEqual(code('CONFIG_INVALID'));
    await expect(evaluate({ tasks: [{ ...task, id: '__proto__' }], agent })).rejects.toEqual(code('CONFIG_INVALID'));
  });
});

describe('tasks and results with names that every object has', () => {
  const names = ['constructor', 'toString', 'hasOwnProperty', 'valueOf', 'isPrototypeOf', '__defineGetter__'];
  it('have the checks and baselines that were given to them, and no others', async () => {
    const tasks = names.map((id) => ({ id, input: 'go' }));
    const result = await evaluate({ tasks, agent, name: 'constructor', checks: { valueOf: () => false } });
    expect(result.tasks.map(({ scores }) => scores.success)).toEqual(names.map((name) => (name === 'valueOf' ? 0 : 1)));
    const empty = compareToBaseline(result, { version: 1, results: {} });
    expect(empty.added.map(({ task: id }) => id)).toEqual(names);
    const before = readBaseline(JSON.parse(JSON.stringify(baselineOf(result))));
    expect(compareToBaseline(result, before)).toMatchObject({ holds: true, added: [], missing: [] });
  });

  it('an answer that lacks an expected field does not have it from its prototype', () => {
    const equals = JSON.parse('{"__proto__":{}}') as object;
    const scored = scoreLog({ ...task, answer: { equals: { a: 1, ...equals } } }, log);
    expect(scored.scores.success).toBe(0);
  });
});
