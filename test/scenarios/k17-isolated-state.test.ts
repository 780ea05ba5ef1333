import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { LogEvent, RunEvent, SessionStore, View } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineTool, memorySession, resume, run, stream, withContext } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { ends, gate, ofType, sleep, sound, unpaired } from './sound.js';

const f = defineTool({ name: 'f', description: 'F.', input: z.object({}), execute: async () => 'ok' });

describe('K17', () => {
  describe('S115: a process that dies after a handoff', () => {
    it.each(['run', 'stream'] as const)('S115: the session holds each item once, and the new agent is active (%s)', async (mode) => {
      const answer = gate();
      const script = { triage: [callTool('transfer_to_a', {}, 'h1')] };
      const model = scriptedModel({ ...script, a: [() => answer.opened.then(() => say('A here'))] });
      const a = defineAgent({ name: 'a', instructions: '', model });
      const triage = defineAgent({ name: 'triage', instructions: '', model, handoffs: [a] });
      const store = memorySession();
      const running =
        mode === 'run'
          ? run(triage, 'go', { session: { store, id: 's' }, runId: 'r' })
          : stream(triage, 'go', { session: { store, id: 's' }, runId: 'r' }).result;
      const dead = await vi.waitUntil(async () => {
        const events = await store.load('s');
        return events.filter(({ type }) => type === 'model.start').length === 2 && events;
      });
      answer.open();
      await running;
      expect(dead.map(({ type }) => type)).toEqual(['run.start', 'input.accept', 'model.start', 'model.end', 'handoff', 'model.start']);

      // Another process finds what the dead one had stored.
      const after = { store: memorySession(), id: 's' };
      await after.store.append('s', JSON.parse(JSON.stringify(dead)) as LogEvent[], 0);
      const again = scriptedModel({ ...script, a: [say('A here')] });
      const result = await sound(resume(triage, after, { model: again }).result);
      expect(result).toMatchObject({ status: 'completed', agent: 'a', output: 'A here' });
      expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
      expect(again.requests.map(({ agent }) => agent)).toEqual(['a']);
    });
  });

  describe('S124: which agent starts the next run of a session', () => {
    const setUp = () => {
      const asked: string[] = [];
      const guard = (name: string) =>
        defineGuardrail({
          name,
          on: ['input'],
          check: ({ items }) => {
            asked.push(`${name}: ${items.at(-1)?.text}`);
            return allow();
          },
        });
      const model = scriptedModel(({ agent, messages }) =>
        agent === 'triage' && messages.length === 1 ? callTool('transfer_to_billing') : say(`${agent} speaks`),
      );
      const billing = defineAgent({ name: 'billing', instructions: 'Bill.', model, tools: [f], guardrails: [guard('of-billing')] });
      const triage = defineAgent({ name: 'triage', instructions: 'Route.', model, handoffs: [billing], guardrails: [guard('of-triage')] });
      return { asked, model, triage, session: { store: memorySession(), id: 's' } };
    };

    it('S124: the last one, where it can be reached: with its instructions, tools and guardrails', async () => {
      const { triage, session, asked, model } = setUp();
      await sound(run(triage, 'one', { session }));
      asked.length = 0;
      const result = await sound(run(triage, 'two', { session }));
      expect(result).toMatchObject({ status: 'completed', agent: 'billing', output: 'billing speaks' });
      expect(asked).toEqual(['of-billing: two']);
      expect(model.requests.at(-1)).toMatchObject({ agent: 'billing', system: 'Bill.', tools: [{ name: 'f' }] });
    });

    it('S124: the one given, where the last one is gone: it sees the conversation, and its guardrails what is new to it', async () => {
      const { triage, session, asked } = setUp();
      await sound(run(triage, 'one', { session }));
      asked.length = 0;
      const seen: string[] = [];
      const model = scriptedModel(({ agent, messages }) => {
        seen.push(...messages.map(({ role }) => role));
        return say(`${agent} speaks`);
      });
      const guard = defineGuardrail({
        name: 'of-new',
        on: ['input'],
        check: ({ items }) => {
          asked.push(items.map(({ text }) => text).join(', '));
          return allow();
        },
      });
      const fresh = defineAgent({ name: 'desk', instructions: 'Desk.', model, guardrails: [guard] });
      const result = await sound(run(fresh, 'two', { session }));
      expect(result).toMatchObject({ status: 'completed', agent: 'desk', output: 'desk speaks' });
      expect(seen.filter((role) => role === 'user').length).toBeGreaterThanOrEqual(2);
      expect(asked.join()).toContain('one');
      expect(asked.join()).toContain('two');
    });
  });

  describe('S125: two runs on one session at once', () => {
    it('S125: one enters, the other is told so before it does anything; nothing is lost or mixed', async () => {
      const requests: string[] = [];
      const model = scriptedModel((request) => {
        requests.push(request.agent);
        return request.messages.at(-1)?.role === 'user' ? callTool('f') : say('done');
      });
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [f] });
      const session = { store: memorySession(), id: 's' };
      const both = await Promise.allSettled([run(agent, 'A', { session }), run(agent, 'B', { session })]);
      expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      expect(both.find((each) => each.status === 'rejected')?.reason).toMatchObject({ code: 'LOG_CONFLICT' });
      expect(requests).toHaveLength(2);
      const next = await sound(run(agent, 'C', { session }));
      expect(next.status).toBe('completed');
      expect(next.messages.map(({ role }) => role).join(' ')).toBe('user assistant tool assistant user assistant tool assistant');
      expect(unpaired(model.requests.at(-1)?.messages ?? [])).toEqual([]);
    });

    it('S125: one that comes while another is under way is refused too', async () => {
      const asked = gate();
      const answer = gate();
      const model = scriptedModel([
        async () => {
          asked.open();
          await answer.opened;
          return say('done');
        },
      ]);
      const agent = defineAgent({ name: 'a', instructions: '', model });
      const session = { store: memorySession(), id: 's' };
      const first = run(agent, 'A', { session });
      await asked.opened;
      await expect(run(agent, 'B', { session })).rejects.toMatchObject({ code: 'RESUME_MISMATCH' });
      answer.open();
      expect((await sound(first)).status).toBe('completed');
    });

    it('S125: a writer that was overtaken appends nothing more and starts no effect', async () => {
      const effects: string[] = [];
      const pay = defineTool({
        name: 'pay',
        description: 'P.',
        input: z.object({}),
        execute: () => {
          effects.push('paid');
          return 'paid';
        },
      });
      const asked = gate();
      const answer = gate();
      const model = scriptedModel([
        async () => {
          asked.open();
          await answer.opened;
          return callTool('pay');
        },
        say('done'),
      ]);
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [pay] });
      const session = { store: memorySession(), id: 's' };
      const slow = run(agent, 'A', { session });
      await asked.opened;
      await vi.waitUntil(async () => (await session.store.load('s')).at(-1)?.type === 'model.start');
      // Another worker takes the run over.
      const taken = await sound(resume(agent, session, { model: scriptedModel([callTool('pay'), say('done')]) }).result);
      expect(taken.status).toBe('completed');
      answer.open();
      const lost = await slow;
      expect(lost).toMatchObject({ status: 'failed', error: { code: 'LOG_CONFLICT' } });
      expect(effects).toEqual(['paid']);
      expect(await session.store.load('s')).toEqual(taken.log.events);
    });
  });

  describe('S136: compaction that fails', () => {
    const setUp = () => {
      const model = scriptedModel(({ turn }) => say(`answer ${turn}`));
      const agent = defineAgent({ name: 'a', instructions: '', model });
      return { agent, model, session: { store: memorySession(), id: 's' } };
    };

    it('S136: changes nothing of what is stored; the run fails and can be gone on with', async () => {
      const { agent, session } = setUp();
      await sound(run(agent, 'one', { session }));
      const before = await session.store.load('s');
      const broken: View = async () => {
        throw new Error('the summarizer is down: one');
      };
      const failed = await sound(run(agent, 'two', { session, view: broken }));
      expect(failed).toMatchObject({ status: 'failed', error: { code: 'CONFIG_INVALID', message: expect.stringContaining('view') } });
      expect((await session.store.load('s')).slice(0, before.length)).toEqual(before);
      const result = await sound(resume(agent, session).result);
      expect(result).toMatchObject({ status: 'completed' });
      expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
    });

    it('S136: is told of an abort, and writes nothing after the run has settled', async () => {
      const { agent, session } = setUp();
      await sound(run(agent, 'one', { session }));
      const stop = new AbortController();
      let heard: AbortSignal | undefined;
      const slow: View = async (messages, { signal }) => {
        heard = signal;
        stop.abort();
        await sleep(40);
        return [{ text: 'a late summary' }, ...messages.slice(-1)];
      };
      const result = await sound(run(agent, 'two', { session, view: slow, signal: stop.signal }));
      expect(result.status).toBe('cancelled');
      expect(heard?.aborted).toBe(true);
      const settled = await session.store.load('s');
      await sleep(60);
      expect(await session.store.load('s')).toEqual(settled);
      expect(JSON.stringify(settled)).not.toContain('a late summary');
    });

    it('S136: a store that fails in the middle keeps what it had, and says so', async () => {
      const inner = memorySession();
      let fails = false;
      const store: SessionStore = {
        load: (id, after) => inner.load(id, after),
        append: async (id, events, after) => {
          if (fails) throw new Error('disk full: secret path');
          await inner.append(id, events, after);
        },
      };
      const { agent } = setUp();
      const session = { store, id: 's' };
      await sound(run(agent, 'one', { session }));
      const before = await inner.load('s');
      fails = true;
      const failure = await run(agent, 'two', { session }).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 'STORE_FAILED', isRetryable: true });
      expect(String(failure)).not.toContain('secret path');
      expect(await inner.load('s')).toEqual(before);
      fails = false;
      expect((await sound(run(agent, 'two', { session }))).status).toBe('completed');
    });
  });

  it('S199: two hundred runs at once with one agent: each has its own context, tools, settings and results', async () => {
    interface Person {
      readonly userId: string;
      readonly isOdd: boolean;
    }
    const shop = withContext<Person>();
    const whoami = shop.defineTool({
      name: 'whoami',
      description: 'W.',
      input: z.object({}),
      enabled: ({ context }) => context.isOdd,
      execute: async (_, { context }) => {
        await sleep(Math.random() * 10);
        return context.userId;
      },
    });
    const other = shop.defineTool({
      name: 'other',
      description: 'O.',
      input: z.object({}),
      enabled: ({ context }) => !context.isOdd,
      execute: async (_, { context }) => `other ${context.userId}`,
    });
    const model = scriptedModel(({ messages, tools, system, settings }) => {
      const last = messages.at(-1);
      return last?.role === 'tool' ? say(`${system} ${last.content} ${settings.temperature}`) : callTool(tools[0]?.name ?? 'none');
    });
    const agent = shop.defineAgent({
      name: 'a',
      instructions: async ({ context }) => {
        await sleep(Math.random() * 5);
        return `Serve ${context.userId}.`;
      },
      model,
      settings: ({ context }) => ({ temperature: context.isOdd ? 1 : 0 }),
      tools: [whoami, other],
    });
    expect(Object.isFrozen(agent)).toBe(true);
    const people = Array.from({ length: 200 }, (_, index): Person => ({ userId: `u${index}`, isOdd: index % 2 === 1 }));
    const results = await Promise.all(people.map((context) => run(agent, 'go', { context })));
    for (const [index, result] of results.entries()) {
      const { userId, isOdd } = people[index] ?? { userId: '', isOdd: false };
      const said = `Serve ${userId}. ${isOdd ? userId : `other ${userId}`} ${isOdd ? 1 : 0}`;
      expect(result).toMatchObject({ status: 'completed', output: said });
    }
    await sound(Promise.resolve(results[7] ?? Promise.reject(new Error('no result'))));
  });

  it('S199: what a caller does to a result changes no paused state', async () => {
    const gated = defineTool({
      name: 'gated',
      description: 'G.',
      input: z.object({ to: z.string() }),
      approval: true,
      execute: ({ to }) => `sent ${to}`,
    });
    const agent = defineAgent({
      name: 'a',
      instructions: '',
      model: scriptedModel([callTool('gated', { to: 'x' }), say('ok')]),
      tools: [gated],
    });
    const session = { store: memorySession(), id: 's' };
    const first = await sound(run(agent, 'go', { session }));
    if (first.status !== 'interrupted') throw new Error('it should wait');
    const before = JSON.stringify(await session.store.load('s'));
    const [approval] = first.approvals;
    expect(() => Object.assign(approval?.input ?? {}, { to: 'evil' })).toThrow(TypeError);
    for (const event of first.events) expect(() => Object.assign(event, { run: 'other' })).toThrow(TypeError);
    const attempts: (() => unknown)[] = [
      () => (first.messages as unknown[]).splice(0),
      () => (first.events as unknown[]).splice(0),
      () => (first.log.events as unknown[]).splice(0),
      () => (first.approvals as unknown[]).splice(0),
    ];
    for (const attempt of attempts) {
      try {
        attempt();
      } catch {
        // Frozen is fine too.
      }
    }
    expect(JSON.stringify(await session.store.load('s'))).toBe(before);
    const result = await sound(resume(agent, session, { decisions: { [approval?.id ?? '']: 'approve' } }).result);
    expect(ends(result.events)).toEqual(['1.0 ok']);
    expect(ofType(result.events, 'tool.end')[0]?.content).toBe('sent x');
  });

  it('S200: thousands of runs leave nothing behind', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const heap = async (): Promise<number> => {
      for (let round = 0; round < 3; round += 1) {
        collectGarbage();
        await sleep(1);
      }
      return process.memoryUsage().heapUsed;
    };
    const model = scriptedModel([callTool('f'), say('ok')], { record: false });
    const seen: RunEvent['type'][] = [];
    const guard = defineGuardrail({ name: 'g', on: ['input', 'toolInput', 'toolOutput', 'output'], check: async () => allow() });
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [f], guardrails: [guard] });
    const observers = [({ type }: RunEvent) => seen.splice(0, 1, type)];
    const rounds = async (count: number): Promise<void> => {
      for (let round = 0; round < count; round += 1) {
        await (round % 2 === 0 ? run(agent, 'go', { observers }) : stream(agent, 'go').result);
      }
    };
    await rounds(200);
    const before = await heap();
    await rounds(800);
    const grown = ((await heap()) - before) / 800;
    expect(grown).toBeLessThan(1_024);
  });
});
