import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { auditLog } from '@guardloop/testing';

const folder = mkdtempSync(join(tmpdir(), 'guardloop-docs-'));
process.env.DESK_FILE = join(folder, 'desk.db');

// #region program
import { defineAgent, defineTool, resume, run } from '@guardloop/core';
import { sqliteStore } from '@guardloop/store-sqlite';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const refund = defineTool({
  name: 'refund',
  description: 'Refund an order.',
  input: z.object({ orderId: z.string() }),
  flow: { effect: 'send' },
  approval: true,
  execute: ({ orderId }) => `refunded ${orderId}`,
});
const model = scriptedModel([callTool('refund', { orderId: 'o1' }), say('It is refunded.')]); // stands for openai('gpt-5')
const desk = defineAgent({ name: 'desk', instructions: 'Handle refunds.', model, tools: [refund] });

/** Goes on where a question is open, and begins where none is. */
async function start() {
  const store = sqliteStore({ file: process.env.DESK_FILE ?? 'desk.db' });
  const [asked] = (await store.approvals.list({ state: 'open', limit: 1 })).items;
  const result =
    asked === undefined
      ? await run(desk, 'Refund order o1.', { session: { store, id: 'chat-1' } })
      : // A person has looked at asked.approval, and said yes.
        await resume(desk, { store, id: asked.session }, { decisions: { [asked.id]: { decision: 'approve', by: 'sue' } } });
  await store.close();
  return result;
}
const result = await start();
console.log(result.status); // interrupted; started again, days later: completed
// #endregion
assert.equal(result.status, 'interrupted');
const later = await start();
assert.equal(later.status === 'completed' && later.text, 'It is refunded.');
assert.deepEqual(auditLog(later.log), []);
const store = sqliteStore({ file: process.env.DESK_FILE });
assert.deepEqual(
  (await store.approvals.list()).items.map(({ state, decidedBy }) => [state, decidedBy]),
  [['resolved', 'sue']],
);
await store.close();
delete process.env.DESK_FILE;
rmSync(folder, { recursive: true });
