// A run went wrong: find out where, and what would have been. Nothing that it did happens again.
import assert from 'node:assert/strict';
import type { Log } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineTool, deny, fork, replay, run } from '@guardloop/core';
import { diffRuns, printDiff } from '@guardloop/evals';
import { printSteps } from '@guardloop/reasoning';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const refunds: string[] = [];
const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order.',
  input: z.object({ orderId: z.string() }),
  flow: { effect: 'read' },
  execute: ({ orderId }) => ({ orderId, paidCents: 4_500 }),
});
const refund = defineTool({
  name: 'refund',
  description: 'Refunds an order, in cents.',
  input: z.object({ orderId: z.string(), cents: z.number() }),
  flow: { effect: 'send' },
  execute: ({ orderId, cents }, { idempotencyKey }) => {
    refunds.push(`${idempotencyKey}: ${cents} for ${orderId}`);
    return 'refunded';
  },
});
const agentOf = (script: Parameters<typeof scriptedModel>[0]) =>
  defineAgent({ name: 'desk', instructions: 'Handle refunds.', model: scriptedModel(script), tools: [findOrder, refund] });

const careless = agentOf([
  callTool('find_order', { orderId: 'o1' }),
  callTool('refund', { orderId: 'o1', cents: 45_000 }), // ten times what was paid
  say('You get 450.00 back.'),
]);
const result = await run(careless, 'Refund order o1.', { runId: 'chat-17' });
const log = JSON.parse(JSON.stringify(result.log)) as Log; // as it comes out of a store
console.log(printSteps(log));

// How did it stand when the refund was made?
const [atRefund] = [...replay(log)].filter(({ event }) => event.type === 'tool.start' && event.tool === 'refund');
assert.ok(atRefund);
console.log(
  `\nAt event ${atRefund.event.seq}: turn ${atRefund.run.turn}, ${atRefund.run.left.turns} turns left, open: ${JSON.stringify(atRefund.run.calls)}`,
);
assert.equal(atRefund.run.calls[0]?.phase, 'started');

// Would a guardrail have held it? The same model, from the same place, with the guardrail.
const noMoreThanPaid = defineGuardrail({
  name: 'no-more-than-paid',
  on: ['toolInput'],
  tools: ['refund'],
  check: ({ raw }) => (Number(raw.cents) <= 4_500 ? allow() : deny('more than was paid for the order')),
});
const guarded = await fork(careless, log, { at: { turn: 2 }, guardrails: [noMoreThanPaid], runId: 'fork-1' });
assert.deepEqual(auditLog(guarded.log), []);
assert.equal(refunds.length, 1); // the careless one; the fork made none
console.log(`\n${printDiff(diffRuns(log, guarded.log))}`);

// Would another model have got it right?
const careful = agentOf([[], callTool('refund', { orderId: 'o1', cents: 4_500 }), say('You get 45.00 back.')]);
const right = await fork(careful, log, { at: { turn: 2 }, runId: 'fork-2' });
const diff = diffRuns(log, right.log);
console.log(`\n${printDiff(diff)}`);
assert.equal(diff.first?.turn, 2);
assert.deepEqual(diff.answers[0]?.b, { status: 'completed', text: 'You get 45.00 back.' });
// Its refund has a key of its own: no service takes it for the one that was made.
assert.deepEqual(refunds, ['chat-17/2.0: 45000 for o1', 'fork-2/2.0: 4500 for o1']);
