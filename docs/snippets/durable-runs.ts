import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { auditLog } from '@guardloop/testing';

const folder = mkdtempSync(join(tmpdir(), 'guardloop-docs-'));
const file = join(folder, 'guardloop.db');

// #region agents
import { withContext } from '@guardloop/core';
import { durable, durableAgent } from '@guardloop/durable';
import { sqliteStore } from '@guardloop/store-sqlite';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const { defineAgent, defineTool } = withContext<{ readonly customer: string }>();
const refundOrder = defineTool({
  name: 'refund_order',
  description: 'Refund one order, in cents.',
  input: z.object({ orderId: z.string(), cents: z.number().int().positive() }),
  approval: ({ cents }) => cents > 5_000,
  execute: ({ orderId }, { context, idempotencyKey }) => `refunded ${orderId} to ${context.customer} (${idempotencyKey})`,
});
const model = scriptedModel([callTool('refund_order', { orderId: 'o1', cents: 12_000 }), say(['Your refund ', 'is on its way.'])]);
const billing = defineAgent({ name: 'billing', instructions: 'Handle refunds.', model, tools: [refundOrder] });

const store = sqliteStore({ file });
const runs = durable({
  store, // left out: the file guardloop.db
  agents: {
    billing: durableAgent(billing, {
      data: z.object({ customer: z.string() }),
      context: ({ data }) => ({ customer: data.customer }), // made anew in every process that takes the run up
    }),
  },
  onTrouble: ({ id, trouble }) => console.warn(id, trouble?.message), // a run does not get on: once, when that begins
  onError: (error) => console.warn(error), // what fails beside runs
});
// #endregion

// #region submit
const { created, run } = await runs.submit('billing', 'Refund order o1.', {
  id: 'refund-o1', // submitting it again submits nothing
  session: 'chat-7', // default: a session of its own
  owner: 'anna',
  tenant: 'shop',
  data: { customer: 'anna@shop.example' },
  limits: { turns: 10 },
});
// #endregion
assert.ok(created);
assert.equal(run.state, 'queued');

// #region worker
const worker = await runs.worker({ concurrency: 20 });
// #endregion

// #region result
const asked = await runs.result('refund-o1'); // when it has ended, or waits for people
if (asked.status !== 'interrupted') throw new Error(asked.status);
// #endregion

// #region decide
const { items } = await runs.approvals.list({ state: 'open', tenant: 'shop' });
const [approval] = items;
if (approval === undefined) throw new Error('nobody is asked');
const outcome = await runs.approvals.decide(approval.id, 'approve', { by: 'berta@shop.example', digest: approval.approval.digest });
if (outcome.status === 'already') console.log(`${outcome.approval.decidedBy} was faster`);
// #endregion
assert.equal(outcome.status, 'recorded');

const done = await runs.result('refund-o1', { until: 'end', waitMs: 60_000 });
assert.equal(done.status, 'completed');
assert.deepEqual('log' in done ? auditLog(done.log) : undefined, []);

// #region events
import { durableClient } from '@guardloop/durable';

const client = durableClient({ store: sqliteStore({ file }) }); // another process: it needs no agents
let text = '';
let last: string | undefined;
for await (const { number, event } of client.events('refund-o1', { after: last })) {
  if (event.type === 'text.delta') text += event.text;
  if (event.type === 'text.retract') text = text.slice(0, text.length - event.chars);
  last = number; // whoever comes back with it gets what follows, and nothing twice
}
// #endregion
assert.equal(text, 'Your refund is on its way.');

// #region cancel
const cancelled = await client.cancel('refund-o1', { reason: 'the customer called' });
console.log(cancelled.status); // 'ended': it had ended before
// #endregion
assert.equal(cancelled.status, 'ended');

// #region queues
const fleet = durable({
  store,
  agents: { billing: durableAgent(billing, { context: () => ({ customer: 'nobody' }) }) },
  queues: { default: { tenantConcurrency: 5 }, nightly: { concurrency: 2 } },
});
await fleet.submit('billing', 'Look over the week.', { queue: 'nightly', priority: 200, at: new Date('2027-01-04T02:00:00Z') });
await fleet.submit('billing', 'Later, please.', { delayMs: 60_000 });
// #endregion

// #region reminders
const reminded: string[] = [];
const patient = durable({
  store,
  agents: { billing: durableAgent(billing, { context: () => ({ customer: 'nobody' }) }) },
  approvals: {
    remindAfterMs: 4 * 60 * 60_000, // after the question, and after each reminder
    onReminder: ({ id }) => reminded.push(`${id} still waits`),
    expireAfterMs: 3 * 24 * 60 * 60_000,
    atExpiry: { reject: 'Nobody has decided in three days.' }, // or 'cancel'
  },
});
// #endregion

// #region trouble
const info = await client.status('refund-o1');
if (info?.trouble) console.log(info.trouble.message, info.trouble.choices);
// #endregion

// #region stop
await worker.stop({ graceMs: 10_000 });
await runs.close();
// #endregion
await fleet.close();
await patient.close();
await client.store.close();
await client.close();
await store.close();
rmSync(folder, { recursive: true, force: true });
