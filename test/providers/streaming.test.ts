import type { RunEvent } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, deny, run, stream } from '@guardloop/core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ModelServer } from './model-server.js';
import { passed, settle, textOf } from './settle.js';
import { findOrder, noCards, refuses, surfaces, witness } from './shop.js';
import { sides } from './sides.js';

let server: ModelServer;
beforeAll(async () => {
  server = await ModelServer.start();
});
afterEach(() => {
  const { problems } = server;
  expect(problems).toEqual([]);
  server.forget();
});
afterAll(() => server.stop());

const allButOutput = surfaces.filter((surface) => surface !== 'output');
const sentence = 'This answer takes the server a while to say, since it comes in small pieces.';

/** The events with the time at which each was read. */
async function timed(events: AsyncIterable<RunEvent>): Promise<readonly { readonly event: RunEvent; readonly at: number }[]> {
  const read: { event: RunEvent; at: number }[] = [];
  for await (const event of events) read.push({ event, at: performance.now() });
  return read;
}

describe.each(sides)('$name', (side) => {
  it('without output guardrails deltas are read while the server still speaks, and together are the answer', async () => {
    server.on({}, { content: sentence }, { latency: 10, chunkSize: 8 });
    const agent = defineAgent({ name: 'desk', instructions: '', model: side.model(server) });

    const watched = stream(agent, 'Speak.', { guardrails: [witness([], allButOutput)] });
    const read = await timed(watched);
    const result = passed(await watched.result);

    const deltas = read.filter(({ event }) => event.type === 'text.delta');
    expect(textOf(deltas.map(({ event }) => event))).toBe(sentence);
    expect(result).toMatchObject({ status: 'completed', output: sentence });
    expect(deltas.length).toBeGreaterThan(4);
    expect((deltas.at(-1)?.at ?? 0) - (deltas[0]?.at ?? 0)).toBeGreaterThan(40);
  });

  it('a checked answer is held until its end, and then read whole', async () => {
    server.on({}, { content: sentence }, { latency: 5, chunkSize: 8 });
    const agent = defineAgent({ name: 'desk', instructions: '', model: side.model(server) });

    const watched = stream(agent, 'Speak.', { guardrails: [witness([])] });
    const read = (await timed(watched)).map(({ event }) => event);

    passed(await watched.result);
    const verdict = read.findIndex((event) => event.type === 'guard.verdict' && event.surface === 'output');
    const first = read.findIndex(({ type }) => type === 'text.delta');
    expect(verdict).toBeGreaterThan(-1);
    expect(first).toBeGreaterThan(verdict);
    expect(textOf(read)).toBe(sentence);
  });

  it('not one character of a refused answer is read; the next one is', async () => {
    server.inOrder({ content: `${sentence} swordfish` }, { content: 'No.' });
    const agent = defineAgent({ name: 'desk', instructions: '', model: side.model(server), guardrails: [refuses('swordfish', 'output')] });

    const { result, events } = await settle('stream', agent, { input: 'Speak.', guardrails: [witness([])] });

    expect(result.status).toBe('completed');
    expect(textOf(events)).toBe('No.');
    expect(events.some(({ type }) => type === 'text.retract')).toBe(false);
  });

  it.each([1, 3, 7, 400])('a window replaces a number wherever it is cut, and text flows behind it (chunks of %i)', async (chunkSize) => {
    const spoken = `${sentence} Your card is 4111 1111 1111 1111, thank you. ${sentence}`;
    server.on({}, { content: spoken }, { chunkSize, latency: chunkSize === 7 ? 5 : 0 });
    const agent = defineAgent({ name: 'desk', instructions: '', model: side.model(server), guardrails: [noCards] });

    const watched = stream(agent, 'Speak.', { guardrails: [witness([], allButOutput)] });
    const read = await timed(watched);
    const result = passed(await watched.result);

    const clean = spoken.replace('4111 1111 1111 1111', '[card]');
    expect(textOf(read.map(({ event }) => event))).toBe(clean);
    expect(result).toMatchObject({ status: 'completed', output: clean });
    expect(JSON.stringify([result, read])).not.toContain('4111 1');
    if (chunkSize === 7) {
      const deltas = read.filter(({ event }) => event.type === 'text.delta');
      expect((deltas.at(-1)?.at ?? 0) - (deltas[0]?.at ?? 0)).toBeGreaterThan(50);
    }
  });

  it('live text that is refused is taken back', async () => {
    server.inOrder({ content: `${sentence} swordfish` }, { content: 'No.' });
    const agent = defineAgent({ name: 'desk', instructions: '', model: side.model(server), guardrails: [refuses('swordfish', 'output')] });

    const { result, events } = await settle('stream', agent, { input: 'Speak.', guardrails: [witness([])], release: 'live' });

    expect(result).toMatchObject({ status: 'completed', output: 'No.' });
    const retract = events.find(({ type }) => type === 'text.retract');
    expect(retract).toMatchObject({ turn: 1, chars: `${sentence} swordfish`.length });
    expect(JSON.stringify(result)).not.toContain('swordfish,');
  });

  it('S156: a reader that leaves cancels the run, and the server sees the connection close', async () => {
    server.on({}, { content: sentence.repeat(4) }, { latency: 20, chunkSize: 4 });
    const agent = defineAgent({ name: 'desk', instructions: '', model: side.model(server) });

    const watched = stream(agent, 'Speak.', { guardrails: [witness([], allButOutput)] });
    let shown = 0;
    for await (const event of watched) {
      if (event.type === 'text.delta') shown += event.text.length;
      if (shown > 0) break;
    }
    const left = performance.now();
    const result = passed(await watched.result);

    expect(performance.now() - left).toBeLessThan(15_000);
    expect(result.status).toBe('cancelled');
    expect(result.messages.filter(({ role }) => role === 'assistant')).toEqual([]);
    await server.whenClosed();
    expect(server.leftEarly).toBe(1);
  });

  it('a signal that is aborted in mid-stream cancels the run with its reason, and takes back what was shown', async () => {
    server.on({}, { content: sentence.repeat(4) }, { latency: 20, chunkSize: 4 });
    const agent = defineAgent({ name: 'desk', instructions: '', model: side.model(server), tools: [findOrder] });
    const controller = new AbortController();
    const events: RunEvent[] = [];

    const watched = stream(agent, 'Speak.', { guardrails: [witness([], allButOutput)], signal: controller.signal });
    for await (const event of watched) {
      events.push(event);
      if (textOf(events).length > 8) controller.abort(Object.assign(new Error('gone'), { code: 'USER_LEFT' }));
    }
    const result = passed(await watched.result);

    expect(result).toMatchObject({ status: 'cancelled', cause: { code: 'USER_LEFT' } });
    expect(events.find(({ type }) => type === 'text.retract')).toMatchObject({ chars: textOf(events).length });
    await server.whenClosed();
    expect(server.leftEarly).toBe(1);
  });

  it('a refusal on the input ends the model call that runs beside it within milliseconds', async () => {
    server.on({}, { content: sentence.repeat(4) }, { latency: 50, chunkSize: 4 });
    const slow = defineGuardrail({
      name: 'slow',
      on: ['input'],
      beside: 'model',
      check: async () => {
        await new Promise((resolve) => setTimeout(resolve, 60));
        return deny('not here');
      },
    });
    const agent = defineAgent({ name: 'desk', instructions: '', model: side.model(server), guardrails: [slow], refusal: 'Sorry.' });

    const started = performance.now();
    const result = passed(await run(agent, 'Speak.', { guardrails: [witness([])] }));

    expect(result).toMatchObject({ status: 'blocked', surface: 'input', by: 'slow', reply: 'Sorry.' });
    expect(performance.now() - started).toBeLessThan(15_000);
    expect(server.requests).toHaveLength(1);
    await server.whenClosed();
    expect(server.leftEarly).toBe(1);
  });

  it('S229: text beside a call is read before the tool starts', async () => {
    server.turns({ content: 'Let me look.', toolCalls: [{ name: 'find_order', arguments: { orderId: 'o1' } }] }, { content: 'Found.' });
    const quick = defineGuardrail({ name: 'quick', on: ['toolInput'], check: () => allow() });
    const agent = defineAgent({ name: 'desk', instructions: '', model: side.model(server), tools: [findOrder], guardrails: [quick] });

    const { events } = await settle('stream', agent, { input: 'Where?', guardrails: [witness([])] });

    const order = events.filter(({ type }) => ['text.delta', 'tool.start', 'tool.end'].includes(type)).map(({ type }) => type);
    expect(order.indexOf('text.delta')).toBeLessThan(order.indexOf('tool.start'));
    expect(order.lastIndexOf('text.delta')).toBeGreaterThan(order.indexOf('tool.end'));
    expect(textOf(events)).toBe('Let me look.Found.');
  });
});
