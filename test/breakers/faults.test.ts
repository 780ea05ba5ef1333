import type { RunEvent } from '@guardloop/core';
import { asTool, defineAgent, defineTool, GuardloopError, resume, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

it('ends each call once, and nothing after the end of the run, when the brief of one of several throws', async () => {
  const model = scriptedModel([[callTool('slow'), callTool('ask_leaf', { input: 'q' })], say('bye')]);
  const slow = defineTool({
    name: 'slow',
    description: 'Slow.',
    input: z.object({}),
    execute: async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return 'done';
    },
  });
  const leaf = defineAgent({ name: 'leaf', instructions: 'Leaf.', model });
  const brief = (): string => {
    throw new Error('no brief');
  };
  const agent = defineAgent({
    name: 'desk',
    instructions: 'Help.',
    model,
    tools: [slow, asTool(leaf, { name: 'ask_leaf', description: 'Asks.', brief })],
  });
  const events: RunEvent[] = [];
  const result = await run(agent, 'hello', { observers: [(event) => events.push(event)] });
  await new Promise((resolve) => setTimeout(resolve, 40));
  expect(result.status).toBe('completed');
  expect(events.at(-1)?.type).toBe('run.end');
  const ends = result.events.flatMap((event) => (event.type === 'tool.end' ? [`${event.callId} ${event.status}`] : []));
  expect(ends).toEqual(['1.1 error', '1.0 ok']);
});

const damages: { readonly [what: string]: (events: Record<string, unknown>[]) => void } = {
  'a start without a manifest': ([start]) => delete start?.manifest,
  'a start without limits': ([start]) => Object.assign(start ?? {}, { limits: null }),
  'items that are no list': ([, accept]) => Object.assign(accept ?? {}, { items: 5 }),
  'an item that is null': ([, accept]) => Object.assign(accept ?? {}, { items: [null] }),
  'an item without a label': ([, accept]) => Object.assign(accept ?? {}, { items: [{ role: 'user', id: 'r/i1', parts: [] }] }),
  'an answer without calls': (events) => {
    for (const event of events) delete event.calls;
  },
};

describe('resume', () => {
  it.each(Object.keys(damages))('refuses a log with %s as LOG_INVALID', async (what) => {
    const agent = defineAgent({ name: 'desk', instructions: 'Help.', model: scriptedModel([say('hi')]) });
    const log = JSON.parse(JSON.stringify((await run(agent, 'hello')).log));
    damages[what]?.(log.events);
    const thrown = await resume(agent, log).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(GuardloopError.is(thrown) && thrown.code).toBe('LOG_INVALID');
  });
});

it('says what kind of error a function of the agent threw, without its words, and asks for the context', async () => {
  const instructions = ({ context }: { context: unknown }): string => (context as { name: string }).name;
  const agent = defineAgent({ name: 'desk', instructions, model: scriptedModel([say('hi')]) });
  const result = await run(agent, 'hello');
  if (result.status !== 'failed') throw new Error(result.status);
  expect(result.error).toMatchObject({ code: 'INTERNAL', cause: { name: 'TypeError' } });
  expect(result.error.message).toMatch(/agent desk .* threw: TypeError\. .*`context`/);
  expect(JSON.stringify(result.log)).not.toContain('undefined');
});
