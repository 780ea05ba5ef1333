import type { RunInput } from '@guardloop/core';
import { defineAgent, defineTool, memorySession, toolError, withFallback } from '@guardloop/core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ModelServer } from './model-server.js';
import { answersOf, piecesOf, secretsOf, warnedItems } from './natives.js';
import { settle } from './settle.js';
import { findOrder, witness } from './shop.js';
import type { Side } from './sides.js';
import { chat6, crossings, messages1, responses6 } from './sides.js';
import type { WireRequest } from './wire-request.js';

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

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const question: RunInput = [
  { type: 'text', text: 'Which of these?' },
  { type: 'image', mediaType: 'image/png', data: pixel },
];
const thought = { reasoning: 'Two to look up.', reasoningSignature: 'U0lHTkVELTE=' };
const other = { reasoning: 'Another look.', reasoningSignature: 'U0lHTkVELTI=' };

const photo = defineTool({
  name: 'photo',
  description: 'Gives a photo of an order.',
  input: z.object({ orderId: z.string() }),
  flow: { effect: 'read', results: 'trusted' },
  execute: ({ orderId }) => {
    if (orderId === 'gone') throw toolError('There is no such order.', { errorClass: 'not_found' });
    return { about: `a photo of ${orderId}`, photo: Buffer.from(pixel, 'base64') };
  },
});

/** The desk on one provider. A new object each time, as in another process. */
function deskOn(side: Side) {
  const model = side.model(server);
  return defineAgent({
    name: 'desk',
    instructions: 'You are the desk.',
    model,
    tools: [findOrder, photo],
    settings: { reasoning: 'high' },
  });
}

function expectPairs(request: WireRequest | undefined): void {
  expect(request?.results.map(({ id }) => id)).toEqual(request?.calls.map(({ id }) => id));
  expect(new Set(request?.calls.map(({ id }) => id)).size).toBe(request?.calls.length);
}

describe.each(crossings.map(({ from, to }) => ({ from, to, title: `${from.name}, then ${to.name}` })))('$title', ({ from, to }) => {
  const isForeign = from.dialect !== to.dialect;

  it('S013: a session with reasoning, parallel calls, images and an error goes on there; what is opaque stays with its maker, and comes back to it as it was', async () => {
    const session = { store: memorySession(), id: 'chat' };
    server.inOrder(
      {
        ...thought,
        content: 'Let me look.',
        toolCalls: [
          { id: 'call_a', name: 'photo', arguments: { orderId: 'o1' } },
          { id: 'call_b', name: 'photo', arguments: { orderId: 'gone' } },
        ],
      },
      { reasoning: 'So it is.', reasoningSignature: 'U0lHTkVELTM=', content: 'The first.' },
    );
    const first = await settle('stream', deskOn(from), { input: question, session, guardrails: [witness([])] });
    expect(first.result).toMatchObject({ status: 'completed', output: 'The first.' });
    expect(warnedItems(first.events)).toEqual([]);
    const made = answersOf(first.result.messages);
    expect(made.map(({ native }) => native?.provider)).toEqual(made.map(() => from.model(server).provider));
    for (const piece of made.slice(0, 1).flatMap(piecesOf)) expect(server.requests[1]?.json).toContain(piece);
    const secrets = made.flatMap(secretsOf);
    if (from.dialect !== 'chat') expect(secrets.length).toBeGreaterThan(0);

    server.forget();
    server.inOrder(
      { ...other, content: 'Again.', toolCalls: [{ id: 'call_a', name: 'find_order', arguments: { orderId: 'o1' } }] },
      { content: 'It is on its way.' },
    );
    const second = await settle('stream', deskOn(to), { input: 'Where is it?', session, guardrails: [witness([])] });
    expect(second.result).toMatchObject({ status: 'completed', output: 'It is on its way.' });
    for (const request of server.requests) {
      expectPairs(request);
      expect(request.json).toContain('a photo of o1');
      expect(request.json).toContain('There is no such order.');
      for (const secret of secrets) expect(request.json.includes(secret), secret).toBe(!isForeign);
      if (isForeign) expect(request.json).not.toContain('Two to look up.');
    }
    expect(server.requests[0]?.calls.map(({ name, input }) => ({ name, input }))).toEqual([
      { name: 'photo', input: { orderId: 'o1' } },
      { name: 'photo', input: { orderId: 'gone' } },
    ]);
    expect(warnedItems(second.events)).toEqual(isForeign ? made.map(({ id }) => id) : []);

    server.forget();
    server.inOrder({ toolCalls: [{ name: 'find_order', arguments: { orderId: 'o2' } }] }, { content: 'Bye.' });
    const third = await settle('stream', deskOn(from), { input: 'And the other?', session, guardrails: [witness([])] });
    expect(third.result).toMatchObject({ status: 'completed', output: 'Bye.' });
    const all = answersOf(third.result.messages);
    const between = all.slice(made.length, -2);
    expect(between.map(({ native }) => native?.provider)).toEqual(between.map(() => to.model(server).provider));
    for (const request of server.requests) {
      expectPairs(request);
      for (const piece of made.flatMap(piecesOf)) expect(request.json).toContain(piece);
      for (const secret of between.flatMap(secretsOf)) expect(request.json.includes(secret), secret).toBe(!isForeign);
    }
    expect(warnedItems(third.events)).toEqual(isForeign ? between.map(({ id }) => id) : []);
  });

  it('a fallback to it in the middle of a run gives the turn to it, and the next one back; the run is warned once of each thing', async () => {
    const desk = defineAgent({
      name: 'desk',
      instructions: 'You are the desk.',
      model: withFallback([from.model(server), to.model(server)]),
      tools: [findOrder],
      settings: { reasoning: 'high' },
    });
    server.inOrder(
      { ...thought, toolCalls: [{ id: 'call_a', name: 'find_order', arguments: { orderId: 'o1' } }] },
      { status: 503, error: { message: 'not now', type: 'overloaded' } },
      { ...other, toolCalls: [{ id: 'call_a', name: 'find_order', arguments: { orderId: 'o2' } }] },
      { content: 'Both are on their way.' },
    );

    const { result, events } = await settle('stream', desk, { input: 'Where are they?', guardrails: [witness([])] });

    expect(result).toMatchObject({ status: 'completed', output: 'Both are on their way.', usage: { requests: 4 } });
    expect(server.requests.map(({ dialect }) => dialect)).toEqual([from.dialect, from.dialect, to.dialect, from.dialect]);
    const [mine, theirs] = answersOf(result.messages);
    expect([mine?.native?.provider, theirs?.native?.provider]).toEqual([from.model(server).provider, to.model(server).provider]);
    for (const request of server.requests) expectPairs(request);
    for (const piece of mine === undefined ? [] : piecesOf(mine)) expect(server.requests[3]?.json).toContain(piece);
    for (const secret of mine === undefined ? [] : secretsOf(mine)) expect(server.requests[2]?.json.includes(secret)).toBe(!isForeign);
    for (const secret of theirs === undefined ? [] : secretsOf(theirs)) expect(server.requests[3]?.json.includes(secret)).toBe(!isForeign);
    expect(warnedItems(events)).toEqual(isForeign ? [mine?.id, theirs?.id] : []);
    expect(warnedItems(events, 'fallback')).toEqual([undefined]);
  });
});

const circles = [chat6, responses6, messages1].flatMap((first, at, all) => {
  const [second, third] = [...all.slice(at + 1), ...all.slice(0, at)];
  return second === undefined || third === undefined ? [] : [[first, second, third] as const, [first, third, second] as const];
});

it.each(circles.map((circle) => ({ circle, title: circle.map(({ name }) => name).join(', ') })))(
  'S122: hands over in a circle: $title, and the first again',
  async ({ circle: [first, second, third] }) => {
    const looking = (orderId: string, to: string) => [
      {
        ...thought,
        content: `Look at ${orderId}.`,
        toolCalls: ['a', 'b'].map((id) => ({ id: `call_${id}`, name: 'photo', arguments: { orderId: `${orderId}${id}` } })),
      },
      { ...thought, toolCalls: [{ id: `call_${'x'.repeat(44)}`, name: `transfer_to_${to}`, arguments: {} }] },
    ];
    server.inOrder(...looking('o1', 'two'), ...looking('o2', 'three'), ...looking('o3', 'one'), { ...thought, content: 'Done.' });
    const shared = { tools: [photo], settings: { reasoning: 'high' } } as const;
    const three = defineAgent({ ...shared, name: 'three', instructions: 'You are three.', model: third.model(server), handoffs: ['one'] });
    const two = defineAgent({ ...shared, name: 'two', instructions: 'You are two.', model: second.model(server), handoffs: [three] });
    const one = defineAgent({ ...shared, name: 'one', instructions: 'You are one.', model: first.model(server), handoffs: [two] });

    const { result, events } = await settle('stream', one, { input: question, guardrails: [witness([])] });

    expect(result).toMatchObject({ status: 'completed', agent: 'one', output: 'Done.' });
    expect(server.requests.map(({ dialect }) => dialect)).toEqual(
      [first, first, second, second, third, third, first].map(({ dialect }) => dialect),
    );
    for (const request of server.requests) expectPairs(request);
    expect(server.requests[6]?.results.flatMap(({ text }) => /photo of (\w+)/.exec(text)?.[1] ?? [])).toEqual([
      'o1a',
      'o1b',
      'o2a',
      'o2b',
      'o3a',
      'o3b',
    ]);
    expect(server.requests[6]?.json).not.toContain('Two to look up.');
    for (const secret of answersOf(result.messages).slice(0, -1).flatMap(secretsOf)) expect(server.requests[6]?.json).not.toContain(secret);
    expect(warnedItems(events)).toEqual([]);
  },
);
