// A worker of many small runs that wait for a person: `node waiting-child.js STORE-ADDRESS`. Says `ready` on stdout once it works.
import { defineAgent, defineTool } from '@guardloop/core';
import { durable } from '@guardloop/durable';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';
import type { StoreAddress } from './child-config.js';
import { openStore } from './open-store.js';

const address = JSON.parse(process.argv[2] ?? '{}') as StoreAddress;
const refund = defineTool({
  name: 'refund',
  description: 'Refunds an order.',
  input: z.object({ orderId: z.string(), cents: z.number() }),
  flow: { effect: 'write', authority: ['orderId', 'cents'] },
  approval: true,
  execute: ({ orderId }) => ({ refunded: orderId }),
});
const find = defineTool({
  name: 'find',
  description: 'Finds an order.',
  input: z.object({ orderId: z.string() }),
  flow: { effect: 'read' },
  execute: ({ orderId }) => ({ orderId, cents: 12_000, state: 'delivered', customer: 'c-17' }),
});
const model = scriptedModel(
  [
    callTool('find', { orderId: 'o-4711' }),
    [say('It was delivered broken, so I pay it back.'), callTool('refund', { orderId: 'o-4711', cents: 12_000 })],
    say('The refund of 120.00 for the order o-4711 is on its way.'),
  ],
  { record: false },
);
const desk = defineAgent({ name: 'desk', instructions: 'You handle refunds of a shop.', model, tools: [find, refund] });
const runs = durable({ store: await openStore(address), agents: { desk } });
await runs.worker({ concurrency: 16 });
process.stdout.write('ready\n');
