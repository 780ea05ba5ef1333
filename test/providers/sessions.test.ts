import { allow, ask, defineAgent, defineGuardrail, memorySession, resume, run } from '@guardloop/core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ModelServer } from './model-server.js';
import { passed, settle } from './settle.js';
import type { Seen } from './shop.js';
import { findOrder, noCards, refundOrder, witness } from './shop.js';
import type { Side } from './sides.js';
import { crossings, sides } from './sides.js';

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

const pairs = [...sides.map((side) => ({ from: side, to: side })), ...crossings];

/** The desk on one provider. A new object each time, as in another process. */
function deskOn(side: Side, effects: string[]) {
  return defineAgent({
    name: 'desk',
    instructions: 'You are the desk.',
    model: side.model(server),
    tools: [findOrder, refundOrder(effects)],
    guardrails: [noCards],
  });
}

describe.each(pairs.map(({ from, to }) => ({ from, to, title: `${from.name}, then ${to.name}` })))('$title', ({ from, to }) => {
  it('S028, S191: a session with odd ids, broken arguments and errors goes on with the other provider, and back', async () => {
    const session = { store: memorySession(), id: 'chat' };
    const effects: string[] = [];
    const seen: Seen[] = [];
    server.turns(
      {
        content: 'Two things.',
        toolCalls: [
          { id: 'find:0', name: 'find_order', arguments: { orderId: 'o1' } },
          { id: `call_${'x'.repeat(60)}`, name: 'find_order', arguments: '{bad' },
        ],
      },
      { content: 'The first is on its way. Paid with 4111 1111 1111 1111.' },
    );
    const first = await settle('run', deskOn(from, effects), { input: 'Where are my orders?', session, guardrails: [witness(seen)] });
    expect(first.result.status).toBe('completed');

    server.forget();
    server.inOrder(
      { toolCalls: [{ id: 'toolu_1', name: 'refund_order', arguments: { orderId: 'o1', cents: 900 } }] },
      { content: 'Refunded.' },
    );
    const second = await settle('stream', deskOn(to, effects), { input: 'Refund the first.', session, guardrails: [witness(seen)] });
    expect(second.result).toMatchObject({ status: 'completed', output: 'Refunded.' });
    const [request] = server.requests;
    expect(request?.calls.map(({ name, input }) => ({ name, input }))).toEqual([
      { name: 'find_order', input: { orderId: 'o1' } },
      { name: 'find_order', input: {} },
    ]);
    expect(request?.results.map(({ id }) => id)).toEqual(request?.calls.map(({ id }) => id));
    expect(new Set(request?.calls.map(({ id }) => id)).size).toBe(2);
    expect(request?.json).toContain('Paid with [card].');
    expect(request?.json).not.toMatch(/4111[ -]?1111/);

    server.forget();
    server.on({}, { content: 'You asked for a refund.' });
    const third = await settle('run', deskOn(from, effects), { input: 'What did I ask?', session, guardrails: [witness(seen)] });
    expect(third.result).toMatchObject({ status: 'completed', output: 'You asked for a refund.' });
    expect(effects).toHaveLength(1);
    expect(third.result.messages.map(({ role }) => role)).toEqual([
      ...['user', 'assistant', 'tool', 'tool', 'assistant'],
      ...['user', 'assistant', 'tool', 'assistant'],
      ...['user', 'assistant'],
    ]);
    expect(server.requests[0]?.results).toHaveLength(3);
    const questions = seen.filter(({ surface }) => surface === 'input').map(({ content }) => content);
    expect(questions).toEqual(['Where are my orders?', 'Refund the first.', 'What did I ask?']);
  });

  it('S129, S147: a run that waits for a person goes on with the other provider from its JSON; what ran does not run again, and nothing is there twice', async () => {
    const effects: string[] = [];
    const session = { store: memorySession(), id: 'chat' };
    server.on(
      {},
      {
        content: 'I refund both.',
        toolCalls: [
          { id: 'call_a', name: 'refund_order', arguments: { orderId: 'o1', cents: 900 } },
          { id: 'call_b', name: 'refund_order', arguments: { orderId: 'o2', cents: 9_000 } },
          { id: 'call_c', name: 'refund_order', arguments: { orderId: 'o3', cents: 9_500 } },
          { id: 'call_d', name: 'refund_order', arguments: { orderId: 'o4', cents: 9_900 } },
        ],
      },
    );
    const paused = await settle('stream', deskOn(from, effects), { input: 'Refund them.', session, guardrails: [witness([])] });
    if (paused.result.status !== 'interrupted') throw new Error(paused.result.status);
    expect(effects).toEqual(['o1 900 1.0']);
    expect(paused.result.approvals.map(({ input }) => input)).toEqual([
      { orderId: 'o2', cents: 9_000 },
      { orderId: 'o3', cents: 9_500 },
      { orderId: 'o4', cents: 9_900 },
    ]);
    expect(server.requests).toHaveLength(1);
    const ids = paused.result.approvals.map(({ id }) => id);

    server.forget();
    server.on({}, { content: 'Done what I may.' });
    const seen: Seen[] = [];
    const part = passed(
      await resume(deskOn(to, effects), session, { guardrails: [witness(seen)], decisions: { [ids[0] ?? '']: 'approve' } }),
    );
    expect(part).toMatchObject({ status: 'interrupted' });
    expect(server.requests).toHaveLength(0);
    expect(effects).toEqual(['o1 900 1.0', 'o2 9000 1.1']);

    const decisions = { [ids[1] ?? '']: { reject: 'too much' }, [ids[2] ?? '']: { edit: { orderId: 'o4', cents: 400 } } };
    const done = passed(await resume(deskOn(to, effects), session, { guardrails: [witness(seen)], decisions }));

    expect(done).toMatchObject({ status: 'completed', output: 'Done what I may.' });
    expect(effects).toEqual(['o1 900 1.0', 'o2 9000 1.1', 'o4 400 1.3']);
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]?.results.map(({ text }) => text)).toEqual([
      'refunded o1',
      'refunded o2',
      expect.stringContaining('too much'),
      'refunded o4',
    ]);
    expect(server.requests[0]?.calls.map(({ input }) => input)).toEqual([
      { orderId: 'o1', cents: 900 },
      { orderId: 'o2', cents: 9_000 },
      expect.anything(),
      { orderId: 'o4', cents: 400 },
    ]);
    expect(seen.filter(({ surface }) => surface === 'toolInput').map(({ content }) => content)).toEqual([
      '{"orderId":"o2","cents":9000}',
      '{"orderId":"o4","cents":400}',
    ]);
    expect(done.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'tool', 'tool', 'assistant']);
    expect(await session.store.load('chat')).toHaveLength(done.log.events.length);
  });

  it('an answer in quarantine is released by a person, and its call then runs, with the other provider asked next', async () => {
    const kept = new Map<string, unknown>();
    const quarantine = {
      put: async (key: string, value: unknown) => void kept.set(key, value),
      get: async (key: string) => kept.get(key) as never,
      delete: async (key: string) => void kept.delete(key),
    };
    const second = defineGuardrail({
      name: 'second-pair-of-eyes',
      on: ['output'],
      check: ({ content }) => (content.includes('o1') ? ask('it names an order') : allow()),
    });
    const desk = (side: Side) =>
      defineAgent({ name: 'desk', instructions: '', model: side.model(server), tools: [findOrder], guardrails: [second] });
    server.on({}, { content: 'I look at o1.', toolCalls: [{ id: 'call_a', name: 'find_order', arguments: { orderId: 'o1' } }] });
    const paused = passed(await run(desk(from), 'Look.', { guardrails: [witness([])], quarantine }));
    if (paused.status !== 'interrupted') throw new Error(paused.status);
    expect(JSON.stringify(paused.log)).not.toContain('I look at');
    expect(kept.size).toBe(1);

    server.forget();
    server.on({}, { content: 'Found it.' });
    const decisions = Object.fromEntries(paused.approvals.map(({ id }) => [id, 'approve' as const]));
    const done = passed(
      await resume(desk(to), JSON.parse(JSON.stringify(paused.log)), { guardrails: [witness([])], quarantine, decisions }),
    );

    expect(done).toMatchObject({ status: 'completed', output: 'Found it.' });
    expect(kept.size).toBe(0);
    expect(server.requests[0]?.messages[1]).toMatchObject({ text: 'I look at o1.' });
    expect(server.requests[0]?.results).toHaveLength(1);
  });
});
