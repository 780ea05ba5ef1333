import assert from 'node:assert/strict';
import { defineAgent, defineTool } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const model = scriptedModel({
  desk: [callTool('refund_order', { orderId: 'o1', cents: '12000' }), say('I guarantee it comes back within two days.')],
});
const refundOrder = defineTool({
  name: 'refund_order',
  description: 'Refund one order.',
  input: z.object({ orderId: z.string(), cents: z.string().transform(Number) }),
  flow: { effect: 'send' },
  execute: () => 'refunded',
});
const desk = defineAgent({ name: 'desk', instructions: '', model, tools: [refundOrder] });

// #region shadow

import { allow, defineGuardrail, deny, memorySession, run } from '@guardloop/core';

const noPromises = (stage: 'shadow' | 'obeyed') =>
  defineGuardrail({
    name: 'no-promises',
    version: '1',
    on: ['output'],
    shadow: stage === 'shadow',
    check: ({ content }) => (/guarantee/i.test(content) ? deny('no promises about delivery') : allow()),
  });
const session = { store: memorySession(), id: 'chat-1' };
const result = await run(desk, 'Where is my money?', { session, guardrails: [noPromises('shadow')] });
// #endregion
assert.equal(result.status, 'completed');

// #region told
const told = result.events.flatMap((event) =>
  event.type === 'guard.verdict' && event.shadow && event.action !== 'allow'
    ? [`${event.guardrail}: ${event.action}, ${event.reason}`]
    : [],
);
// [ 'no-promises: deny, no promises about delivery' ]
// #endregion
assert.deepEqual(told, ['no-promises: deny, no promises about delivery']);

// #region compare
import { compareVerdicts, comparisonMarkdown, definePolicy } from '@guardloop/core';

const logs = [result.log]; // or what you have kept: `{ version: 1, events: await store.load(id) }` is one, too
const policy = definePolicy({
  name: 'refunds',
  rules: [{ tool: refundOrder, when: ({ cents }) => cents > 5_000, then: 'ask' }],
  otherwise: 'allow',
});
const comparison = await compareVerdicts(logs, { run: [noPromises('obeyed')], agents: { desk: [policy] } }, { agent: desk });

for (const { divergence } of comparison.runs) {
  if (divergence) console.log(`${divergence.run}: ${divergence.surface} of ${divergence.tool} would be ${divergence.replayed.action}`);
}
console.log(comparisonMarkdown(comparison));
// #endregion
assert.deepEqual(comparison.changes, { 'allow → ask': 1, 'allow → deny': 1 });
assert.equal(comparison.runs[0]?.divergence?.tool, 'refund_order');

// #region beside
const beside = await compareVerdicts(logs, [noPromises('obeyed')], {
  recorded: 'kept', // beside all that stood, after them
  expected: (subject, { surface }) => (surface !== 'output' ? undefined : subject.content.includes('guarantee') ? 'deny' : 'allow'),
});
console.log(beside.expectations?.replayed.precision, beside.expectations?.replayed.recall);
// #endregion
assert.deepEqual(beside.expectations?.replayed, { caught: 1, missed: 0, wrong: 0, passed: 0, precision: 1, recall: 1 });
