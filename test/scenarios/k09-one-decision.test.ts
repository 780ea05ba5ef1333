import type { Message } from '@guardloop/core';
import {
  allow,
  asTool,
  defineAgent,
  defineGuardrail,
  defineTool,
  deny,
  handoff,
  memorySession,
  resume,
  run,
  stream,
} from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { chatAnswer, messagesAnswer, serve } from './provider-server.js';
import { ends, ofType, readAll, shownText, sleep, sound, stored, unhandled, unpaired } from './sound.js';

describe('K9', () => {
  describe('S048: a tool that ends the run, beside a slower one', () => {
    const setUp = (fails: boolean) => {
      const settled: string[] = [];
      const answer = defineTool({
        name: 'answer',
        description: 'A.',
        input: z.object({ t: z.string() }),
        endsRun: true,
        execute: async ({ t }) => t,
      });
      const audit = defineTool({
        name: 'audit',
        description: 'Au.',
        input: z.object({}),
        execute: async () => {
          await sleep(30);
          settled.push('audit');
          if (fails) throw new Error('disk full');
          return 'noted';
        },
      });
      const model = scriptedModel([[callTool('audit', {}, 'c1'), callTool('answer', { t: '42' }, 'c2')]]);
      return { settled, model, agent: defineAgent({ name: 'helper', instructions: '', model, tools: [answer, audit] }) };
    };

    it.each([false, true])('S048: the run ends after both have settled; a failure is recorded (fails: %s)', async (fails) => {
      const rejections = unhandled();
      const { agent, settled, model } = setUp(fails);
      const result = await sound(run(agent, 'go'));
      expect(result).toMatchObject({ status: 'completed', output: '42' });
      expect(settled).toEqual(['audit']);
      expect(model.requests).toHaveLength(1);
      expect([...ends(result.events)].sort()).toEqual([fails ? '1.0 error' : '1.0 ok', '1.1 ok']);
      if (fails) expect(JSON.stringify(result.log)).toContain('disk full');
      await sleep(5);
      expect(rejections).toEqual([]);
    });

    it('S048: of two that end the run the first in call order counts, whichever is faster', async () => {
      const answer = (name: string, ms: number) =>
        defineTool({
          name,
          description: name,
          input: z.object({}),
          endsRun: true,
          execute: async () => {
            await sleep(ms);
            return name;
          },
        });
      for (const [slow, fast] of [
        [20, 1],
        [1, 20],
      ] as const) {
        const model = scriptedModel([[callTool('first'), callTool('second')]]);
        const agent = defineAgent({ name: 'a', instructions: '', model, tools: [answer('first', slow), answer('second', fast)] });
        const { events, result } = await readAll(stream(agent, 'go'));
        await sound(Promise.resolve(result));
        expect(result).toMatchObject({ status: 'completed', output: 'first' });
        expect(shownText(events)).toBe('first');
      }
    });

    it('S048: a handoff beside it goes before, in either order; refused, the answer counts', async () => {
      const answer = defineTool({ name: 'answer', description: 'A.', input: z.object({}), endsRun: true, execute: () => '42' });
      for (const isRefused of [false, true]) {
        for (const calls of [
          [callTool('answer'), callTool('transfer_to_b')],
          [callTool('transfer_to_b'), callTool('answer')],
        ]) {
          const model = scriptedModel(({ agent }) => (agent === 'b' ? say('b here') : calls));
          const closed = defineGuardrail({ name: 'closed', on: ['input'], check: () => (isRefused ? deny('not you') : allow()) });
          const b = defineAgent({ name: 'b', instructions: '', model, guardrails: [closed] });
          const agent = defineAgent({ name: 'a', instructions: '', model, tools: [answer], handoffs: [b] });
          const { events, result } = await readAll(stream(agent, 'go'));
          await sound(Promise.resolve(result));
          const output = isRefused ? '42' : 'b here';
          expect(result).toMatchObject({ status: 'completed', agent: isRefused ? 'a' : 'b', output });
          expect(shownText(events)).toBe(output);
        }
      }
    });

    it.each(['approve', 'reject'] as const)(
      'S048: beside a call that waits for a person it is shown once that is decided, in another process too (%s)',
      async (given) => {
        const paid: string[] = [];
        const answer = defineTool({
          name: 'answer',
          description: 'A.',
          input: z.object({ n: z.string() }),
          endsRun: true,
          execute: (input) => input,
        });
        const pay = defineTool({
          name: 'pay',
          description: 'P.',
          input: z.object({}),
          flow: { effect: 'send' },
          approval: true,
          execute: () => {
            paid.push('paid');
            return 'paid';
          },
        });
        const model = scriptedModel([[callTool('answer', { n: '5' }), callTool('pay')]]);
        const output = z.object({ n: z.string().transform(Number) });
        const agent = defineAgent({ name: 'a', instructions: '', model, output, tools: [answer, pay] });
        const asked = await readAll(stream(agent, 'go'));
        await sound(Promise.resolve(asked.result));
        expect(shownText(asked.events)).toBe('');
        expect(paid).toEqual([]);
        if (asked.result.status !== 'interrupted') throw new Error(asked.result.status);
        const decision = given === 'approve' ? given : { reject: 'not today' };
        const decisions = Object.fromEntries(asked.result.approvals.map(({ id }) => [id, decision]));
        const { events, result } = await readAll(resume(agent, stored(asked.result.log), { decisions }));
        await sound(Promise.resolve(result));
        expect(result).toMatchObject({ status: 'completed', output: { n: 5 } });
        expect(shownText(events)).toBe('{"n":"5"}');
        expect(paid).toEqual(given === 'approve' ? ['paid'] : []);
        expect(model.requests).toHaveLength(1);
      },
    );

    it('S048: used as a tool, the parent gets the answer', async () => {
      const { agent, settled } = setUp(false);
      const model = scriptedModel([callTool('ask', { input: 'x' }), say('ok')]);
      const main = defineAgent({ name: 'main', instructions: '', model, tools: [asTool(agent, { name: 'ask', description: 'Asks.' })] });
      const result = await sound(run(main, 'go'));
      expect(result.status).toBe('completed');
      expect(ofType(result.events, 'tool.end').find(({ tool }) => tool === 'ask')?.content).toBe('42');
      expect(settled).toEqual(['audit']);
    });
  });

  it('S071: around a handoff, the calls end first, then the swap, then the new agent speaks; a handoff is no tool call', async () => {
    const log = defineTool({ name: 'log', description: 'L.', input: z.object({}), execute: async () => 'logged' });
    const model = scriptedModel({
      triage: [[callTool('log', {}, 'c1'), callTool('transfer_to_billing', {}, 'h1')]],
      billing: [say('billing here')],
    });
    const billing = defineAgent({ name: 'billing', instructions: '', model });
    const triage = defineAgent({ name: 'triage', instructions: '', model, tools: [log], handoffs: [billing] });
    const { events, result } = await readAll(stream(triage, 'go'));
    await sound(Promise.resolve(result));
    const named = events.map((event) => {
      if (event.type === 'text.delta') return `text ${event.agent}`;
      if (event.type === 'tool.start' || event.type === 'tool.end') return `${event.type} ${event.tool}`;
      return event.type === 'handoff' ? `handoff ${event.from} ${event.to}` : event.type;
    });
    const story = named.filter((name) => !['guard.verdict', 'turn.start', 'run.start', 'input.accept', 'tool.delta'].includes(name));
    expect(story).toEqual([
      'model.start',
      'model.end',
      'tool.start log',
      'tool.end log',
      'handoff triage billing',
      'model.start',
      'text billing',
      'model.end',
      'run.end',
    ]);
    const durable = events.filter((event) => 'seq' in event);
    expect(durable).toEqual(result.events);
  });

  describe('S111: of two handoffs in one answer the first counts', () => {
    it.each(['chat', 'claude'] as const)('S111: the second is answered once and never tried (%s)', async (dialect) => {
      const answer = dialect === 'chat' ? chatAnswer : messagesAnswer;
      const server = await serve(
        answer({
          calls: [
            { id: 'h1', name: 'transfer_to_a' },
            { id: 'h2', name: 'transfer_to_b' },
          ],
        }),
        answer({ text: 'A here' }),
        answer({ text: 'second turn' }),
      );
      let bWasBriefed = false;
      const model = server[dialect]();
      const a = defineAgent({ name: 'a', instructions: 'A.', model });
      const b = defineAgent({ name: 'b', instructions: 'B.', model });
      const brief = () => {
        bWasBriefed = true;
        return 'b';
      };
      const triage = defineAgent({ name: 'triage', instructions: 'T.', model, handoffs: [a, handoff(b, { brief })] });
      const session = { store: memorySession(), id: 's' };
      const result = await sound(run(triage, 'go', { session }));
      expect(result).toMatchObject({ status: 'completed', agent: 'a', output: 'A here' });
      const second = await sound(run(triage, 'next', { session }));
      expect(second).toMatchObject({ status: 'completed', agent: 'a', output: 'second turn' });
      expect(server.problems).toEqual([]);
      expect(bWasBriefed).toBe(false);
      expect(ends(result.events)).toEqual(['1.1 aborted']);
      expect(ofType(result.events, 'handoff').map(({ to }) => to)).toEqual(['a']);
      // The log holds both pairs, in call order.
      expect(result.messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))).toEqual(['1.0', '1.1']);
    });

    it('S111: whatever their order and company', async () => {
      const slow = defineTool({
        name: 'slow',
        description: 'S.',
        input: z.object({}),
        execute: async () => {
          await sleep(5);
          return 'ok';
        },
      });
      const calls = [callTool('slow'), callTool('transfer_to_a'), callTool('transfer_to_b')] as const;
      for (const order of [
        [0, 1, 2],
        [1, 0, 2],
        [2, 1, 0],
        [1, 2, 0],
        [2, 0, 1],
        [0, 2, 1],
      ] as const) {
        const model = scriptedModel(({ agent }) => (agent === 'triage' ? order.map((index) => calls[index]) : say(agent)));
        const a = defineAgent({ name: 'a', instructions: '', model });
        const b = defineAgent({ name: 'b', instructions: '', model });
        const triage = defineAgent({ name: 'triage', instructions: '', model, tools: [slow], handoffs: [a, b] });
        const result = await sound(run(triage, 'go'));
        expect(result).toMatchObject({ status: 'completed', output: order.indexOf(1) < order.indexOf(2) ? 'a' : 'b' });
      }
    });
  });

  describe('S116: with the agent, everything of the agent is swapped', () => {
    const setUp = async (count: number) => {
      const server = await serve(
        chatAnswer({ calls: [{ id: 'h1', name: 'transfer_to_billing' }] }),
        ...Array.from({ length: count }, () => chatAnswer({ text: '{"ok":true}' })),
      );
      const pay = defineTool({ name: 'pay', description: 'P.', input: z.object({}), execute: () => 'paid' });
      const look = defineTool({ name: 'look', description: 'L.', input: z.object({}), execute: () => 'seen' });
      const billing = defineAgent({
        name: 'billing',
        instructions: 'You do billing.',
        model: server.chat({}, 'm2'),
        tools: [pay],
        output: z.object({ ok: z.boolean() }),
      });
      const triage = defineAgent({
        name: 'triage',
        instructions: 'You do triage.',
        model: server.chat({}, 'm1'),
        settings: { toolChoice: 'required', temperature: 0 },
        tools: [look],
        handoffs: [billing],
      });
      return { server, triage };
    };
    const names = (body: Readonly<Record<string, unknown>> | undefined) =>
      (body?.tools as { function: { name: string } }[] | undefined)?.map(({ function: { name } }) => name);

    it('S116: model, instructions, tools, tool choice, settings and schema', async () => {
      const { server, triage } = await setUp(1);
      const result = await sound(run(triage, 'go'));
      expect(result).toMatchObject({ status: 'completed', agent: 'billing', output: { ok: true } });
      const [first, second] = server.bodies;
      expect(first).toMatchObject({ model: 'm1', temperature: 0, tool_choice: 'required' });
      expect(first).not.toHaveProperty('response_format');
      expect(names(first)).toEqual(['look', 'transfer_to_billing']);
      expect(second).toMatchObject({ model: 'm2', response_format: { type: 'json_schema' } });
      expect(second).not.toHaveProperty('temperature');
      expect(second?.tool_choice ?? 'auto').toBe('auto');
      expect(names(second)).toEqual(['pay']);
      expect(JSON.stringify(second?.response_format)).toContain('"ok"');
      const systems = ((second?.messages ?? []) as { role: string; content: string }[]).filter(({ role }) => role === 'system');
      expect(systems.map(({ content }) => content)).toEqual(['You do billing.']);
      expect(JSON.stringify(second)).not.toContain('You do triage.');
      expect(server.problems).toEqual([]);
    });

    it('S116: the run’s own model serves both', async () => {
      const { server, triage } = await setUp(1);
      await sound(run(triage, 'go', { model: server.chat({}, 'mX') }));
      expect(server.bodies.map(({ model }) => model)).toEqual(['mX', 'mX']);
    });
  });

  it('S120: with a filter, the target’s request holds what the filter chose, and names nothing that a provider keeps', async () => {
    const server = await serve(
      chatAnswer({ calls: [{ id: 'c1', name: 'look' }] }),
      chatAnswer({ calls: [{ id: 'h1', name: 'transfer_to_a' }] }),
      chatAnswer({ text: 'A' }),
    );
    const look = defineTool({ name: 'look', description: 'L.', input: z.object({}), execute: () => 'private' });
    const a = defineAgent({ name: 'a', instructions: 'A.', model: server.chat() });
    const history = async (messages: readonly Message[]) => messages.filter(({ role }) => role === 'user');
    const triage = defineAgent({
      name: 'triage',
      instructions: 'T.',
      model: server.chat(),
      tools: [look],
      handoffs: [handoff(a, { history })],
    });
    const result = await sound(run(triage, 'go'));
    expect(result).toMatchObject({ status: 'completed', agent: 'a' });
    expect(server.problems).toEqual([]);
    const last = server.bodies[2]?.messages as { role: string; content: string }[];
    expect(last.map(({ role, content }) => `${role}: ${content}`)).toEqual(['system: A.', 'user: go', 'user: Handed off from triage.']);
    for (const body of server.bodies)
      for (const key of ['previous_response_id', 'conversation', 'store']) expect(body[key] ?? false).toBe(false);
    // What was recorded is not changed by the filter.
    expect(unpaired(result.messages)).toEqual([]);
    expect(JSON.stringify(result.messages)).toContain('private');
  });
});
