import assert from 'node:assert/strict';
import { auditLog } from '@guardloop/testing';

// #region agents

import { allow, defineAgent, defineGuardrail, deny, handoff, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const noLegal = defineGuardrail({
  name: 'no-legal-cases',
  on: ['handoff', 'input'],
  check: ({ content }) => (/lawyer|sue you/i.test(content) ? deny('legal cases go to a person, not to billing') : allow()),
});
const billing = defineAgent({
  name: 'billing',
  description: 'Refunds and invoices.', // tells others when to hand over
  instructions: 'Handle refunds.',
  model: scriptedModel([say('Refunded.')]),
  guardrails: [noLegal],
});
const support = defineAgent({
  name: 'support',
  description: 'Everything technical.',
  instructions: 'Mend what is broken.',
  model: scriptedModel([say('Have you tried turning it off?')]),
  handoffs: ['triage'], // by name: the way back
});
const triage = defineAgent({
  name: 'triage',
  instructions: 'Route the customer.',
  model: scriptedModel([]),
  handoffs: [
    support,
    handoff(billing, {
      name: 'send_to_billing',
      input: z.object({ orderId: z.string(), wish: z.string() }),
      brief: ({ orderId, wish }) => `Order ${orderId}: ${wish}`,
      history: (messages) => messages.filter(({ role }) => role === 'user'),
    }),
  ],
});
// #endregion

const moved = await run(triage, 'I want my money back for o1.', {
  model: scriptedModel({ triage: [callTool('send_to_billing', { orderId: 'o1', wish: 'refund' })], billing: [say('Refunded.')] }),
});
assert.equal(moved.status === 'completed' && moved.agent, 'billing');
assert.deepEqual(auditLog(moved.log), []);

// #region refused
const model = scriptedModel((request) =>
  request.agent === 'triage' && request.turn === 1
    ? callTool('send_to_billing', { orderId: 'o1', wish: 'refund, or my lawyer will call' })
    : say(`It is ${request.agent} speaking.`),
);
const refused = await run(triage, 'Refund o1.', { model });
assert.equal(refused.agent, 'triage'); // the old agent stays, and was told why:
const told = model.requests[1]?.messages.find((message) => message.role === 'tool');
assert.deepEqual(JSON.parse(String(told?.content)), {
  status: 'denied',
  error_class: 'denied',
  summary: 'legal cases go to a person, not to billing',
  retryable: false,
});
// #endregion
assert.deepEqual(auditLog(refused.log), []);

// #region narrow
const result = await run(triage, 'Hello.', { model: scriptedModel([say('Hello. What is it about?')]) });
if (result.status === 'completed') {
  switch (
    result.agent // narrows result.output to that agent's type
  ) {
    case 'triage':
    case 'support':
    case 'billing':
      console.log(result.output);
  }
}
// #endregion
assert.equal(result.status, 'completed');
