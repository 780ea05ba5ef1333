import type { Agent, Approval, Log, LogEvent, Model, RunResult, SessionStore } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineTool, handoff, memorySession, resume, run, stream } from '@guardloop/core';
import { callTool, normalLog, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { chatAnswer, serve } from './provider-server.js';
import { ends, gate, ofType, sleep, sound, stored } from './sound.js';

const approvalsOf = (result: RunResult): readonly Approval[] => (result.status === 'interrupted' ? result.approvals : []);
const idOf = (result: RunResult): string => approvalsOf(result)[0]?.id ?? 'none';

describe('K11', () => {
  it('S090: guardrails are asked once, however often the model is tried', async () => {
    const server = await serve({ status: 503, headers: { 'retry-after-ms': '1' }, steps: ['{}'] }, chatAnswer({ text: 'ok' }));
    let asked = 0;
    let open = 0;
    const slow = defineGuardrail({
      name: 'slow',
      on: ['input'],
      beside: 'model',
      check: async () => {
        asked += 1;
        open += 1;
        await sleep(60);
        open -= 1;
        return allow();
      },
    });
    const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server.chat({ maxRetries: 1 }), guardrails: [slow] });
    const result = await sound(run(agent, 'go'));
    expect(result).toMatchObject({ status: 'completed', output: 'ok', usage: { requests: 2 } });
    expect(server.bodies).toHaveLength(2);
    expect([asked, open]).toEqual([1, 0]);
    expect(ofType(result.events, 'guard.verdict')).toHaveLength(1);
  });

  it('S090: nor are they asked again when a failed run is reopened', async () => {
    const server = await serve({ status: 500, steps: ['{}'] }, chatAnswer({ text: 'ok' }));
    let asked = 0;
    const guard = defineGuardrail({
      name: 'g',
      on: ['input'],
      check: () => {
        asked += 1;
        return allow();
      },
    });
    const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server.chat(), guardrails: [guard] });
    const session = { store: memorySession(), id: 's' };
    expect((await sound(run(agent, 'go', { session }))).status).toBe('failed');
    expect(await sound(resume(agent, session).result)).toMatchObject({ status: 'completed', output: 'ok' });
    expect(asked).toBe(1);
  });

  describe('S129: after a pause everything stands in the session once', () => {
    const setUp = () => {
      const pay = defineTool({ name: 'pay', description: 'Pays.', input: z.object({}), approval: true, execute: () => 'paid' });
      const model = scriptedModel([callTool('pay', {}, 'c1'), say('paid')]);
      return { model, agent: defineAgent({ name: 'a', instructions: '', model, tools: [pay] }) };
    };
    const variants = (['run', 'stream'] as const).flatMap((mode) => (['session', 'log'] as const).map((source) => ({ mode, source })));

    it.each(variants)('S129: in $mode, resumed from the $source', async ({ mode, source }) => {
      const { agent } = setUp();
      const session = { store: memorySession(), id: 's' };
      const first = await sound(mode === 'run' ? run(agent, 'go', { session }) : stream(agent, 'go', { session }).result);
      const decisions = { [idOf(first)]: 'approve' } as const;
      const result = await sound(resume(agent, source === 'session' ? session : stored(first.log), { decisions }).result);
      expect(result.status).toBe('completed');
      expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
      const log: Log = source === 'session' ? { version: 1, events: await session.store.load('s') } : result.log;
      expect(log.events).toEqual(result.log.events);
      expect(log.events.map(({ seq }) => seq)).toEqual(log.events.map((_, index) => index + 1));
      for (const type of ['input.accept', 'tool.start', 'tool.end', 'run.end'])
        expect(log.events.filter((event) => event.type === type)).toHaveLength(1);
    });

    it('S129: a view that repeats, clones or reorders history adds nothing to the session', async () => {
      const { agent, model } = setUp();
      const session = { store: memorySession(), id: 's' };
      const view = (messages: readonly never[]) => [...messages, ...messages.map((message: object) => ({ ...message }) as never)];
      const first = await sound(run(agent, 'go', { session, view: view as never }));
      const result = await sound(resume(agent, session, { view: view as never, decisions: { [idOf(first)]: 'approve' } }).result);
      expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
      const next = await sound(run(agent, 'again', { session, view: view as never }));
      const before = next.messages.length;
      expect(new Set(next.messages.map(({ id }) => id)).size).toBe(before);
      expect(new Set(model.requests.at(-1)?.messages.map(({ id }) => id)).size).toBe(model.requests.at(-1)?.messages.length);
    });
  });

  describe('S145: what a paused run needs is looked for before anything happens', () => {
    const ran: string[] = [];
    const refundOf = (name: string, input: z.ZodObject = z.object({ id: z.string() })) =>
      defineTool({
        name,
        description: name,
        input,
        approval: true,
        execute: () => {
          ran.push(name);
          return 'done';
        },
      });
    const model = scriptedModel([[callTool('refund', { id: 'o1' }, 'c1')], say('ok')]);
    const v1 = defineAgent({ name: 'shop', instructions: '', model, tools: [refundOf('refund')] });
    const pause = async () => {
      ran.length = 0;
      const session = { store: memorySession(), id: 's' };
      const first = await sound(run(v1, 'go', { session }));
      return { session, decisions: { [idOf(first)]: 'approve' } as const };
    };
    const other = defineAgent({ name: 'other', instructions: '', model });
    it.each([
      ['removed', defineAgent({ name: 'shop', instructions: '', model }), ['refund', '1.0']],
      ['renamed', defineAgent({ name: 'shop', instructions: '', model, tools: [refundOf('refund_order')] }), ['refund', '1.0']],
      ['of a renamed agent', defineAgent({ name: 'store', instructions: '', model, tools: [refundOf('refund')] }), ['shop']],
    ] as const)('S145: a tool that is %s', async (_, v2, words) => {
      const { session, decisions } = await pause();
      const before = await session.store.load('s');
      const failure = await resume(v2 as Agent<unknown>, session, { decisions }).result.then(
        () => undefined,
        (error: unknown) => error as Error,
      );
      expect(failure).toMatchObject({ code: 'RESUME_MISMATCH' });
      for (const word of words) expect(failure?.message).toContain(word);
      expect(await session.store.load('s')).toEqual(before);
      expect(ran).toEqual([]);
      // With the tool back it goes on.
      expect(await sound(resume(v1, session, { decisions }).result)).toMatchObject({ status: 'completed' });
      expect(ran).toEqual(['refund']);
    });

    it('S145: a call whose tool is gone can be rejected without it', async () => {
      const { session, decisions } = await pause();
      const [id = ''] = Object.keys(decisions);
      const v2 = defineAgent({ name: 'shop', instructions: '', model });
      const result = await sound(resume(v2, session, { decisions: { [id]: { reject: 'Made by hand from today.' } } }).result);
      expect(result.status).toBe('completed');
      expect(ofType(result.events, 'tool.end')).toMatchObject([{ status: 'rejected', content: expect.stringContaining('by hand') }]);
      expect(ran).toEqual([]);
    });

    it('S145: a handoff of the same name does not take the call’s place', async () => {
      const { session, decisions } = await pause();
      const v2 = defineAgent({ name: 'shop', instructions: '', model, handoffs: [handoff(other, { name: 'refund' })] });
      await expect(resume(v2, session, { decisions }).result).rejects.toMatchObject({ code: 'RESUME_MISMATCH' });
      expect(ran).toEqual([]);
    });

    it('S145: with another schema the arguments are looked at again, and what does not fit is an error for the model', async () => {
      const { session, decisions } = await pause();
      const v2 = defineAgent({ name: 'shop', instructions: '', model, tools: [refundOf('refund', z.object({ order: z.number() }))] });
      const result = await sound(resume(v2, session, { decisions }).result);
      expect(result.status).toBe('completed');
      expect(ends(result.events)).toEqual(['1.0 error']);
      expect(ofType(result.events, 'tool.end')[0]).toMatchObject({ errorClass: 'invalid_input' });
      expect(ran).toEqual([]);
    });

    it('S145: a tool that does something else now than what was approved is told, and so is every change where none is taken', async () => {
      const { session, decisions } = await pause();
      const before = await session.store.load('s');
      const refund = (description: string, authority: 'all' | readonly string[]) =>
        defineAgent({
          name: 'shop',
          instructions: '',
          model,
          tools: [
            defineTool({
              name: 'refund',
              description,
              input: z.object({ id: z.string() }),
              approval: true,
              flow: { effect: 'write', authority: authority as never },
              execute: () => {
                ran.push('refund');
                return 'done';
              },
            }),
          ],
        });
      const refused = (agent: Agent<unknown>, accept?: 'same') =>
        expect(resume(agent, session, { decisions, ...(accept ? { accept } : {}) }).result).rejects.toMatchObject({
          code: 'RESUME_MISMATCH',
          message: expect.stringContaining('refund'),
        });
      await refused(refund('refund', ['id']));
      const reworded = defineAgent({
        name: 'shop',
        instructions: '',
        model,
        tools: [refundOf('refund', z.object({ id: z.string().max(9) }))],
      });
      await refused(reworded, 'same');
      expect(await session.store.load('s')).toEqual(before);
      expect(ran).toEqual([]);
      expect(await sound(resume(refund('refund', ['id']), session, { decisions, accept: 'changed' }).result)).toMatchObject({
        status: 'completed',
      });
      expect(ran).toEqual(['refund']);
    });

    it('S145: a guardrail that is gone is missed too', async () => {
      ran.length = 0;
      const guard = defineGuardrail({ name: 'limits', on: ['toolInput'], check: () => allow() });
      const guarded = defineAgent({ name: 'shop', instructions: '', model, tools: [refundOf('refund')], guardrails: [guard] });
      const first = await sound(run(guarded, 'go'));
      const decisions = { [idOf(first)]: 'approve' } as const;
      await expect(resume(v1, stored(first.log), { decisions }).result).rejects.toMatchObject({
        code: 'RESUME_MISMATCH',
        message: expect.stringContaining('limits'),
      });
      expect(ran).toEqual([]);
    });
  });

  describe('S147: what is done is not done again, and one pause is left once', () => {
    const setUp = () => {
      const effects: string[] = [];
      const effect = (name: string, approval: boolean) =>
        defineTool({
          name,
          description: name,
          input: z.object({}),
          approval,
          execute: (_, { idempotencyKey }) => {
            effects.push(`${name} ${idempotencyKey}`);
            return `${name} done`;
          },
        });
      const model = scriptedModel([[callTool('charge', {}, 'c1'), callTool('mail', {}, 'c2')], say('ok')]);
      return {
        effects,
        model,
        agent: defineAgent({ name: 'a', instructions: '', model, tools: [effect('charge', false), effect('mail', true)] }),
      };
    };

    it('S147: from a store, of two resumes at once one wins and the other starts nothing', async () => {
      const { agent, effects, model } = setUp();
      const session = { store: memorySession(), id: 's' };
      const first = await sound(run(agent, 'go', { session, runId: 'r' }));
      expect(effects).toEqual(['charge r/1.0']);
      const decisions = { [idOf(first)]: 'approve' } as const;
      const both = await Promise.allSettled([resume(agent, session, { decisions }).result, resume(agent, session, { decisions }).result]);
      expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      const lost = both.find((each) => each.status === 'rejected');
      expect(lost?.reason).toMatchObject({ code: 'LOG_CONFLICT' });
      expect(effects).toEqual(['charge r/1.0', 'mail r/1.1']);
      const won = both.find((each) => each.status === 'fulfilled');
      if (won) await sound(Promise.resolve(won.value));
      const contents = model.requests.at(-1)?.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []));
      expect(contents).toEqual(['charge done', 'mail done']);
      await expect(resume(agent, session, { decisions }).result).rejects.toMatchObject({ code: 'RESUME_MISMATCH' });
      expect(effects).toHaveLength(2);
    });

    it('S147: from two copies of a bare log the effect has the same key both times', async () => {
      const { agent, effects } = setUp();
      const first = await sound(run(agent, 'go', { runId: 'r' }));
      const decisions = { [idOf(first)]: 'approve' } as const;
      await sound(resume(agent, stored(first.log), { decisions }).result);
      await sound(resume(agent, stored(first.log), { decisions }).result);
      expect(effects).toEqual(['charge r/1.0', 'mail r/1.1', 'mail r/1.1']);
    });
  });

  it('S215: replayed twenty times, the steps, the log and the request bodies are the same, also after a handoff there and back', async () => {
    const play = async () => {
      const server = await serve(
        chatAnswer({
          calls: [
            { id: 'c1', name: 'f' },
            { id: 'c2', name: 'g' },
          ],
        }),
        chatAnswer({ calls: [{ id: 'h1', name: 'transfer_to_b' }] }),
        chatAnswer({ calls: [{ id: 'h2', name: 'transfer_to_a' }] }),
        chatAnswer({ text: 'done' }),
      );
      const keys: string[] = [];
      const tool = (name: string, ms: number) =>
        defineTool({
          name,
          description: name,
          input: z.object({}),
          execute: async (_, { idempotencyKey }) => {
            keys.push(idempotencyKey);
            await sleep(ms);
            return name;
          },
        });
      const b = defineAgent({ name: 'b', instructions: 'B.', model: server.chat(), handoffs: ['a'] });
      // Whichever tool is faster.
      const jitter = Math.random() * 4;
      const a = defineAgent({
        name: 'a',
        instructions: 'A.',
        model: server.chat(),
        tools: [tool('f', jitter), tool('g', 4 - jitter)],
        handoffs: [b],
      });
      let now = 0;
      const clock = { now: () => (now += 1), after: (ms: number, go: () => void) => clearTimer(setTimeout(go, ms)) };
      const result = await sound(run(a, 'go', { runId: 'r', clock }));
      expect(result.status).toBe('completed');
      return { keys, bodies: server.bodies, log: normalLog(result.log), models: ofType(result.events, 'model.start').length };
    };
    const clearTimer = (timer: NodeJS.Timeout) => () => clearTimeout(timer);
    const first = await play();
    expect(first.models).toBe(4);
    for (let round = 1; round < 20; round += 1) expect(await play()).toEqual(first);
  });

  it('S215: a run that was cut in the middle of a slow model call asks for the same again', async () => {
    const asked = gate();
    const answer = gate();
    const model = scriptedModel([
      async () => {
        asked.open();
        await answer.opened;
        return say('slow');
      },
    ]);
    const agent = defineAgent({ name: 'a', instructions: '', model });
    const session = { store: memorySession(), id: 's' };
    const running = run(agent, 'go', { session, runId: 'r' });
    await asked.opened;
    const cut: Log = {
      version: 1,
      events: await vi.waitUntil(async () => {
        const events = await session.store.load('s');
        return events.at(-1)?.type === 'model.start' && events;
      }),
    };
    answer.open();
    await running;
    const again = await sound(resume(agent, stored(cut)).result);
    expect(again).toMatchObject({ status: 'completed', output: 'slow' });
    expect(model.requests).toHaveLength(2);
    expect(model.requests[1]).toEqual(model.requests[0]);
  });

  describe('S214: a process that dies between any two events', () => {
    /** A store that keeps this many events, and then never answers again, as if its process were gone. */
    const dyingAfter = (
      count: number,
    ): { readonly store: SessionStore; readonly gone: Promise<void>; readonly left: () => Promise<SessionStore> } => {
      const kept: LogEvent[] = [];
      const gone = gate();
      const store: SessionStore = {
        load: async () => [...kept],
        append: async (_, events) => {
          const room = Math.max(0, count - kept.length);
          kept.push(...events.slice(0, room));
          if (events.length <= room) return;
          gone.open();
          await new Promise(() => undefined);
        },
      };
      return {
        store,
        gone: gone.opened,
        left: async () => {
          const next = memorySession();
          if (kept.length > 0) await next.append('s', JSON.parse(JSON.stringify(kept)) as LogEvent[], 0);
          return next;
        },
      };
    };

    it('S214: goes on to the same requests; a recorded result is not made again, an effect in flight is asked about or has the same key', async () => {
      const effects: string[] = [];
      const effect = (name: string, repeatable: boolean) =>
        defineTool({
          name,
          description: name,
          input: z.object({ id: z.number().optional() }),
          repeatable,
          execute: async (_, { idempotencyKey }) => {
            effects.push(`${name} ${idempotencyKey}`);
            await sleep(1);
            return `${name} done`;
          },
        });
      const tools = [effect('charge', false), effect('mail', true)];
      const script = [[callTool('charge', { id: 1 }, 'c1'), callTool('mail', {}, 'c2')], say('done')];
      const agentWith = (model: Model) => defineAgent({ name: 'a', instructions: '', model, tools });
      const whole = scriptedModel(script);
      const plain = await sound(run(agentWith(whole), 'go', { runId: 'r', session: { store: memorySession(), id: 's' } }));
      const total = plain.log.events.length;
      const asked: number[] = [];
      for (let count = 1; count <= total; count += 1) {
        effects.length = 0;
        const { store, gone, left } = dyingAfter(count);
        const model = scriptedModel(script);
        const dead = run(agentWith(model), 'go', { runId: 'r', session: { store, id: 's' } });
        await Promise.race([dead, gone]);
        const session = { store: await left(), id: 's' };
        const before = effects.length;
        let result = await sound(resume(agentWith(model), session, { input: 'go' }).result);
        if (result.status === 'interrupted') {
          asked.push(count);
          expect(result.approvals).toMatchObject([{ tool: 'charge', mayHaveRun: true }]);
          expect(effects.filter((name) => name.startsWith('charge')).length).toBeLessThanOrEqual(1);
          const given = effects.some((name) => name.startsWith('charge')) ? { result: 'charge done' } : ('approve' as const);
          result = await sound(resume(agentWith(model), session, { decisions: { [result.approvals[0]?.id ?? '']: given } }).result);
        }
        expect(result, `after ${count} of ${total}`).toMatchObject({ status: 'completed', output: 'done' });
        expect(
          effects.filter((name) => name === 'charge r/1.0'),
          `after ${count}`,
        ).toHaveLength(1);
        expect(new Set(effects), `after ${count}`).toEqual(new Set(['charge r/1.0', 'mail r/1.1']));
        expect(before).toBeLessThanOrEqual(2);
        expect(model.requests.at(-1)?.messages).toEqual(whole.requests.at(-1)?.messages);
        expect(model.requests.length).toBeLessThanOrEqual(whole.requests.length + 1);
      }
      expect(asked.length).toBeGreaterThan(0);
    });
  });
});
