import assert from 'node:assert/strict';
// #region whole
import type { Model, RunEvent } from '@guardloop/core';
import { defineAgent, defineTool, GuardloopError, stream, withConcurrency, withFallback, withRetry, withTimeouts } from '@guardloop/core';
import { attempts, callTool, failWith, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

/** From the inside out: bounds on one attempt, a place in the queue for it, attempts, and another model when they are used up. */
const guarded = (model: Model): Model =>
  withRetry(withConcurrency(withTimeouts(model, { connectMs: 10_000, firstEventMs: 60_000, betweenEventsMs: 60_000 }), { limit: 8 }), {
    attempts: 3,
  });
const resilient = (first: Model, second: Model): Model => withFallback([guarded(first), guarded(second)]);

// #endregion

// #region adapters
import { anthropic } from '@guardloop/anthropic';
import { openai } from '@guardloop/openai';

const model = resilient(
  openai('gpt-5', { prices: { input: 1.25, cacheRead: 0.125, output: 10 } }), // for a million tokens, in any one currency
  anthropic('claude-opus-4-8', { prices: { input: 5, cacheRead: 0.5, cacheWrite: 6.25, output: 25 } }),
);

// #endregion

// #region run
import { run } from '@guardloop/core';

const desk = defineAgent({ name: 'desk', instructions: 'Be brief.', model, settings: { maxTokens: 2_000, reasoning: 'low' } });
const result = await run(desk, 'Hello?', {
  limits: { cost: 0.5, ms: 120_000 },
  settings: { metadata: { user: 'u-17' }, headers: { 'x-trace': 't-1' } }, // over the settings of every agent in this run
});
// #endregion
assert.equal(result.status === 'completed' && result.text, 'Hello.');
assert.ok((result.usage.cost ?? 0) > 0);

const down = new GuardloopError('MODEL_FAILED', 'Model small answered with status 503.', { isRetryable: true, details: { status: 503 } });

// #region watch
const warnings: string[] = [];
const watch = (event: RunEvent): void => {
  if (event.type === 'model.retry') console.log(`attempt ${event.attempt} failed; the next one is made in ${event.waitMs} ms`);
  if (event.type === 'model.warning') warnings.push(`${event.about}: ${event.message}`);
};
// #endregion
const small = scriptedModel([failWith(down)], { id: 'small' });
const large = scriptedModel([attempts(failWith(down), say('Good morning.'))], { id: 'large' });
const fallback = withFallback([small, withRetry(large, { baseMs: 1 })]);
const fallen = await stream(defineAgent({ name: 'host', instructions: '', model: fallback }), 'Hi.', { observers: [watch] });
assert.equal(fallen.status === 'completed' && fallen.text, 'Good morning.');
assert.deepEqual(warnings, [
  'fallback: Model small (scripted) failed (MODEL_FAILED, status 503); model large (scripted) is asked in its place.',
]);

// #region usage
import { usageBy } from '@guardloop/core';

const { total, byModel, byAgent } = usageBy(fallen.events); // of result.log: of every run of a session
// #endregion
assert.deepEqual(total, fallen.usage);
assert.equal(byModel.small?.requests, 1);
assert.equal(byModel.large?.requests, 2);
assert.equal(byAgent.host?.requests, 3);

// #region when
const cheapFirst = withFallback([small, large], {
  when: ({ details }, { next }) => details.status === 400 && next.id === 'large', // else the failure stands
});
// #endregion
const refused = await run(defineAgent({ name: 'host', instructions: '', model: cheapFirst }), 'Hi.');
assert.equal(refused.status === 'failed' && refused.error.details.status, 503);

const look = defineTool({ name: 'look', description: 'Look.', input: z.object({}), execute: () => 'nothing' });
const unpriced = scriptedModel([callTool('look'), say('never')]);
const costly = await run(defineAgent({ name: 'host', instructions: '', model: unpriced, tools: [look] }), 'Hi.', { limits: { cost: 1 } });
assert.equal(costly.status === 'failed' && costly.error.code, 'CONFIG_INVALID');
