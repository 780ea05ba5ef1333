import type { Message } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineTool, handoff, memorySession, rewrite, run } from '@guardloop/core';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { responsesAnswer, serve } from './provider-server.js';
import { sound } from './sound.js';

type Item = Readonly<Record<string, unknown>>;

const reasoning = (id: string, encrypted: string | null): Item => ({ id, type: 'reasoning', encrypted_content: encrypted, summary: [] });
const said = (id: string, text: string): Item => ({
  id,
  type: 'message',
  status: 'completed',
  content: [{ type: 'output_text', annotations: [], text }],
  role: 'assistant',
});
const calls = (id: string, callId: string, name: string): Item => ({
  id,
  type: 'function_call',
  status: 'completed',
  arguments: '{}',
  call_id: callId,
  name,
});
const inputOf = (body: Item | undefined): readonly Item[] => (body?.input ?? []) as readonly Item[];

const tool = (name: string, ran: string[] = []) =>
  defineTool({
    name,
    description: 'Does it.',
    input: z.object({}),
    flow: { effect: 'write' },
    execute: () => {
      ran.push(name);
      return `${name} is done`;
    },
  });

describe('K3', () => {
  it('S010: reasoning and the calls it led to are replayed together, in order, an empty summary with them', async () => {
    const items = [reasoning('rs_1', 'E1'), calls('fc_1', 'call_1', 'a'), calls('fc_2', 'call_2', 'b')];
    const server = await serve(responsesAnswer(...items), responsesAnswer(said('msg_1', 'done')));
    const agent = defineAgent({ name: 'desk', instructions: 'Help.', model: server.responses(), tools: [tool('a'), tool('b')] });
    const result = await sound(run(agent, 'do a and b'));

    expect(result).toMatchObject({ status: 'completed', output: 'done' });
    expect(server.problems).toEqual([]);
    const input = inputOf(server.bodies[1]);
    expect(input.slice(1, 4).map((item) => JSON.stringify(item))).toEqual(items.map((item) => JSON.stringify(item)));
    expect(input.slice(4)).toMatchObject([
      { type: 'function_call_output', call_id: 'call_1' },
      { type: 'function_call_output', call_id: 'call_2' },
    ]);
  });

  it('S011: what no later request can refer to is not sent: reasoning that came without its encrypted content, and ids', async () => {
    const server = await serve(
      responsesAnswer(reasoning('rs_1', null), calls('fc_1', 'call_1', 'a')),
      responsesAnswer(reasoning('rs_2', null), said('msg_2', 'done')),
      responsesAnswer(calls('fc_3', 'call_3', 'transfer_to_billing')),
      responsesAnswer(said('msg_4', 'hi')),
    );
    const billing = defineAgent({ name: 'billing', description: 'Bills.', instructions: 'Bill.', model: server.responses() });
    const history = (messages: readonly Message[]): readonly Message[] =>
      messages.filter((message) => message.role === 'user' || (message.role === 'assistant' && message.calls.length === 0));
    const desk = defineAgent({
      name: 'desk',
      instructions: 'Help.',
      model: server.responses(),
      tools: [tool('a')],
      handoffs: [handoff(billing, { history })],
    });
    const session = { store: memorySession(), id: 's' };
    await sound(run(desk, 'do a', { session }));
    expect(await sound(run(desk, 'hello', { session }))).toMatchObject({ status: 'completed', output: 'hi' });

    expect(server.problems).toEqual([]);
    expect(server.bodies).toHaveLength(4);
    for (const body of server.bodies) {
      expect(body).toMatchObject({ store: false, include: ['reasoning.encrypted_content'] });
      expect(body).not.toHaveProperty('previous_response_id');
      expect(inputOf(body).filter(({ type }) => type === 'reasoning' || type === 'item_reference')).toEqual([]);
      expect(JSON.stringify(body)).not.toMatch(/rs_\d|fc_1|msg_2/);
    }
  });

  describe('S009: the process dies behind a call', () => {
    const begin = async (ran: string[]) => {
      const server = await serve(
        responsesAnswer(reasoning('rs_1', 'E1'), calls('fc_1', 'call_1', 'a')),
        responsesAnswer(said('msg_1', 'resumed')),
        responsesAnswer(said('msg_2', 'again')),
        responsesAnswer(said('msg_3', 'and again')),
      );
      const agent = defineAgent({ name: 'desk', instructions: 'Help.', model: server.responses(), tools: [tool('a', ran)] });
      const whole = await run(agent, 'begin');
      const cut = whole.log.events.findIndex(({ type }) => type === 'tool.start') + 1;
      const store = memorySession();
      await store.append('s', whole.log.events.slice(0, cut), 0);
      server.bodies.length = 0;
      return { server, agent, session: { store, id: 's' } };
    };

    it('the call and its reasoning go on together, with a result that says what happened', async () => {
      const { server, agent, session } = await begin([]);
      await sound(run(agent, 'continue', { session, unfinished: 'abandon' }));
      await sound(run(agent, 'go on', { session }));

      expect(server.problems).toEqual([]);
      for (const body of server.bodies) {
        expect(inputOf(body).slice(1, 4)).toMatchObject([
          { type: 'reasoning', id: 'rs_1', encrypted_content: 'E1', summary: [] },
          { type: 'function_call', call_id: 'call_1' },
          { type: 'function_call_output', call_id: 'call_1', output: expect.stringContaining('unknown') as string },
        ]);
      }
    });

    it('a view that leaves the call out leaves its reasoning out, in every later run', async () => {
      const { server, agent, session } = await begin([]);
      const view = (messages: readonly Message[]): readonly Message[] => messages.filter(({ role }) => role !== 'tool');
      await sound(run(agent, 'continue', { session, unfinished: 'abandon', view }));
      await sound(run(agent, 'go on', { session, view }));

      expect(server.problems).toEqual([]);
      expect(server.bodies).toHaveLength(2);
      for (const body of server.bodies) expect(JSON.stringify(body)).not.toMatch(/rs_1|call_1|E1/);
    });
  });

  it('an answer that a guardrail rewrote goes on as it was rewritten, without the reasoning that would betray it', async () => {
    const server = await serve(
      responsesAnswer(reasoning('rs_1', 'E-SECRET'), said('msg_1', 'The code is 12-34.')),
      responsesAnswer(said('msg_2', 'Fine.')),
    );
    const codes = defineGuardrail({
      name: 'no-codes',
      on: ['output'],
      rewrite: ({ content }) => (content.includes('12-34') ? rewrite(content.replace('12-34', '[code]'), 'a code') : allow()),
    });
    const agent = defineAgent({ name: 'desk', instructions: '', model: server.responses(), guardrails: [codes] });
    const session = { store: memorySession(), id: 's' };
    await sound(run(agent, 'the code?', { session }));
    await sound(run(agent, 'thanks', { session }));

    expect(server.problems).toEqual([]);
    expect(inputOf(server.bodies[1])[1]).toEqual({ type: 'message', role: 'assistant', content: 'The code is [code].' });
    expect(JSON.stringify(server.bodies[1])).not.toMatch(/12-34|E-SECRET|rs_1|msg_1/);
  });
});
