// A call waits for a person. The run stops, travels as JSON, and goes on somewhere else with the person's decision.
import assert from 'node:assert/strict';
import type { Decision, Log } from '@guardloop/core';
import { assertCompleted, defineAgent, defineTool, resume, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const paid: string[] = [];
const refundOrder = defineTool({
  name: 'refund_order',
  description: 'Refunds an order, in cents.',
  input: z.object({ orderId: z.string(), cents: z.number().int().positive() }),
  flow: { effect: 'send' },
  // Asked about the parsed input, after the guardrails. `true` would ask a person every time.
  approval: ({ cents }) => cents > 5_000,
  execute: ({ orderId, cents }, { idempotencyKey }) => {
    // The key is the same however often the run is resumed: hand it to your payment service.
    paid.push(`${orderId} ${cents}`);
    return { refunded: cents, key: idempotencyKey };
  },
});
const model = scriptedModel([
  callTool('refund_order', { orderId: 'o1', cents: 9_000 }),
  // The model answers by what it reads: the result, or why there is none.
  ({ messages }) => say(`Result: ${JSON.stringify(messages.at(-1)?.role === 'tool' ? messages.at(-1) : undefined)}`),
]);
const clerk = defineAgent({ name: 'clerk', instructions: 'Refund what is due.', model, tools: [refundOrder] });

/** Runs until a person is asked; gives what the person must see, and the run as a string to be stored. */
async function begin(): Promise<{ readonly approvalId: string; readonly stored: string }> {
  const result = await run(clerk, 'Please refund order o1.');
  assert.equal(result.status, 'interrupted');
  const [approval] = result.status === 'interrupted' ? result.approvals : [];
  assert.ok(approval?.surface === 'toolInput');
  console.log(`${approval.tool} ${JSON.stringify(approval.input)} waits: ${approval.reason}`);
  return { approvalId: approval.id, stored: JSON.stringify(result.log) };
}

/** In another process, a day later: the agent is built anew, the run comes from the store. */
async function decide(decision: Decision): Promise<string> {
  const { approvalId, stored } = await begin();
  paid.length = 0;
  const result = await resume(clerk, JSON.parse(stored) as Log, { decisions: { [approvalId]: decision } });
  assertCompleted(result);
  const end = result.events.findLast((event) => event.type === 'tool.end');
  const outcome = `${end?.type === 'tool.end' ? end.status : 'no end'}; paid: ${paid.join(', ') || 'nothing'}`;
  console.log(`  ${JSON.stringify(decision)} → ${outcome}`);
  return outcome;
}

assert.equal(await decide('approve'), 'ok; paid: o1 9000');
// What the person says is what the model reads.
assert.equal(await decide({ reject: 'Not this one.' }), 'rejected; paid: nothing');
// The person changes the input. Guardrails judge the edit like the model's own, and no second approval is needed.
assert.equal(await decide({ edit: { orderId: 'o1', cents: 6_000 } }), 'ok; paid: o1 6000');
// The person did it by hand: the tool does not run, the model reads this result.
assert.equal(await decide({ result: { refunded: 9_000, by: 'Grace' } }), 'ok; paid: nothing');
