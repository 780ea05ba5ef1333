import { defineAgent, defineTool, run } from '@guardloop/core';
import { z } from 'zod';
import { interleave } from '../measure.js';
import type { Row } from '../row.js';
import { atMost } from '../row.js';
import { callingModel, passAll } from '../world.js';

const megabytes = 5;

function runWith(text: string): () => Promise<void> {
  let calls = 0;
  const work = defineTool({
    name: 'work',
    description: 'Gives a long text first.',
    input: z.object({ i: z.number(), j: z.number() }),
    execute: () => (calls++ % 3 === 0 ? text : 'ok'),
  });
  const agent = defineAgent({
    name: 'worker',
    instructions: 'Work.',
    model: callingModel({ turns: 3, calls: 1 }),
    tools: [work],
    guardrails: [passAll],
  });
  return async () => {
    const result = await run(agent, 'go');
    if (result.status !== 'completed') throw new Error(`The run ended ${result.status}.`);
    const size = JSON.stringify(result.log).length;
    if (size > 200_000) throw new Error(`The log holds ${size} characters: the cap did not hold.`);
  };
}

/** What a result of 5 MB costs more than a short one, guarded, under the default cap. */
export async function measureBigResult(): Promise<readonly Row[]> {
  const big = 'lorem ipsum "dolor" \n'.repeat(Math.ceil((megabytes * 1_000_000) / 21));
  const found = await interleave({ big: runWith(big), small: runWith('ok') }, { batchMs: 20 });
  return [
    { what: 'a 5 MB text result, under the default cap: CPU more', unit: 'ms', ours: (found.big - found.small) / 1_000, target: atMost(5) },
  ];
}
