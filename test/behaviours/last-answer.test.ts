// The one last answer under `onLimit: 'finalize'`, cut anywhere.
import { defineAgent, defineTool } from '@guardloop/core';
import { callTool, cutAnywhere, say } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { resume, run, scriptedModel } from './audited.js';

const look = defineTool({
  name: 'look',
  description: 'L.',
  input: z.object({ n: z.number() }),
  flow: { effect: 'read' },
  execute: ({ n }) => n,
});

describe('the last answer at a limit', () => {
  it('is asked for again where its call was cut, so that the run ends the same', async () => {
    const build = () =>
      defineAgent({
        name: 'a',
        instructions: '',
        model: scriptedModel([callTool('look', { n: 1 }), callTool('look', { n: 2 }), say('As far as I know: 1.')]),
        tools: [look],
      });
    // A call that is made again counts as a turn: the limit here is another.
    const { log, ...result } = await run(build(), 'go', { runId: 'r', limits: { toolCalls: 1 }, onLimit: 'finalize' });
    expect(result).toMatchObject({ status: 'exhausted', output: 'As far as I know: 1.' });
    const cuts = await cutAnywhere(log, (cut) => resume(build(), cut, { input: 'go' } as never).result as never);
    expect(cuts).toMatchObject({ differences: [], asked: 0 });
  });
});
