import type { Model, ModelEvent, RunEvent } from '@guardloop/core';
import { defineAgent, defineGuardrail, defineTool, handoff, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const throws = (): never => {
  throw new Error('trap');
};
const answers: { readonly [what: string]: () => unknown } = {
  'an object whose `then` cannot be read': () => Object.defineProperty({}, 'then', { get: throws }),
  'a thenable that throws': () => ({ then: throws }),
  'a proxy that throws': () => new Proxy({}, { get: throws }),
  'a promise of a verdict that cannot be read': async () => Object.defineProperty({}, 'action', { get: throws }),
};

describe.each(Object.keys(answers))('%s', (what) => {
  const answer = answers[what] as () => never;

  it.each(['check', 'rewrite'] as const)('is a failure of the guardrail that gives it as its %s', async (phase) => {
    const broken = defineGuardrail({ name: 'broken', on: ['input'], ...({ [phase]: answer } as { check: () => never }) });
    const agent = defineAgent({ name: 'desk', instructions: 'Help.', model: scriptedModel([say('hi')]), guardrails: [broken] });
    expect(await run(agent, 'hello')).toMatchObject({ status: 'blocked', by: 'broken', failed: true });
  });

  it('is a failure of the guardrail that looks through a window', async () => {
    const broken = defineGuardrail({ name: 'broken', on: ['output'], window: 4, rewrite: answer });
    const agent = defineAgent({ name: 'desk', instructions: 'Help.', model: scriptedModel([say('hi')]), guardrails: [broken] });
    expect(await run(agent, 'hello')).toMatchObject({ status: 'blocked', by: 'broken', failed: true });
  });

  it('ends only the call of the tool that gives it', async () => {
    const odd = defineTool({ name: 'odd', description: 'Odd.', input: z.object({}), execute: answer });
    const agent = defineAgent({ name: 'desk', instructions: 'Help.', model: scriptedModel([callTool('odd'), say('bye')]), tools: [odd] });
    const result = await run(agent, 'hello');
    expect(result).toMatchObject({ status: 'completed', text: 'bye' });
    expect(result.events.filter(({ type }) => type === 'tool.end')).toHaveLength(1);
  });
});

function deep(levels: number): object {
  let value: object = {};
  for (let level = 0; level < levels; level += 1) value = { inner: value };
  return value;
}
const circular: Record<string, unknown> = {};
circular.self = circular;

describe.each([
  ['deeper than any stack', deep(20_000)],
  ['a circle', circular],
  ['with a bigint', { id: 10n }],
  ['with a function', { id: () => 1 }],
  ['with a number that JSON has not', { id: Number.NaN }],
])('arguments that are %s', (_, input) => {
  it.each(['look', 'go', 'nowhere'])('are answered with an error observation, as a call of %s', async (name) => {
    const model: Model = {
      id: 'odd',
      provider: 'odd',
      async *stream({ turn }): AsyncGenerator<ModelEvent> {
        yield { type: 'text.delta', text: turn === 1 ? 'Let me see. ' : 'bye' };
        if (turn === 1) yield { type: 'tool.call', call: { name, input: input as never } };
        yield { type: 'end', stopReason: 'stop', usage: { requests: 1, inputTokens: 1, outputTokens: 1 } };
      },
    };
    const look = defineTool({ name: 'look', description: 'Looks.', input: z.record(z.string(), z.unknown()), execute: () => 'seen' });
    const other = defineAgent({ name: 'other', instructions: 'Help.', model });
    const agent = defineAgent({ name: 'desk', instructions: 'Help.', model, tools: [look], handoffs: [handoff(other, { name: 'go' })] });
    const shown: RunEvent[] = [];
    const result = await run(agent, 'hello', { observers: [(event) => shown.push(event)] });
    expect(result).toMatchObject({ status: 'completed', agent: 'desk', text: 'bye' });
    expect(result.messages[2]).toMatchObject({ role: 'tool', isError: true });
    expect(JSON.parse(JSON.stringify(result.log))).toEqual(result.log);
  });
});
