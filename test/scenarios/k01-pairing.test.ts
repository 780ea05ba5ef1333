import type { Message, View } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineTool, halt, handoff, memorySession, run, stream } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { chatAnswer, messagesAnswer, serve } from './provider-server.js';
import { ends, readAll, sleep, sound, unhandled, unpaired } from './sound.js';

const city = defineTool({
  name: 'city',
  description: 'Looks a city up.',
  input: z.object({ name: z.string() }),
  execute: ({ name }) => `${name} is a city`,
});

describe('K1', () => {
  it('S016: equal texts and repeated provider ids are all kept, each call before its own result', async () => {
    const call = chatAnswer({ calls: [{ id: 'call_1', name: 'city', args: { name: 'X' } }] });
    const server = await serve(call, chatAnswer({ text: 'ok' }), call, chatAnswer({ text: 'ok' }));
    const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server.chat(), tools: [city] });
    const session = { store: memorySession(), id: 's' };
    await sound(run(agent, 'yes', { session }));
    await sound(run(agent, 'yes', { session }));

    expect(server.problems).toEqual([]);
    const messages = server.bodies[3]?.messages as readonly { role: string; content?: unknown; tool_calls?: { id: string }[] }[];
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant', 'user', 'assistant', 'tool']);
    expect(messages.filter(({ role, content }) => role === 'user' && content === 'yes')).toHaveLength(2);
  });

  it.each(['chat', 'claude'] as const)(
    'S018: text beside a call is no final answer, and the whole history goes along (%s)',
    async (dialect) => {
      const answer = dialect === 'chat' ? chatAnswer : messagesAnswer;
      const server = await serve(
        answer({ text: 'Looking it up', calls: [{ id: 'call_1', name: 'city', args: { name: 'X' } }] }),
        answer({ text: 'X is a city' }),
        answer({ text: 'next' }),
      );
      const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server[dialect](), tools: [city] });
      const session = { store: memorySession(), id: 's' };
      const first = await sound(run(agent, 'What is X?', { session }));
      expect(first).toMatchObject({ status: 'completed', output: 'X is a city' });
      await sound(run(agent, 'And Y?', { session }));

      expect(server.problems).toEqual([]);
      const [, second, third] = server.bodies.map((body) => JSON.stringify(body.messages));
      expect(second).toContain('call_1');
      expect(second).toContain('X is a city');
      for (const words of ['What is X?', 'Looking it up', 'call_1', 'And Y?']) expect(third?.split(words).length).toBeGreaterThan(1);
      expect(third?.split('What is X?')).toHaveLength(2);
      expect(server.bodies.some((body) => 'previous_response_id' in body)).toBe(false);
    },
  );

  const ok = defineTool({
    name: 'ok',
    description: 'Waits.',
    input: z.object({ ms: z.number() }),
    execute: async ({ ms }) => {
      await sleep(ms);
      return `waited ${ms}`;
    },
  });
  const bad = defineTool({
    name: 'bad',
    description: 'Fails.',
    input: z.object({}),
    execute: async () => {
      await sleep(1);
      throw new Error('boom');
    },
  });
  const batch = [callTool('ok', { ms: 15 }, 'c1'), callTool('bad', {}, 'c2'), callTool('ok', { ms: 30 }, 'c3')];

  it('S049: one failing call of three is an error for the model; the others finish', async () => {
    const rejections = unhandled();
    const model = scriptedModel([batch, say('handled')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [ok, bad] });
    const result = await sound(run(agent, 'go'));
    expect(result).toMatchObject({ status: 'completed', output: 'handled' });
    const results = model.requests[1]?.messages.filter((message) => message.role === 'tool');
    expect(results?.map(({ callId, isError }) => [callId, isError])).toEqual([
      ['1.0', false],
      ['1.1', true],
      ['1.2', false],
    ]);
    await sleep(5);
    expect(rejections).toEqual([]);
  });

  it('S049: where a failure ends the run, the others have settled and are recorded before it does', async () => {
    const rejections = unhandled();
    const model = scriptedModel((request) => (request.messages.length === 1 ? batch : say('go on')));
    const strict = defineGuardrail({
      name: 'strict',
      on: ['toolOutput'],
      check: (subject) => (subject.isError ? halt('a tool failed') : allow()),
    });
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [ok, bad], guardrails: [strict] });
    const session = { store: memorySession(), id: 's' };
    const result = await sound(run(agent, 'go', { session }));
    expect(result).toMatchObject({ status: 'blocked', by: 'strict' });
    expect([...ends(result.events)].sort()).toEqual(['1.0 ok', '1.1 error', '1.2 ok']);
    expect(result.events.at(-1)?.type).toBe('run.end');
    const next = await sound(run(agent, 'again', { session }));
    expect(next).toMatchObject({ status: 'completed', output: 'go on' });
    expect(unpaired(model.requests.at(-1)?.messages ?? [])).toEqual([]);
    expect(rejections).toEqual([]);
  });

  it('S055: a tool that tries twice inside gives one result, guarded once', async () => {
    const judged: string[] = [];
    const witness = defineGuardrail({
      name: 'witness',
      on: ['toolInput', 'toolOutput'],
      check: ({ surface, content }) => {
        judged.push(`${surface} ${content}`);
        return allow();
      },
    });
    let attempts = 0;
    const keys = new Set<string>();
    const flaky = defineTool({
      name: 'flaky',
      description: 'Fails at first.',
      input: z.object({}),
      execute: async (_, { progress, idempotencyKey }) => {
        for (;;) {
          attempts += 1;
          keys.add(idempotencyKey);
          progress(attempts);
          if (attempts > 1) return 'fine';
          await sleep(1);
        }
      },
    });
    const agent = defineAgent({
      name: 'a',
      instructions: '',
      model: scriptedModel([callTool('flaky', {}, 'c1'), say('ok')]),
      tools: [flaky],
      guardrails: [witness],
    });
    const { events, result } = await readAll(stream(agent, 'go', { limits: { toolCalls: 1 } }));
    await sound(Promise.resolve(result));
    expect(result.status).toBe('completed');
    expect(ends(events)).toEqual(['1.0 ok']);
    expect(events.flatMap((event) => (event.type === 'tool.progress' ? [`${event.callId} attempt ${event.step}`] : []))).toEqual([
      '1.0 attempt 1',
      '1.0 attempt 2',
    ]);
    expect(judged).toEqual(['toolInput {}', 'toolOutput fine']);
    expect(keys.size).toBe(1);
  });

  describe('S141: whatever a view or a filter of the user leaves out, the request that leaves is legal', () => {
    const history = [
      [callTool('city', { name: 'A' }, 'call_1'), callTool('city', { name: 'B' }, 'call_2')],
      callTool('city', { name: 'C' }, 'call_1'),
      say('done'),
    ];

    it.each(['chat', 'claude'] as const)(
      'S141: results without calls and calls without results are left out together (%s)',
      async (dialect) => {
        const answer = dialect === 'chat' ? chatAnswer : messagesAnswer;
        const server = await serve();
        const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server[dialect](), tools: [city] });
        const choices: View[] = [
          (messages) => messages.filter(({ role }) => role !== 'assistant'),
          (messages) => messages.filter(({ role }) => role !== 'tool'),
          (messages) => messages.slice(2),
          (messages) => messages.filter((_, index) => index !== 2),
          (messages) => [...messages].reverse(),
          (messages) => [...messages, ...messages],
        ];
        for (const view of choices) {
          server.answers = [
            answer({
              calls: [
                { id: 'call_1', name: 'city', args: { name: 'A' } },
                { id: 'call_2', name: 'city', args: { name: 'B' } },
              ],
            }),
            answer({ text: 'done' }),
          ];
          const result = await sound(run(agent, 'go', { view: (messages, info) => (info.turn === 1 ? messages : view(messages, info)) }));
          expect(result.status).toBe('completed');
          expect(server.problems).toEqual([]);
        }
      },
    );

    it('S141: for every choice of messages', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 7 }), { maxLength: 10 }), async (picks) => {
          const model = scriptedModel(history);
          const agent = defineAgent({ name: 'a', instructions: '', model, tools: [city] });
          const view: View = (messages) => (messages.length < 6 ? messages : picks.flatMap((pick) => messages[pick] ?? []));
          const result = await sound(run(agent, 'go', { view }));
          expect(result.status).toBe('completed');
          for (const request of model.requests) {
            expect(unpaired(request.messages)).toEqual([]);
            expect(new Set(request.messages.map(({ id }) => id)).size).toBe(request.messages.length);
          }
        }),
        { numRuns: 60 },
      );
    });

    it('S141: a handoff filter that parts a pair is refused, and the old agent stays', async () => {
      const model = scriptedModel([callTool('city', { name: 'A' }), callTool('transfer_to_b'), say('still a')]);
      const b = defineAgent({ name: 'b', instructions: '', model });
      const history = (messages: readonly Message[]) => messages.filter(({ role }) => role !== 'tool');
      const a = defineAgent({ name: 'a', instructions: '', model, tools: [city], handoffs: [handoff(b, { history })] });
      const result = await sound(run(a, 'go'));
      expect(result).toMatchObject({ status: 'completed', agent: 'a', output: 'still a' });
      expect(ends(result.events)).toEqual(['1.0 ok', '2.0 error']);
    });
  });
});
