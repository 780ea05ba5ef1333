// A policy that is a file, not code: who answers for refunds can read and change it. What it says is shown before it is used.
import assert from 'node:assert/strict';
import { defineTool, run, withContext } from '@guardloop/core';
import { explainPolicy, policyFrom } from '@guardloop/guardrails';
import { cel } from '@guardloop/guardrails/cel';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

// In your project: readFile('refunds.policy.yaml', 'utf8').
const file = `
name: refunds
rules:
  - tool: find_*
    then: allow

  - name: own orders only
    tool: refund_order
    when: { not: { field: customer, equals: { context: customer } } }
    then: deny
    reason: this customer has no such order

  - name: small
    tool: refund_order
    when: { cel: "input.cents <= 2000 && labels.view == 'trusted'" }
    spend: { field: cents, atMost: 3000, per: run, over: ask }
    then: allow

  - tool: refund_order
    then: ask
    reason: refunds above 20.00, or after something untrusted was read, need a person
otherwise: deny
`;

interface Desk {
  readonly customer: string;
  readonly token: string;
}
const { defineAgent } = withContext<Desk>();
// Rules see what is picked here: not the token.
const policy = policyFrom(file, { cel, context: ({ customer }: Desk) => ({ customer }) });

const paid: number[] = [];
const refundOrder = defineTool({
  name: 'refund_order',
  description: 'Refunds an order, in cents.',
  input: z.object({ customer: z.string(), cents: z.number().int().positive() }),
  flow: { effect: 'send', results: 'trusted' },
  execute: ({ cents }) => {
    paid.push(cents);
    return { refunded: cents };
  },
});
const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order.',
  input: z.object({ id: z.string() }),
  flow: { effect: 'read', results: 'trusted' },
  execute: ({ id }) => ({ id, cents: 2_000 }),
});

const context: Desk = { customer: 'anna', token: 'not for rules' };
const explain = (input: object): string => {
  const { text, by } = explainPolicy(policy, { tool: 'refund_order', input, context });
  console.log(`${text}\n`);
  return by;
};
assert.equal(explain({ customer: 'anna', cents: 2_000 }), 'rules[2]');
assert.equal(explain({ customer: 'bert', cents: 1 }), 'rules[1]');
assert.equal(explain({ cents: 1 }), 'rules[1]'); // whose order it is, is not known: that loosens nothing

const agent = defineAgent({
  name: 'desk',
  instructions: 'Refund.',
  model: scriptedModel([
    callTool('find_order', { id: 'o1' }),
    [callTool('refund_order', { customer: 'bert', cents: 500 }), callTool('refund_order', { customer: 'anna', cents: 2_000 })],
    callTool('refund_order', { customer: 'anna', cents: 1_500 }), // together 35.00
    say('Done.'),
  ]),
  tools: [findOrder, refundOrder],
  guardrails: [policy],
});
const result = await run(agent, 'Refund my orders.', { context });
assert.equal(result.status, 'interrupted');
const reason = result.status === 'interrupted' ? result.approvals[0]?.reason : undefined;
console.log(`The run waits for a person: ${reason}`);
assert.equal(reason, 'Rule small of policy refunds: there may be at most 3000 of `cents` in one run.');
assert.deepEqual(paid, [2_000]);
assert.deepEqual(auditLog(result.log), []);

// A mistake in the file is found when it is read, with its place.
assert.throws(
  () => policyFrom(file.replace('cents, atMost', 'cents, atmost'), { cel, context: () => ({}) }),
  /rules\[2\]\.spend: unknown part of a spend atmost; did you mean atMost\?/,
);
