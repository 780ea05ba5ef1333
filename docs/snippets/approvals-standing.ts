import assert from 'node:assert/strict';
import { auditLog } from '@guardloop/testing';

// #region standing

import { defineAgent, defineTool, memorySession, resume, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const credited: number[] = [];
const credit = defineTool({
  name: 'credit',
  description: 'Credit an order, in cents.',
  input: z.object({ orderId: z.string(), cents: z.number().int().positive() }),
  approval: true,
  execute: ({ cents }) => {
    credited.push(cents);
    return 'credited';
  },
});
const model = scriptedModel([
  callTool('credit', { orderId: 'o1', cents: 100 }),
  callTool('credit', { orderId: 'o1', cents: 250 }), // nobody is asked
  callTool('credit', { orderId: 'o2', cents: 100 }), // another order
  say('Done.'),
]);
const billing = defineAgent({ name: 'billing', instructions: 'Credit orders.', model, tools: [credit] });
const session = { store: memorySession(), id: 'chat-1' };

const paused = await run(billing, 'Credit o1 and o2.', { session });
if (paused.status !== 'interrupted') throw new Error(paused.status);
const id = paused.approvals[0]?.id ?? '';
const next = await resume(billing, session, {
  decisions: { [id]: { approve: 'standing', when: { orderId: 'o1' }, forMs: 60 * 60_000 } },
});
if (next.status !== 'interrupted') throw new Error(next.status);
console.log(credited, next.approvals[0]?.input); // [100, 250] { orderId: 'o2', cents: 100 }
// #endregion
assert.deepEqual(credited, [100, 250]);
assert.deepEqual(next.approvals[0]?.input, { orderId: 'o2', cents: 100 });
// #region log
const uses = next.log.events.flatMap((event) => (event.type === 'approval.resolve' && event.byStanding ? [event.byStanding] : []));
// #endregion
assert.deepEqual(uses, [id]);
assert.deepEqual(auditLog(next.log), []);
