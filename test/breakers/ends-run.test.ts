import { defineAgent, defineTool, handoff, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
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

describe('a tool that ends the run beside another that would', () => {
  const ending = (name: string, ms: number) =>
    defineTool({
      name,
      description: 'Ends.',
      input: z.object({}),
      flow: { effect: 'read' },
      endsRun: true,
      execute: async () => {
        await new Promise((resolve) => setTimeout(resolve, ms));
        return { by: name };
      },
    });

  it.each([
    ['slower', 15, 0],
    ['faster', 0, 15],
  ])('gives the answer when it stands first in call order, also as the %s one', async (_speed, first, second) => {
    const agent = defineAgent({
      name: 'desk',
      instructions: '',
      model: scriptedModel([[callTool('one'), callTool('two')]]),
      tools: [ending('one', first), ending('two', second)],
      output: z.object({ by: z.string() }),
    });
    const result = await run(agent, 'go');
    expect(result).toMatchObject({ status: 'completed', output: { by: 'one' }, text: '{"by":"one"}' });
    expect(auditLog(result.log)).toEqual([]);
  });

  it.each([
    ['before', 'generated', true],
    ['behind', 'generated', false],
    ['before', 'returned', true],
    ['behind', 'returned', false],
  ])('gives way to a handoff %s it (%s): the new agent answers', async (_place, form, isBefore) => {
    const billing = defineAgent({ name: 'billing', description: 'Bills.', instructions: '', model: scriptedModel([say('billed')]) });
    const pass = defineTool({ name: 'pass', description: 'Passes.', input: z.object({}), execute: () => handoff(billing) });
    const calls = [callTool(form === 'returned' ? 'pass' : 'transfer_to_billing'), callTool('one')];
    const agent = defineAgent({
      name: 'desk',
      instructions: '',
      model: scriptedModel([isBefore ? calls : calls.toReversed(), say('not me')]),
      tools: [ending('one', 0), pass],
      handoffs: [billing],
    });
    const result = await run(agent, 'go', {
      model: scriptedModel(({ agent: name }) => (name === 'billing' ? say('billed') : isBefore ? calls : calls.toReversed())),
    });
    expect(result).toMatchObject({ status: 'completed', agent: 'billing', text: 'billed' });
    expect(auditLog(result.log)).toEqual([]);
  });
});
