// One process of the benchmark: `node worker.js CONFIG-JSON`. Says `ready`. Durable: takes runs until it is killed. Else: waits for a line, does
// its runs with `run` over the store, and says `done MS`.
import { defineAgent, defineTool, run } from '@guardloop/core';
import { durable } from '@guardloop/durable';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';
import type { StoreAddress } from '../faults/child-config.js';
import { openStore } from '../faults/open-store.js';

export interface BenchConfig {
  readonly store: StoreAddress;
  readonly does: 'worker' | 'runs';
  readonly runs: number;
  /** Tools that a run calls, one a turn. */
  readonly tools: number;
  readonly atOnce: number;
  readonly name: string;
}

const { store: address, does, runs, tools, atOnce, name } = JSON.parse(process.argv[2] ?? '{}') as BenchConfig;
const book = defineTool({
  name: 'book',
  description: 'Books a step.',
  input: z.object({ step: z.number(), note: z.string() }),
  flow: { effect: 'write', authority: ['step'] },
  execute: ({ step }) => ({ booked: step }),
});
const model = scriptedModel(
  ({ turn }) =>
    turn > tools
      ? say('The order is paid back.')
      : [say('I book the next step.'), callTool('book', { step: turn, note: 'as agreed with the customer' })],
  { record: false },
);
const desk = defineAgent({ name: 'desk', instructions: 'You handle refunds.', model, tools: [book] });
const store = await openStore(address);
const options = { limits: { turns: tools + 2, repeats: 100 } };

if (does === 'worker') {
  await durable({ store, agents: { desk } }).worker({ concurrency: atOnce });
  process.stdout.write('ready\n');
} else {
  await store.now();
  process.stdout.write('ready\n');
  await new Promise((resolve) => process.stdin.once('data', resolve));
  const began = performance.now();
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < runs; index = next++) {
      const session = { store, id: `${name}-${index}` };
      const { status } = await run(desk, 'Pay the order o-4711 back, please.', { ...options, session });
      if (status !== 'completed') throw new Error(`a run ended ${status}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  process.stdout.write(`done ${performance.now() - began}\n`);
  process.exit(0);
}
