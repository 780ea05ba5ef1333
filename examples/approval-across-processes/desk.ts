// What the processes share: the agent, and the file that everything is in.
import { appendFileSync } from 'node:fs';
import { defineAgent, defineTool } from '@guardloop/core';
import type { Store } from '@guardloop/store';
import { sqliteStore } from '@guardloop/store-sqlite';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const [, , folder = '.'] = process.argv;
export const openStore = (): Store => sqliteStore({ file: `${folder}/guardloop.db` });

const refundOrder = defineTool({
  name: 'refund_order',
  description: 'Refund one order, in cents.',
  input: z.object({ orderId: z.string(), cents: z.number().int().positive() }),
  flow: { effect: 'send', authority: ['orderId', 'cents'] },
  approval: ({ cents }) => cents > 5_000,
  execute: ({ orderId, cents }, { idempotencyKey }) => {
    appendFileSync(`${folder}/ledger.txt`, `${idempotencyKey} ${orderId} ${cents}\n`);
    return { refunded: cents };
  },
});
const model = scriptedModel([callTool('refund_order', { orderId: 'o1', cents: 12_000 }), say('Your refund is on its way.')]); // stands for yours
export const billing = defineAgent({ name: 'billing', instructions: 'Handle refunds.', model, tools: [refundOrder] });
