// A supervisor: one agent has the others as tools. It stays in charge, each piece of work is a run within its run, and all share its limits.
import assert from 'node:assert/strict';
import { allow, assertCompleted, asTool, defineAgent, defineGuardrail, defineTool, deny, resume, run, usageBy } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order.',
  input: z.object({ orderId: z.string() }),
  flow: { effect: 'read' },
  execute: ({ orderId }) => ({ orderId, status: 'lost', cents: 4_000 }),
});
const refund = defineTool({
  name: 'refund',
  description: 'Pays money back.',
  input: z.object({ orderId: z.string(), cents: z.number() }),
  flow: { effect: 'write', authority: ['cents'] },
  approval: ({ cents }) => cents > 2_000,
  execute: ({ cents }) => `Paid back ${cents / 100} euro.`,
});

const model = scriptedModel({
  supervisor: [
    // Two pieces of work at the same time, then one that needs both.
    [callTool('ask_tracker', { input: 'What became of order o1?' }), callTool('ask_writer', { input: 'Say sorry.' })],
    callTool('ask_cashier', { input: 'Pay back order o1, 4000 cents: it is lost.' }),
    say('Your order was lost. We are sorry, and have paid back 40 euro.'),
  ],
  tracker: [callTool('find_order', { orderId: 'o1' }), say('Order o1 is lost; it cost 4000 cents.')],
  writer: [say('We promise it by Friday.'), say('We are sorry.')], // the first is not for us to say, and is tried again
  cashier: [callTool('refund', { orderId: 'o1', cents: 4_000 }), say('40 euro were paid back.')],
});
const noPromises = defineGuardrail({
  name: 'no-promises',
  on: ['output'],
  check: ({ content }) => (/promise/i.test(content) ? deny('promise nothing') : allow()),
});
const tracker = defineAgent({ name: 'tracker', instructions: 'Find out what became of orders.', model, tools: [findOrder] });
const writer = defineAgent({ name: 'writer', instructions: 'Write to customers.', model });
const cashier = defineAgent({ name: 'cashier', instructions: 'Pay money back.', model, tools: [refund] });
const supervisor = defineAgent({
  name: 'supervisor',
  instructions: 'Have the others do the work, then answer the customer.',
  model,
  tools: [
    asTool(tracker, { name: 'ask_tracker', description: 'Finds out about orders.', limits: { turns: 4 } }),
    asTool(writer, { name: 'ask_writer', description: 'Writes a sentence to the customer.', limits: { turns: 2 } }),
    asTool(cashier, { name: 'ask_cashier', description: 'Pays money back.', limits: { turns: 4 } }),
  ],
});

// The run's guardrail stands in every agent's run, and its limits hold for all of them together.
const options = { guardrails: [noPromises], limits: { turns: 4, toolCalls: 6 } };
const asked = await run(supervisor, 'Where is my order o1?', options);
assert.equal(asked.status, 'interrupted');
if (asked.status !== 'interrupted') throw new Error('a refund of 40 euro is for a person to decide');
const [approval] = asked.approvals;
console.log(`${approval?.agentPath.join(' > ')} asks for ${approval?.tool} ${JSON.stringify(approval?.input)}`);
assert.deepEqual(approval?.agentPath, ['supervisor', 'cashier']);

const result = await resume(supervisor, asked.log, { ...options, decisions: { [approval?.id ?? '']: 'approve' } });
assertCompleted(result);
console.log(result.text);

const runs = result.events.flatMap((event) => (event.type === 'run.start' && event.parent !== undefined ? [event.agent] : []));
assert.deepEqual(runs, ['tracker', 'writer', 'cashier']);
const denied = result.events.flatMap((event) => (event.type === 'guard.verdict' && event.action === 'deny' ? [event.agent] : []));
assert.deepEqual(denied, ['writer']);
for (const [agent, { requests }] of Object.entries(usageBy(result.log).byAgent)) console.log(`  ${agent}: ${requests} model calls`);
assert.deepEqual(auditLog(result.log), []);
