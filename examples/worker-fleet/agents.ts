// What every worker of the fleet knows: the agent, and a tool that writes its effect into a file, by its idempotency key.
import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { withContext } from '@guardloop/core';
import { durableAgent } from '@guardloop/durable';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const { defineAgent, defineTool } = withContext<{ readonly ledger: string; readonly worker: string }>();

const printLabel = defineTool({
  name: 'print_label',
  description: 'Prints the label of a parcel.',
  input: z.object({ parcel: z.string() }),
  // The printer knows the key: the same label is printed once, however often it is asked for.
  repeatable: true,
  execute: async ({ parcel }, { context, idempotencyKey }) => {
    await delay(150);
    appendFileSync(context.ledger, `${JSON.stringify({ parcel, key: idempotencyKey, worker: context.worker })}\n`);
    return `label of ${parcel} is printed`;
  },
});

// Stands for yours: it answers by what the run has seen, so every process gets the same.
const model = scriptedModel(({ messages, turn }) => {
  const [first] = messages;
  const parcel = first?.role === 'user' && first.parts[0]?.type === 'text' ? first.parts[0].text : '';
  return turn === 1 ? callTool('print_label', { parcel }) : say(`${parcel} is ready.`);
});
const packer = defineAgent({ name: 'packer', instructions: 'Get parcels ready.', model, tools: [printLabel] });

export const agents = {
  packer: durableAgent(packer, {
    data: z.object({ ledger: z.string() }),
    context: ({ data, worker }) => ({ ledger: data.ledger, worker }),
  }),
};
