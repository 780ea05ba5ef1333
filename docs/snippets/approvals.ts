import assert from 'node:assert/strict';
import { auditLog } from '@guardloop/testing';

// #region tool

import { allow, defineAgent, defineGuardrail, defineTool, deny, memorySession, resume, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const refunds: { readonly orderId: string; readonly cents: number; readonly key: string }[] = [];
const refundOrder = defineTool({
  name: 'refund_order',
  description: 'Refund one order, in cents.',
  input: z.object({ orderId: z.string(), cents: z.number().int().positive() }),
  flow: { effect: 'send', authority: ['orderId', 'cents'] },
  approval: ({ cents }) => cents > 5_000, // or `true`: always
  execute: ({ orderId, cents }, { idempotencyKey }) => {
    refunds.push({ orderId, cents, key: idempotencyKey });
    return { refundId: 'r1' };
  },
});
const limit = defineGuardrail({
  name: 'refund-limit',
  on: ['toolInput'],
  check: ({ raw }) => (Number(raw.cents) > 50_000 ? deny('refunds above 500.00 are not made here') : allow()),
});
// #endregion
// #region pause
const model = scriptedModel([callTool('refund_order', { orderId: 'o1', cents: 12_000 }), say('Done.')]); // stands for yours
const billing = defineAgent({ name: 'billing', instructions: 'Handle refunds.', model, tools: [refundOrder], guardrails: [limit] });
const sessions = memorySession();
const session = { store: sessions, id: 'chat-1' };

const paused = await run(billing, 'Refund order o1.', { session });
if (paused.status !== 'interrupted') throw new Error(`ended ${paused.status}`);
for (const approval of paused.approvals) {
  console.log(approval.id, approval.agentPath.join(' > '), approval.tool, approval.input, approval.reason);
}
// #endregion
assert.equal(refunds.length, 0);
const [approval] = paused.approvals;
assert.equal(approval?.reason, 'refund_order needs an approval');
// #region resume
const id = paused.approvals[0]?.id ?? '';
const done = await resume(billing, session, { decisions: { [id]: 'approve' } });
// #endregion
assert.equal(done.status, 'completed');
assert.deepEqual(refunds.splice(0), [{ orderId: 'o1', cents: 12_000, key: `${done.runId}/1.0` }]);
assert.equal(model.requests.length, 2); // the tool ran before the model was called again
assert.deepEqual(auditLog(done.log), []);

// Other decisions, each from the same bare log.
// #region decisions
const rejected = await resume(billing, paused.log, {
  decisions: { [id]: { decision: { reject: 'Not without the receipt.' }, by: 'anna@shop.example' } },
});
const edited = await resume(billing, paused.log, { decisions: { [id]: { edit: { orderId: 'o1', cents: 900 } } } });
const byHand = await resume(billing, paused.log, { decisions: { [id]: { result: { refundId: 'made in the bank' } } } });
// #endregion
assert.match(JSON.stringify(rejected.messages), /Not without the receipt/);
assert.deepEqual(
  refunds.map(({ cents }) => cents),
  [900],
);
assert.match(JSON.stringify(edited.messages), /"cents":900/);
assert.match(JSON.stringify(byHand.messages), /made in the bank/);
// #region edit-refused
const tooMuch = await resume(billing, paused.log, { decisions: { [id]: { edit: { orderId: 'o1', cents: 90_000 } } } });
// #endregion
assert.match(JSON.stringify(tooMuch.messages), /refunds above 500.00 are not made here/);
assert.equal(refunds.length, 1);
for (const each of [rejected, edited, byHand, tooMuch]) assert.deepEqual(auditLog(each.log), []);

// #region other-process
const stored = JSON.stringify(paused.log); // a database column, a queue, a file
const later = await resume(billing, JSON.parse(stored), { decisions: { [id]: 'approve' } });
// #endregion
assert.equal(later.status, 'completed');

// #region mismatch
await assert.rejects(
  resume(billing, session, { decisions: { [id]: 'approve' } }).result,
  /has ended completed: there is nothing to decide/,
);
await assert.rejects(resume(billing, paused.log, { decisions: { [id]: { edit: { orderId: 'o1' } } } }).result, /does not fit the schema/);
// #endregion
