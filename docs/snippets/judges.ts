import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ModelShare } from '@guardloop/core';
import { defineAgent, defineTool, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const judging = (answer: object) => scriptedModel(() => say(JSON.stringify(answer)), { id: 'small' });
const small = judging({ answer: 'yes' });
const spent: ModelShare[] = [];

// #region judge
import { judge } from '@guardloop/guardrails';

const noMedicalAdvice = judge({
  name: 'no-medical-advice',
  on: ['input'],
  model: small, // its own model, with `settings` of its own
  question: 'Does the text ask for advice about the health of one person?',
  reason: 'questions about health are for a doctor',
  reply: 'Please ask a doctor about that.',
  timeoutMs: 3_000,
  used: (share) => spent.push(share), // what it took: the run's usage does not hold it
});
// #endregion
const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([say('Hello.')]), guardrails: [noMedicalAdvice] });
const asked = await run(desk, 'How much aspirin may I take with my heart medicine?');
assert.equal(asked.status === 'blocked' && asked.reply, 'Please ask a doctor about that.');
assert.deepEqual(spent, [{ model: 'small', usage: { requests: 1, inputTokens: 10, outputTokens: 5 } }]);
assert.deepEqual(auditLog(asked.log), []);

// #region topic
import { topic } from '@guardloop/guardrails';

const onTopic = topic({ model: small, allowed: ['orders and deliveries', 'returns', 'garden tools'] });
const noPolitics = topic({ model: small, blocked: ['politics', 'religion'], name: 'no-politics', on: ['output'] });
// #endregion
const shop = defineAgent({ name: 'shop', instructions: '', model: scriptedModel([say('Hello.')]), guardrails: [onTopic] });
assert.equal((await run(shop, 'Where is my spade?')).status, 'completed');
assert.deepEqual(noPolitics.on, ['output']);

// #region test
const saysYes = scriptedModel(() => say('{"answer":"yes"}'));
const saysNonsense = scriptedModel(() => say('Sure! {"answer":"no"}'));
for (const [model, failed] of [
  [saysYes, undefined],
  [saysNonsense, true], // words around the verdict are no verdict: it refuses
] as const) {
  const guardrail = judge({ name: 'j', on: ['input'], model, question: 'Does the text ask for medical advice?' });
  const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('Hello.')]), guardrails: [guardrail] });
  const result = await run(agent, 'How much aspirin?');
  assert.equal(result.status === 'blocked' && result.failed, failed);
}
// #endregion

const comparing = scriptedModel((request) => {
  const text = JSON.stringify(request.messages);
  const [, id] = /begin observation (o\d+)/.exec(text) ?? [];
  return say(
    JSON.stringify(
      text.includes('not been sent') ? { verdict: 'contradicted', observations: [id] } : { verdict: 'supported', observations: [] },
    ),
  );
});

// #region grounded
import { grounded } from '@guardloop/guardrails';

const truthful = grounded({ model: comparing });
// #endregion
const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order.',
  input: z.object({ orderId: z.string() }),
  flow: { effect: 'read' },
  execute: ({ orderId }) => ({ orderId, status: 'sent' }),
});
const careless = scriptedModel([callTool('find_order', { orderId: 'o1' }), say('It has not been sent.'), say('It was sent.')]);
const corrected = await run(
  defineAgent({ name: 'a', instructions: '', model: careless, tools: [findOrder], guardrails: [truthful] }),
  'Where is o1?',
);
assert.equal(corrected.status === 'completed' && corrected.output, 'It was sent.');
assert.ok(careless.requests[2]?.note?.includes('the answer contradicts the result of find_order (call 1.0)'));

// #region test-others
const offTopic = topic({ model: scriptedModel([say('{"answer":"no"}')]), allowed: ['orders'] }); // no: not all of it is about orders
const poet = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('Hello.')]), guardrails: [offTopic] });
assert.equal((await run(poet, 'Write a poem.')).status, 'blocked');

const verdicts = [
  '{"verdict":"contradicted","observations":["o3"]}', // the third message: the result of find_order
  '{"verdict":"supported","observations":[]}',
];
const comparer = scriptedModel(() => say(verdicts.shift() ?? '')); // a function: each request of a judge is a turn 1
const mended = defineAgent({
  name: 'a',
  instructions: '',
  model: scriptedModel([callTool('find_order', { orderId: 'o1' }), say('It has not been sent.'), say('It was sent.')]),
  tools: [findOrder],
  guardrails: [grounded({ model: comparer })],
});
const second = await run(mended, 'Where is o1?');
assert.equal(second.status === 'completed' && second.output, 'It was sent.');
// #endregion

const server = createServer((request, response) => {
  request.resume().on('end', () => {
    const categories = { hate: false, violence: true };
    response.end(JSON.stringify({ results: [{ flagged: true, categories, category_scores: { hate: 0, violence: 0.8 } }] }));
  });
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
const apiKey = 'test';

// #region moderation
import { moderation } from '@guardloop/guardrails';

const moderated = moderation({
  apiKey,
  baseUrl, // default: https://api.openai.com/v1
  on: ['input'],
  categories: ['hate', 'violence'], // default: all
  thresholds: { violence: 0.5 }, // default: where the endpoint itself says so
  breaker: { failures: 5 },
});
// #endregion
const flagged = await run(
  defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('Hm.')]), guardrails: [moderated] }),
  'Something.',
);
server.close();
assert.equal(flagged.status === 'blocked' && flagged.reason, 'moderation found violence');
