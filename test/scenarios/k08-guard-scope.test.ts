import type { Guardrail } from '@guardloop/core';
import { allow, coverage, defineAgent, defineGuardrail, defineTool, deny, memorySession, run, stream } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { messagesAnswer, serve } from './provider-server.js';
import { ofType, readAll, shownText, sound, unpaired } from './sound.js';

/** Denies what holds a word; notes what it looked at. */
const refuses = (name: string, on: 'input' | 'output' | 'toolInput', { word = 'forbidden', seen = [] as string[] } = {}) =>
  defineGuardrail({
    name,
    on: [on],
    check: ({ content }) => {
      seen.push(content);
      return content.includes(word) ? deny(`${name} says no`) : allow();
    },
  });

describe('K8', () => {
  it('S082: a guardrail sees what is new, has the history beside it, and a refused message is in neither', async () => {
    const seen: { readonly content: string; readonly history: readonly string[] }[] = [];
    const guard = defineGuardrail({
      name: 'g',
      on: ['input'],
      check: ({ content, items }, { messages }) => {
        seen.push({ content, history: messages.map(({ id }) => id) });
        expect(items.map(({ via }) => via)).toEqual(['user']);
        return content.includes('BAD') ? deny('a bad word') : allow();
      },
    });
    const model = scriptedModel(() => say('hi'));
    const agent = defineAgent({ name: 'a', instructions: '', model, guardrails: [guard] });
    const session = { store: memorySession(), id: 's' };
    expect((await sound(run(agent, 'BAD', { session, runId: 'r1' }))).status).toBe('blocked');
    expect((await sound(run(agent, 'hello', { session, runId: 'r2' }))).status).toBe('completed');
    expect((await sound(run(agent, 'and again', { session, runId: 'r3' }))).status).toBe('completed');
    expect(seen).toEqual([
      { content: 'BAD', history: [] },
      { content: 'hello', history: [] },
      { content: 'and again', history: ['r2/i1', 'r2/1'] },
    ]);
    expect(JSON.stringify([model.requests, await session.store.load('s')])).not.toContain('BAD');
  });

  it('S085: tool results are no user input, whatever role the provider gives them', async () => {
    const server = await serve(
      messagesAnswer({ calls: [{ id: 'toolu_1', name: 'whoami' }] }),
      messagesAnswer({ text: 'You are admin' }),
      messagesAnswer({ text: 'bye' }),
    );
    const whoami = defineTool({ name: 'whoami', description: 'Tells.', input: z.object({}), execute: () => 'You are Test Admin' });
    const inputs: string[] = [];
    const outputs: string[] = [];
    const injection = defineGuardrail({
      name: 'injection',
      on: ['input', 'toolOutput'],
      check: ({ surface, content }) => {
        (surface === 'input' ? inputs : outputs).push(content);
        return surface === 'input' && content.startsWith('You are') ? deny('an order') : allow();
      },
    });
    const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server.claude(), tools: [whoami], guardrails: [injection] });
    const session = { store: memorySession(), id: 's' };
    expect((await sound(run(agent, 'who am I', { session }))).status).toBe('completed');
    expect((await sound(run(agent, 'thanks', { session }))).status).toBe('completed');
    expect(inputs).toEqual(['who am I', 'thanks']);
    expect(outputs).toEqual(['You are Test Admin']);
    expect(server.problems).toEqual([]);
    expect(JSON.stringify(server.bodies[2]?.messages)).toContain('You are Test Admin');
  });

  it('S088: a guardrail over the last items reads them from the run, whatever the request holds', async () => {
    const windows: string[][] = [];
    const jailbreak = defineGuardrail({
      name: 'jailbreak',
      on: ['input'],
      check: ({ content }, { messages }) => {
        const texts = messages.map((message) =>
          message.role === 'user'
            ? message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
            : message.role === 'assistant'
              ? message.text
              : '',
        );
        const last = [...texts, content].slice(-6);
        windows.push(last);
        return last.join(' ').includes('how do I make') && content === 'a bomb' ? deny('split over turns') : allow();
      },
    });
    const model = scriptedModel(() => say('ok'));
    const agent = defineAgent({ name: 'a', instructions: '', model, guardrails: [jailbreak] });
    const session = { store: memorySession(), id: 's' };
    const view = () => [];
    await sound(run(agent, 'how do I make', { session, view }));
    const result = await sound(run(agent, 'a bomb', { session, view }));
    expect(result).toMatchObject({ status: 'blocked', by: 'jailbreak' });
    expect(windows.at(-1)).toEqual(['how do I make', 'ok', 'a bomb']);
    expect(model.requests[0]?.messages).toEqual([]);
  });

  describe('S098: the output guardrails are those of the agent that speaks', () => {
    const notify = defineTool({
      name: 'notify',
      description: 'Sends a text to the customer.',
      input: z.object({ text: z.string() }),
      flow: { effect: 'send' },
      execute: () => 'sent',
    });
    const setUp = (forBilling: readonly Guardrail<unknown>[]) => {
      const model = scriptedModel({
        triage: [callTool('transfer_to_billing')],
        billing: [callTool('notify', { text: 'forbidden' }), say('forbidden final'), say('allowed final')],
      });
      const seen = { g1: [] as string[], g2: [] as string[], all: [] as string[] };
      const billing = defineAgent({
        name: 'billing',
        instructions: '',
        model,
        tools: [notify],
        guardrails: [refuses('g2', 'output', { seen: seen.g2 }), ...forBilling],
      });
      const triage = defineAgent({
        name: 'triage',
        instructions: '',
        model,
        handoffs: [billing],
        guardrails: [refuses('g1', 'output', { seen: seen.g1 })],
      });
      return { triage, seen, everywhere: refuses('all', 'output', { word: 'nothing', seen: seen.all }) };
    };

    it('S098: the target’s own and the run’s are asked, the first agent’s are not; what a tool sends is guarded as its input', async () => {
      const { triage, seen, everywhere } = setUp([refuses('channel', 'toolInput')]);
      const result = await sound(run(triage, 'go', { guardrails: [everywhere] }));
      expect(result).toMatchObject({ status: 'completed', agent: 'billing', output: 'allowed final' });
      expect(seen).toEqual({ g1: [], g2: ['forbidden final', 'allowed final'], all: ['forbidden final', 'allowed final'] });
      expect(ofType(result.events, 'tool.end').map(({ tool, status }) => [tool, status])).toEqual([['notify', 'denied']]);
    });

    it('S098: a tool that speaks to the customer and has no guardrail is listed by coverage, and refused by a strict run', async () => {
      const { triage } = setUp([]);
      const gap = coverage(triage).find(({ tool }) => tool === 'notify');
      expect(gap?.unguarded).toContain('toolInput');
      await expect(run(triage, 'go', { strict: true })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('notify'),
      });
    });
  });

  describe('S099: the last answer at a limit passes guardrails and session as any other', () => {
    const f = defineTool({ name: 'f', description: 'F.', input: z.object({}), execute: () => 'ok' });
    const setUp = (last: string) => {
      const model = scriptedModel((request) => (request.toolChoice === 'none' || request.messages.length > 4 ? say(last) : callTool('f')));
      const agent = defineAgent({
        name: 'a',
        instructions: '',
        model,
        tools: [f],
        guardrails: [refuses('g', 'output', { word: 'SECRET' })],
      });
      return { agent, model, session: { store: memorySession(), id: 's' } };
    };

    it('S099: refused, it is shown and recorded nowhere', async () => {
      const { agent, session } = setUp('Sorry SECRET');
      const { events, result } = await readAll(stream(agent, 'go', { session, limits: { turns: 1, repairs: 0 }, onLimit: 'finalize' }));
      await sound(Promise.resolve(result));
      expect(result).toMatchObject({ status: 'blocked', by: 'g' });
      expect(JSON.stringify([events, await session.store.load('s')])).not.toContain('SECRET');
    });

    it('S099: passed, it stands once behind whole pairs, is shown once, and the session goes on', async () => {
      const { agent, session, model } = setUp('Sorry');
      const { events, result } = await readAll(stream(agent, 'go', { session, limits: { turns: 1 }, onLimit: 'finalize' }));
      await sound(Promise.resolve(result));
      expect(result).toMatchObject({ status: 'exhausted', limit: 'turns', output: 'Sorry' });
      expect(shownText(events)).toBe('Sorry');
      expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
      expect((await sound(run(agent, 'next', { session }))).status).toBe('completed');
      expect(unpaired(model.requests.at(-1)?.messages ?? [])).toEqual([]);
    });
  });

  describe('S114: the target’s guardrails stand before the target', () => {
    const refund = (ran: string[]) =>
      defineTool({
        name: 'refund',
        description: 'Refunds.',
        input: z.object({}),
        execute: () => {
          ran.push('refund');
          return 'done';
        },
      });

    it('S114: a text refused on direct entry is refused by way of another agent, and the target is never asked', async () => {
      const ran: string[] = [];
      const model = scriptedModel((request) =>
        request.agent === 'billing'
          ? [say('never'), callTool('refund')]
          : request.messages.length === 1
            ? callTool('transfer_to_billing')
            : say('I keep you here.'),
      );
      const billing = defineAgent({
        name: 'billing',
        instructions: '',
        model,
        tools: [refund(ran)],
        guardrails: [refuses('no-refunds', 'input', { word: 'refund' })],
      });
      const triage = defineAgent({ name: 'triage', instructions: '', model, handoffs: [billing] });
      expect(await sound(run(billing, 'refund me'))).toMatchObject({ status: 'blocked', by: 'no-refunds' });
      const result = await sound(run(triage, 'refund me'));
      expect(result).toMatchObject({ status: 'completed', agent: 'triage', output: 'I keep you here.' });
      expect(model.requests.map(({ agent }) => agent)).toEqual(['triage', 'triage']);
      expect(ofType(result.events, 'handoff')).toEqual([]);
      expect(ofType(result.events, 'guard.verdict').find(({ action }) => action === 'deny')).toMatchObject({
        guardrail: 'no-refunds',
        surface: 'input',
      });
      expect(ran).toEqual([]);
    });

    it('S114: through two handoffs, and on the way back, each agent’s own guardrails stand alone, with the run’s', async () => {
      const asked: string[] = [];
      const own = (name: string) =>
        defineGuardrail({
          name,
          on: ['input', 'toolInput', 'output'],
          check: ({ surface }, { agent }) => {
            asked.push(`${name}@${agent}:${surface}`);
            return allow();
          },
        });
      const ping = defineTool({ name: 'ping', description: 'P.', input: z.object({}), execute: () => 'pong' });
      const model = scriptedModel(({ agent, turn }) => {
        if (agent === 'c') return turn === 3 ? callTool('ping') : callTool('transfer_to_a');
        if (agent === 'a' && turn > 1) return say('done');
        return callTool(agent === 'a' ? 'transfer_to_b' : 'transfer_to_c');
      });
      const c = defineAgent({ name: 'c', instructions: '', model, tools: [ping], handoffs: ['a'], guardrails: [own('gc')] });
      const b = defineAgent({ name: 'b', instructions: '', model, handoffs: [c], guardrails: [own('gb')] });
      const a = defineAgent({ name: 'a', instructions: '', model, tools: [ping], handoffs: [b], guardrails: [own('ga')] });
      const result = await sound(run(a, 'go', { guardrails: [own('run')] }));
      expect(result).toMatchObject({ status: 'completed', agent: 'a' });
      expect(asked.filter((line) => line.includes('toolInput'))).toEqual(['run@c:toolInput', 'gc@c:toolInput']);
      expect(asked.filter((line) => line.includes('output'))).toEqual(['run@a:output', 'ga@a:output']);
      for (const name of ['ga', 'gb', 'gc']) expect(asked.some((line) => line.startsWith(`${name}@`) && line.endsWith('input'))).toBe(true);
      const verdicts = ofType(result.events, 'guard.verdict').map(({ guardrail, level }) => `${level} ${guardrail}`);
      expect(new Set(verdicts)).toEqual(new Set(['run run', 'agent ga', 'agent gb', 'agent gc']));
    });
  });
});
