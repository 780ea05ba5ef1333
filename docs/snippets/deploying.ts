import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { defineAgent, defineTool } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const folder = mkdtempSync(`${tmpdir()}/guardloop-docs-`);
const refundOrder = defineTool({
  name: 'refund_order',
  description: 'Refunds an order.',
  input: z.object({ orderId: z.string() }),
  approval: true,
  execute: ({ orderId }) => `refunded ${orderId}`,
});
const model = scriptedModel([callTool('refund_order', { orderId: 'o1' }), say('Done.')]);
const desk = defineAgent({ name: 'desk', instructions: 'Help.', model, tools: [refundOrder] });

// #region one-process
import { join } from 'node:path';
import { durable } from '@guardloop/durable';
import { sqliteStore } from '@guardloop/store-sqlite';

const runs = durable({
  store: sqliteStore({ file: join(folder, 'guardloop.db') }),
  agents: { desk },
  onTrouble: ({ id, trouble }) => console.warn(`${id}: ${trouble?.message}`), // your alarm
  onError: (error) => console.warn(error),
});
const worker = await runs.worker({ concurrency: 20 });

const { run } = await runs.submit('desk', 'Refund order o1.', { id: 'order-o1', owner: 'ann' });
const waiting = await runs.result(run.id); // when it has ended, or waits for people
// #endregion
if (waiting.status !== 'interrupted') throw new Error(waiting.status);

// #region many-machines
import { postgresStore } from '@guardloop/store-postgres';

export function onManyMachines(connectionString: string) {
  return durable({
    store: postgresStore({ connectionString }),
    agents: { desk },
    queues: { default: { concurrency: 200, tenantConcurrency: 10 } }, // over all machines
  });
}
// #endregion

// #region before-removing
// While the old workers still run: a page at a time, and questions that come meanwhile, until none is left.
for (;;) {
  const open = await runs.approvals.list({ tool: 'refund_order', state: 'open' });
  for (const { id } of open.items) await runs.approvals.decide(id, { reject: 'Refunds are made by hand from today.' }, { by: 'deploy' });
  const decided = await runs.approvals.list({ tool: 'refund_order', state: 'decided', limit: 1 });
  if (open.items.length === 0 && decided.items.length === 0) break;
  await new Promise((resolve) => setTimeout(resolve, 100));
}
// #endregion
const done = await runs.result(run.id, { until: 'end' });
if (done.status !== 'completed') throw new Error(done.status);

// #region stopping
async function stop() {
  await worker.stop({ graceMs: 20_000 });
  await runs.close();
  await runs.store.close();
}
process.once('SIGTERM', stop);
// #endregion
process.removeListener('SIGTERM', stop);
await stop();
