import { defineAgent, defineTool, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';

it('takes no result of a tool that ends the run for the answer when it does not have the form of the agent’s answers', async () => {
  const finish = defineTool({
    name: 'finish',
    description: 'Ends.',
    input: z.object({}),
    endsRun: true,
    execute: () => ({ refunded: 'maybe' }),
  });
  const agent = defineAgent({
    name: 'desk',
    instructions: 'Help.',
    model: scriptedModel([callTool('finish'), say('{"refunded":true}')]),
    tools: [finish],
    output: z.object({ refunded: z.boolean() }),
  });
  const result = await run(agent, 'hello');
  expect(result).toMatchObject({ status: 'completed', output: { refunded: true } });
  expect(result.messages[2]).toMatchObject({ role: 'tool', isError: true });
  expect(JSON.stringify(result.messages[2])).toContain('refunded: expected true or false');
});

it('gives the parsed result of a tool that ends the run as the output', async () => {
  const finish = defineTool({ name: 'finish', description: 'Ends.', input: z.object({}), endsRun: true, execute: () => ({ cents: '12' }) });
  const agent = defineAgent({
    name: 'desk',
    instructions: 'Help.',
    model: scriptedModel([callTool('finish')]),
    tools: [finish],
    output: z.object({ cents: z.string().transform(Number) }),
  });
  expect(await run(agent, 'hello')).toMatchObject({ status: 'completed', output: { cents: 12 }, text: '{"cents":"12"}' });
});
