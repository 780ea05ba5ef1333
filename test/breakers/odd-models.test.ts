import type { Model, ModelEvent, RunEvent } from '@guardloop/core';
import { asTool, defineAgent, run, stream } from '@guardloop/core';
import { callTool, say, scriptedModel, wait } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';

const usage = { requests: 1, inputTokens: 1, outputTokens: 1 };
const text = (words: string): ModelEvent => ({ type: 'text.delta', text: words });
const end: ModelEvent = { type: 'end', stopReason: 'stop', usage };

function modelOf(events: () => AsyncGenerator<unknown>): Model {
  return { id: 'odd', provider: 'odd', stream: () => events() as AsyncGenerator<ModelEvent> };
}

describe('a model', () => {
  it.each<[string, readonly unknown[]]>([
    ['ends twice', [text('hi'), end, end]],
    ['says more after its end', [text('hi'), end, text(' there')]],
    ['calls a tool after its end', [text('hi'), end, { type: 'tool.call', call: { name: 'send', input: {} } }]],
    ['does not end', [text('hi')]],
    ['gives a text that is none', [text('hi'), { type: 'text.delta', text: { evil: true } }, end]],
    ['gives a call that is none', [text('hi'), { type: 'tool.call' }, end]],
    ['gives a call without a name', [text('hi'), { type: 'tool.call', call: { input: {} } }, end]],
    ['gives a call without arguments', [text('hi'), { type: 'tool.call', call: { name: 'send' } }, end]],
  ])('that %s fails the run with MODEL_PROTOCOL, and what it said is taken back', async (_, events) => {
    const agent = defineAgent({
      name: 'desk',
      instructions: 'Help.',
      model: modelOf(async function* () {
        yield* events;
      }),
    });
    const shown: RunEvent[] = [];
    const result = await run(agent, 'hello', { observers: [(event) => shown.push(event)] });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_PROTOCOL' } });
    expect(shown.filter(({ type }) => type === 'text.retract')).toMatchObject([{ chars: 2 }]);
  });

  it('that keeps its stream open after its end does not hold the answer up', async () => {
    const agent = defineAgent({
      name: 'desk',
      instructions: 'Help.',
      model: modelOf(async function* () {
        yield text('hi');
        yield end;
        await new Promise(() => undefined);
      }),
    });
    expect(await run(agent, 'hello')).toMatchObject({ status: 'completed', text: 'hi' });
  });
});

it('lets an agent that is used as a tool go on, however much of another one’s text is unread', async () => {
  const model = scriptedModel({
    desk: [[callTool('ask_loud', { input: 'q' }), callTool('ask_quiet', { input: 'q' })], say('done')],
    loud: [say(Array.from({ length: 100 }, () => '.'))],
    quiet: [[wait(5), say('quiet')]],
  });
  const leaf = (name: string, isStreamed: boolean) =>
    asTool(defineAgent({ name, instructions: 'Leaf.', model }), { name: `ask_${name}`, description: 'Asks.', stream: isStreamed });
  const desk = defineAgent({ name: 'desk', instructions: 'Help.', model, tools: [leaf('loud', true), leaf('quiet', false)] });
  const ended: string[] = [];
  const observers = [(event: RunEvent) => void (event.type === 'tool.end' && ended.push(event.callId))];
  const events = stream(desk, 'hello', { observers });
  await expect.poll(() => ended).toEqual(['1.1']);
  expect((await events.result).status).toBe('completed');
});
