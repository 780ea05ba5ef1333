import { allow, defineAgent, defineGuardrail, defineTool, deny, memorySession, resume, run, stream } from '@guardloop/core';
import type { Piece } from '@guardloop/testing';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { chatAnswer, messagesAnswer, serve } from './provider-server.js';
import { ends, ofType, readAll, shownText, sleep, sound, stored, unpaired } from './sound.js';

const f = defineTool({ name: 'f', description: 'F.', input: z.object({}), execute: () => 'ok' });

describe('K25', () => {
  it.each(['chat', 'claude'] as const)(
    'S046: at the limit of turns the calls of the last answer have run, and the session goes on legally (%s)',
    async (dialect) => {
      const answer = dialect === 'chat' ? chatAnswer : messagesAnswer;
      const server = await serve(
        answer({ calls: [{ id: 'c1', name: 'f' }] }),
        answer({ calls: [{ id: 'c2', name: 'f' }] }),
        answer({ text: 'done' }),
      );
      const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server[dialect](), tools: [f] });
      const session = { store: memorySession(), id: 's' };
      const result = await sound(run(agent, 'go', { session, limits: { turns: 2 } }));
      expect(result).toMatchObject({ status: 'exhausted', limit: 'turns' });
      expect(server.bodies).toHaveLength(2);
      expect(ends(result.events)).toEqual(['1.0 ok', '2.0 ok']);
      expect((await sound(run(agent, 'again', { session }))).status).toBe('completed');
      expect(server.problems).toEqual([]);
    },
  );

  describe('S054: the same call again and again, where a last answer is wanted', () => {
    const circle = (beside: readonly Piece[] = [], from = 1) =>
      scriptedModel(({ agent, toolChoice, turn }) => {
        if (agent === 'b') return say('b here');
        return toolChoice === 'none' ? say('This is what I know.') : [callTool('f'), ...(turn < from ? [] : beside)];
      });
    const limits = { turns: 20 };

    it.each(['run', 'stream', 'resume'] as const)('S054: it is asked for once, is shown, and is the output (%s)', async (door) => {
      const model = circle();
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [f] });
      const options = { limits, onLimit: 'finalize' } as const;
      if (door === 'stream') {
        const { events, result } = await readAll(stream(agent, 'go', options));
        expect(shownText(events)).toBe('This is what I know.');
        expect(result.status).toBe('exhausted');
      }
      const whole = await sound(run(agent, 'go', options));
      const cut = stored({
        ...whole.log,
        events: whole.log.events.slice(0, whole.log.events.findLastIndex(({ type }) => type === 'tool.end') + 1),
      });
      const result = door === 'resume' ? await sound(resume(agent, cut)) : whole;
      expect(result).toMatchObject({ status: 'exhausted', limit: 'repeats', output: 'This is what I know.' });
      expect(model.requests.filter(({ toolChoice }) => toolChoice === 'none')).toHaveLength(door === 'run' ? 1 : 2);
    });

    it.each(['run', 'stream', 'resume'] as const)(
      'S054: what it says beside calls that it is not to make is the output still (%s)',
      async (door) => {
        const model = scriptedModel(({ toolChoice }) => (toolChoice === 'none' ? [say('{"n":1}'), callTool('f')] : callTool('f')));
        const finals: unknown[] = [];
        const look = defineGuardrail({
          name: 'look',
          on: ['output'],
          check: ({ final }) => {
            finals.push(final);
            return allow();
          },
        });
        const output = z.object({ n: z.number().transform(String) });
        const agent = defineAgent({ name: 'a', instructions: '', model, output, tools: [f], guardrails: [look] });
        const options = { limits: { turns: 1 }, onLimit: 'finalize' } as const;
        const whole = await sound(run(agent, 'go', options));
        const events = door === 'stream' ? (await readAll(stream(agent, 'go', options))).events : [];
        if (door === 'stream') expect(shownText(events)).toBe('{"n":1}');
        const cut = stored({ ...whole.log, events: whole.log.events.slice(0, -2) });
        const result = door === 'resume' ? await sound(resume(agent, cut).result) : whole;
        expect(result).toMatchObject({ status: 'exhausted', limit: 'turns', output: { n: '1' } });
        expect(ends(result.events)).toEqual(['1.0 ok', '2.0 aborted']);
        expect(new Set(finals)).toEqual(new Set([true]));
      },
    );

    it('S054: calls beside the last of the equal ones come to their own ends before it', async () => {
      const done: string[] = [];
      const slow = defineTool({
        name: 'slow',
        description: 'S.',
        input: z.object({}),
        flow: { effect: 'write' },
        execute: async () => {
          await sleep(5);
          done.push('slow');
          return 'written';
        },
      });
      const agent = defineAgent({ name: 'a', instructions: '', model: circle([callTool('slow')], 6), tools: [f, slow] });
      const result = await sound(run(agent, 'go', { limits, onLimit: 'finalize' }));
      expect(result).toMatchObject({ status: 'exhausted', limit: 'repeats', output: 'This is what I know.' });
      expect(ends(result.events).slice(-2)).toEqual(['6.0 ok', '6.1 ok']);
      expect(done).toEqual(['slow']);
    });

    it('S054: a handoff beside the last of the equal ones ends the circle, and the run goes on', async () => {
      const model = circle([callTool('transfer_to_b')], 6);
      const b = defineAgent({ name: 'b', instructions: '', model });
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [f], handoffs: [b] });
      expect(await sound(run(agent, 'go', { limits, onLimit: 'finalize' }))).toMatchObject({
        status: 'completed',
        agent: 'b',
        output: 'b here',
      });
      expect(await sound(run(agent, 'go', { limits }))).toMatchObject({ status: 'exhausted', limit: 'repeats' });
    });

    it('S054: a call beside it that waits for a person is decided first, and then it is asked for', async () => {
      const pay = defineTool({ name: 'pay', description: 'P.', input: z.object({}), approval: true, execute: () => 'paid' });
      const agent = defineAgent({ name: 'a', instructions: '', model: circle([callTool('pay')], 6), tools: [f, pay] });
      const asked = await sound(run(agent, 'go', { limits, onLimit: 'finalize' }));
      expect(asked.status).toBe('interrupted');
      if (asked.status !== 'interrupted') return;
      const decisions = Object.fromEntries(asked.approvals.map(({ id }) => [id, 'approve' as const]));
      const result = await sound(resume(agent, stored(asked.log), { decisions }));
      expect(result).toMatchObject({ status: 'exhausted', limit: 'repeats', output: 'This is what I know.' });
      expect(ends(result.events).at(-1)).toBe('6.1 ok');
    });

    it('S054: a run that was cut after the last of the equal ones gives it where the one that goes on wants it', async () => {
      const model = circle();
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [f] });
      const { log } = await sound(run(agent, 'go', { limits }));
      const cut = stored({ ...log, events: log.events.slice(0, -1) });
      expect(await sound(resume(agent, cut))).toMatchObject({ status: 'exhausted', limit: 'repeats' });
      expect(await sound(resume(agent, cut, { onLimit: 'finalize' }))).toMatchObject({
        status: 'exhausted',
        limit: 'repeats',
        output: 'This is what I know.',
      });
    });
  });

  describe('S054: the same failing call again and again', () => {
    const pad = defineTool({
      name: 'pad',
      description: 'P.',
      input: z.discriminatedUnion('command', [
        z.strictObject({ command: z.literal('create'), path: z.string() }),
        z.strictObject({ command: z.literal('replace'), path: z.string(), old_str: z.string(), new_str: z.string() }),
      ]),
      execute: () => 'ok',
    });

    it('S054: is noticed though it never runs: a note at the third, the end at the sixth', async () => {
      const model = scriptedModel(() => callTool('pad', { command: 'create', path: 'a', old_str: '', new_str: '' }));
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [pad] });
      const session = { store: memorySession(), id: 's' };
      const result = await sound(run(agent, 'create pad', { session, limits: { turns: 20 } }));
      expect(result).toMatchObject({ status: 'exhausted', limit: 'repeats' });
      expect(model.requests).toHaveLength(6);
      const results = ofType(result.events, 'tool.end');
      expect(results.map(({ status, note }) => [status, note !== undefined])).toEqual([
        ['error', false],
        ['error', false],
        ['error', true],
        ['error', true],
        ['error', true],
        ['error', true],
      ]);
      const next = await sound(run(agent, 'again', { session, model: scriptedModel([say('ok')]) }));
      expect(next.status).toBe('completed');
      expect(unpaired(next.messages)).toEqual([]);
    });

    it('S054: different bad arguments of one tool are different calls, though all are recorded alike', async () => {
      const model = scriptedModel(({ turn }) =>
        turn > 8 ? say('gave up') : callTool('pad', { command: 'create', path: `p${turn}`, old_str: '' }),
      );
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [pad] });
      const result = await sound(run(agent, 'go', { limits: { turns: 20 } }));
      expect(result.status).toBe('completed');
      expect(ofType(result.events, 'tool.end').every(({ note }) => note === undefined)).toBe(true);
      expect(JSON.stringify(result.log)).not.toContain('old_str\\":');
    });

    it('S054: refused calls of unlike inputs are different calls', async () => {
      const guard = defineGuardrail({ name: 'g', on: ['toolInput'], check: () => deny('no') });
      const attach = defineTool({ name: 'attach', description: 'A.', input: z.object({ path: z.string() }), execute: () => true });
      const model = scriptedModel(({ turn }) => (turn > 8 ? say('gave up') : callTool('attach', { path: `/secret/${turn}` })));
      const result = await sound(
        run(defineAgent({ name: 'a', instructions: '', model, tools: [attach], guardrails: [guard] }), 'go', { limits: { turns: 20 } }),
      );
      expect(result.status).toBe('completed');
      expect(JSON.stringify(result.log)).not.toContain('/secret/');
    });

    it.each([
      ['unknown tools', () => callTool('nowhere', { a: 1 })],
      ['refused calls', () => callTool('f')],
    ] as const)('S054: %s count too', async (_, step) => {
      const guard = defineGuardrail({ name: 'g', on: ['toolInput'], check: () => deny('no') });
      const model = scriptedModel(step);
      const result = await sound(
        run(defineAgent({ name: 'a', instructions: '', model, tools: [f], guardrails: [guard] }), 'go', { limits: { turns: 20 } }),
      );
      expect(result).toMatchObject({ status: 'exhausted', limit: 'repeats' });
      expect(model.requests).toHaveLength(6);
    });
  });

  describe('S189: repeated calls, true and false', () => {
    const notesOf = (events: Parameters<typeof ofType>[0]) => ofType(events, 'tool.end').map(({ note }) => note !== undefined);
    const limits = { turns: 30 };
    const counting = (polling = false) => {
      let count = 0;
      return defineTool({
        name: 'check_status',
        description: 'C.',
        input: z.object({ id: z.number(), more: z.string().optional() }),
        polling,
        execute: () => {
          count += 1;
          return `status ${count}`;
        },
      });
    };
    const same = defineTool({
      name: 'check_status',
      description: 'C.',
      input: z.object({ id: z.number(), more: z.string().optional() }),
      execute: () => 'pending',
    });
    const agentWith = (tools: (typeof same)[], model: ReturnType<typeof scriptedModel>) =>
      defineAgent({ name: 'a', instructions: '', model, tools });

    it('S189: A: the same call with changing results is never flagged', async () => {
      const model = scriptedModel(({ turn }) => (turn > 6 ? say('ready') : callTool('check_status', { id: 1 })));
      const result = await sound(run(agentWith([counting()], model), 'go', { limits }));
      expect(result.status).toBe('completed');
      expect(notesOf(result.events)).toEqual([false, false, false, false, false, false]);
    });

    it('S189: B: with the same result a note at 3 and the end at 6; C: whatever the order of keys', async () => {
      for (const isShuffled of [false, true]) {
        const model = scriptedModel(({ turn }) =>
          callTool('check_status', isShuffled && turn % 2 === 0 ? { more: 'x', id: 1 } : { id: 1, more: 'x' }),
        );
        const result = await sound(run(agentWith([same], model), 'go', { limits }));
        expect(result).toMatchObject({ status: 'exhausted', limit: 'repeats' });
        expect(notesOf(result.events)).toEqual([false, false, true, true, true, true]);
      }
    });

    it('S189: D: other arguments with equal results are other calls', async () => {
      const model = scriptedModel(({ turn }) => (turn > 8 ? say('ready') : callTool('check_status', { id: turn })));
      const result = await sound(run(agentWith([same], model), 'go', { limits }));
      expect(result.status).toBe('completed');
      expect(notesOf(result.events)).not.toContain(true);
    });

    it('S189: E: two calls in turn are both counted', async () => {
      const model = scriptedModel(({ turn }) => callTool('check_status', { id: turn % 2 }));
      const result = await sound(run(agentWith([same], model), 'go', { limits }));
      expect(result).toMatchObject({ status: 'exhausted', limit: 'repeats' });
      expect(model.requests).toHaveLength(11);
    });

    it('S189: F: equal calls in one answer count as one round', async () => {
      const model = scriptedModel(({ turn }) => (turn > 2 ? say('ready') : [1, 2, 3, 4].map(() => callTool('check_status', { id: 1 }))));
      const result = await sound(run(agentWith([same], model), 'go', { limits }));
      expect(result.status).toBe('completed');
      expect(notesOf(result.events)).not.toContain(true);
    });

    it('S189: a tool that is polled is left alone, and a changed result starts the count again', async () => {
      const polled = defineTool({
        name: 'check_status',
        description: 'C.',
        input: z.object({ id: z.number(), more: z.string().optional() }),
        polling: true,
        execute: () => 'pending',
      });
      const polls = scriptedModel(({ turn }) => (turn > 10 ? say('ready') : callTool('check_status', { id: 1 })));
      expect((await sound(run(agentWith([polled], polls), 'go', { limits }))).status).toBe('completed');

      let count = 0;
      const turning = defineTool({
        name: 'check_status',
        description: 'C.',
        input: z.object({ id: z.number(), more: z.string().optional() }),
        execute: () => {
          count += 1;
          return count <= 4 ? 'pending' : 'running';
        },
      });
      const model = scriptedModel(({ turn }) => (turn > 6 ? say('ready') : callTool('check_status', { id: 1 })));
      const result = await sound(run(agentWith([turning], model), 'go', { limits }));
      expect(result.status).toBe('completed');
      expect(notesOf(result.events)).toEqual([false, false, true, true, false, false]);
    });

    it('S189: the count goes on over a pause', async () => {
      const gated = defineTool({ name: 'gate', description: 'G.', input: z.object({}), approval: true, execute: () => 'ok' });
      const model = scriptedModel(({ turn }) => (turn === 3 ? callTool('gate') : callTool('check_status', { id: 1 })));
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [same, gated] });
      const first = await sound(run(agent, 'go', { limits }));
      const id = first.status === 'interrupted' ? (first.approvals[0]?.id ?? '') : '';
      const result = await sound(resume(agent, stored(first.log), { decisions: { [id]: 'approve' } }).result);
      expect(result).toMatchObject({ status: 'exhausted', limit: 'repeats' });
      expect(model.requests).toHaveLength(7);
    });
  });

  describe('S190: what a limit of turns means', () => {
    const agentWith = (model: ReturnType<typeof scriptedModel>) => defineAgent({ name: 'a', instructions: '', model, tools: [f] });
    const tooled = () => scriptedModel([callTool('f'), say('done')]);

    it('S190: it counts model calls: one for a plain answer, two with a tool', async () => {
      expect(await sound(run(agentWith(scriptedModel([say('hi')])), 'go', { limits: { turns: 1 } }))).toMatchObject({
        status: 'completed',
      });
      expect(await sound(run(agentWith(tooled()), 'go', { limits: { turns: 2 } }))).toMatchObject({ status: 'completed' });
      const model = tooled();
      expect(await sound(run(agentWith(model), 'go', { limits: { turns: 1 } }))).toMatchObject({ status: 'exhausted', limit: 'turns' });
      expect(model.requests).toHaveLength(1);
    });

    it.each([0, -1, 1.5, Number.NaN, '3', null])('S190: %j is refused at once; Infinity is no limit', async (turns) => {
      const model = tooled();
      await expect(run(agentWith(model), 'go', { limits: { turns: turns as number } })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('turns'),
      });
      expect(model.requests).toHaveLength(0);
      expect((await sound(run(agentWith(tooled()), 'go', { limits: { turns: Number.POSITIVE_INFINITY } }))).status).toBe('completed');
    });

    it('S190: attempts of the adapter do not count', async () => {
      const server = await serve({ status: 503, headers: { 'retry-after-ms': '1' }, steps: ['{}'] }, chatAnswer({ text: 'ok' }));
      const agent = defineAgent({ name: 'a', instructions: 'Help.', model: server.chat({ maxRetries: 1 }) });
      expect(await sound(run(agent, 'go', { limits: { turns: 1 } }))).toMatchObject({ status: 'completed', usage: { requests: 2 } });
    });

    it('S190: the count goes on over a pause, and a higher limit at resume lets the run go on', async () => {
      const gated = defineTool({ name: 'gated', description: 'G.', input: z.object({}), approval: true, execute: () => 'ok' });
      const model = scriptedModel([callTool('gated'), callTool('gated'), say('done')]);
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [gated] });
      const approve = (result: { readonly approvals?: readonly { readonly id: string }[] }) => ({
        [result.approvals?.[0]?.id ?? '']: 'approve' as const,
      });
      const first = await sound(run(agent, 'go', { limits: { turns: 2 } }));
      const second = await sound(resume(agent, stored(first.log), { decisions: approve(first as never) }).result);
      const third = await sound(resume(agent, stored(second.log), { decisions: approve(second as never) }).result);
      expect(third).toMatchObject({ status: 'exhausted', limit: 'turns' });
      expect(model.requests).toHaveLength(2);
      const same = await sound(resume(agent, stored(third.log)).result);
      expect(same).toMatchObject({ status: 'exhausted', limit: 'turns' });
      const last = await sound(resume(agent, stored(third.log), { limits: { turns: 3 } }).result);
      expect(last).toMatchObject({ status: 'completed', output: 'done' });
    });

    it('S190: the stream ends with it, once', async () => {
      const { events, result } = await readAll(stream(agentWith(tooled()), 'go', { limits: { turns: 1 } }));
      await sound(Promise.resolve(result));
      expect(events.at(-1)).toMatchObject({ type: 'run.end', status: 'exhausted', limit: 'turns' });
    });

    it('S190: a refused answer and its repair are two turns, an input that was refused is none', async () => {
      const guard = defineGuardrail({ name: 'g', on: ['output'], check: ({ content }) => (content === 'bad' ? deny('no') : allow()) });
      const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('bad'), say('good')]), guardrails: [guard] });
      expect(await sound(run(agent, 'go', { limits: { turns: 2 } }))).toMatchObject({ status: 'completed' });
      expect(await sound(run(agent, 'go', { limits: { turns: 1 } }))).toMatchObject({ status: 'exhausted', limit: 'turns' });
      const closed = defineGuardrail({ name: 'closed', on: ['input'], check: () => deny('no') });
      const refused = await sound(run(defineAgent({ name: 'a', instructions: '', model: scriptedModel([]), guardrails: [closed] }), 'go'));
      expect(refused).toMatchObject({ status: 'blocked', usage: { requests: 0 } });
    });
  });
});
