import { afterEach, beforeEach, describe, expect } from 'vitest';
import { testModelAborts } from './model-aborts.js';
import { testModelAnswers } from './model-answers.js';
import type { ModelBench } from './model-bench.js';
import { testModelFailures } from './model-failures.js';
import { testModelHistories } from './model-histories.js';
import { testModelNames } from './model-names.js';
import { testModelRounds } from './model-rounds.js';
import { testModelSettings } from './model-settings.js';

/**
 * The suite that every model adapter runs: the contract of `Model` against a fake provider. Call it at the top level of a vitest file.
 *
 * `setup` is called before each test; the bench it gives is closed after it. Whatever a test does, every request that left must pass the
 * bench's strict checker.
 *
 * ```ts
 * modelConformance('my adapter', () => httpBench({ model, stream, check, toolNames }));
 * ```
 */
export function modelConformance(name: string, setup: () => Promise<ModelBench>): void {
  describe(`${name} is a model`, () => {
    let bench: ModelBench;
    beforeEach(async () => {
      bench = await setup();
    });
    afterEach(async () => {
      await bench.close();
      for (const request of bench.requests) expect(bench.check(request), 'what the strict checker says about a request').toEqual([]);
    });
    const use = (): ModelBench => bench;
    describe('answers', () => testModelAnswers(use));
    describe('rounds', () => testModelRounds(use));
    describe('names and ids', () => testModelNames(use));
    describe('histories', () => testModelHistories(use));
    describe('settings', () => testModelSettings(use));
    describe('failures', () => testModelFailures(use));
    describe('aborts', () => testModelAborts(use));
  });
}
