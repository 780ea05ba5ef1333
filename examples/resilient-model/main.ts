// Retries, a fallback, timeouts and a queue are models around models: the loop and its guardrails stay as they are.
import assert from 'node:assert/strict';
import type { Model } from '@guardloop/core';
import {
  allow,
  defineAgent,
  defineGuardrail,
  deny,
  GuardloopError,
  stream,
  usageBy,
  withConcurrency,
  withFallback,
  withRetry,
  withTimeouts,
} from '@guardloop/core';
import { attempts, failWith, say, scriptedModel, wait } from '@guardloop/testing';

const busy = (status: number): GuardloopError =>
  new GuardloopError('MODEL_FAILED', `The provider answered with status ${status}.`, { isRetryable: true, details: { status } });

// The first model hangs, then is overloaded. The second is overloaded once, and then answers, but not as it should: it is asked again.
const first = scriptedModel(attempts([wait(60_000), say('too late')], failWith(busy(529))), { id: 'first' });
const second = scriptedModel([attempts(failWith(busy(503)), say('Your PIN is 1234.')), say('I cannot tell you that.')], { id: 'second' });

const guarded = (model: Model): Model =>
  withRetry(withConcurrency(withTimeouts(model, { firstEventMs: 50 }), { limit: 4 }), { attempts: 2, baseMs: 5 });
const model = withFallback([guarded(first), guarded(second)]);

const noPins = defineGuardrail({
  name: 'no-pins',
  on: ['output'],
  check: ({ content }) => (/\bPIN is \d/.test(content) ? deny('PINs are never told') : allow()),
});
const desk = defineAgent({ name: 'desk', instructions: 'Answer customers of the bank.', model, guardrails: [noPins] });

const told: string[] = [];
let shown = '';
const events = stream(desk, 'What is my PIN?');
for await (const event of events) {
  if (event.type === 'model.retry') told.push(`retry ${event.attempt}`);
  if (event.type === 'model.warning') told.push(event.about);
  if (event.type === 'text.delta') shown += event.text;
}
const result = await events.result;
console.log(told.join(', '));
console.log(shown);

assert.equal(result.status === 'completed' && result.output, 'I cannot tell you that.');
assert.equal(shown, 'I cannot tell you that.');
// Turn 1: two attempts at the first model, two at the second. Turn 2, after the refusal: the first is still down, the second answers.
assert.deepEqual(told, ['retry 1', 'fallback', 'retry 1', 'retry 1', 'fallback']);
const { total, byModel } = usageBy(result.events);
assert.deepEqual(total, result.usage);
assert.deepEqual([byModel.first?.requests, byModel.second?.requests], [4, 3]);
