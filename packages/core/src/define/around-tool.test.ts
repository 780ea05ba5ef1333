import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from './agent.js';
import { aroundTool } from './around-tool.js';
import { asTool } from './as-tool.js';
import { defineTool } from './tool.js';

const tool = defineTool({
  name: 'send',
  description: 'Sends.',
  input: z.object({ to: z.string() }),
  flow: { effect: 'send' },
  execute: ({ to }) => to,
});
const callerTool = defineTool({ name: 'send', description: 'Sends.', input: z.object({ to: z.string() }) });
const agentTool = asTool(defineAgent({ name: 'a', instructions: '', model: { id: 'm', provider: 'p', stream: () => ({}) as never } }), {
  name: 'ask',
  description: 'Asks.',
});

describe('aroundTool', () => {
  it('gives a tool of the same name and description', () => {
    const around = aroundTool(tool, { text: (text) => text });
    expect(around).toMatchObject({ name: 'send', description: 'Sends.' });
    expect(around).not.toBe(tool);
  });

  it.each<[unknown, unknown, string]>([
    [{ name: 'send' }, { text: String }, 'The first argument of aroundTool is an object. Expected a tool made by defineTool or asTool.'],
    [tool, {}, 'aroundTool has nothing to put around send. Give it `input`, `text` or `within`.'],
    [tool, { texts: String }, 'What aroundTool puts around send has an option "texts", which does not exist. Did you mean text?'],
    [tool, { text: 'x' }, 'What aroundTool puts around send has "x" as `text`. Give a function, or leave it out.'],
    [callerTool, { text: String }, 'aroundTool was given send, which the caller runs. Give it a tool with `execute`.'],
    [agentTool, { text: String }, 'aroundTool was given ask, which is an agent. Give it a tool with `execute`.'],
  ])('refuses what it cannot put anything around', (given, around, message) => {
    expect(() => aroundTool(given as typeof tool, around as object)).toThrow(message);
  });
});
