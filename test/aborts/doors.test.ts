import { getEventListeners } from 'node:events';
import type { Approval, QuarantineStore, RunEvent, RunResult, SessionStore } from '@guardloop/core';
import {
  allow,
  ask,
  asTool,
  defineAgent,
  defineGuardrail,
  defineTool,
  memorySession,
  resume,
  run,
  stream,
  withConcurrency,
} from '@guardloop/core';
import type { Scheduler } from '@guardloop/testing';
import { auditLog, callTool, failWith, say, scriptedModel, seededScheduler } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ofType, unhandled } from '../scenarios/sound.js';

const reason = Object.assign(new Error('enough'), { name: 'Enough' });
const approvalsOf = (result: RunResult): readonly Approval[] => (result.status === 'interrupted' ? result.approvals : []);

/** Nothing of a run is left: no timer, and no listener on the caller's signal. */
function expectNothingLeft({ timers }: Scheduler, signal: AbortSignal): void {
  expect(timers.filter((name) => name.startsWith('timer#'))).toEqual([]);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
}

function stopAt(scheduler: Scheduler, ms: number): AbortController {
  const stop = new AbortController();
  scheduler.clock.after(ms, () => stop.abort(reason));
  return stop;
}

describe('a store that hangs before the run is entered', () => {
  const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('done')]) });
  const hangs = (scheduler: Scheduler, what: 'load' | 'append', inner: SessionStore = memorySession()): SessionStore => ({
    load: (id, after) => (what === 'load' ? scheduler.hang('load') : inner.load(id, after)),
    append: (id, events, after) => (what === 'append' ? scheduler.hang('append') : inner.append(id, events, after)),
  });

  it.each(['load', 'append'] as const)('%s: an aborted run is refused, two seconds after', async (what) => {
    const rejections = unhandled();
    for (const door of ['run', 'stream', 'resume'] as const) {
      const scheduler = seededScheduler();
      const { clock } = scheduler;
      const inner = memorySession();
      if (door === 'resume')
        await run(agent, 'go', { session: { store: inner, id: 's' }, model: scriptedModel([failWith(new Error('down'))]) });
      const session = { store: hangs(scheduler, what, inner), id: 's' };
      const stop = stopAt(scheduler, 500);
      const options = { clock, signal: stop.signal };
      const running = scheduler.run<RunResult>(async () => {
        if (door === 'run') return run(agent, 'go', { ...options, session });
        return door === 'stream'
          ? stream(agent, 'go', { ...options, session }).result
          : resume(agent, session, { ...options, limits: { turns: 2 } }).result;
      });
      await expect(running).rejects.toMatchObject({ code: 'STORE_FAILED', isRetryable: true, cause: { name: 'Enough' } });
      expect(clock.now()).toBe(2_500);
      expectNothingLeft(scheduler, stop.signal);
    }
    expect(rejections).toEqual([]);
  });

  it.each(['load', 'append'] as const)('%s: a stream that is left is refused, two seconds after', async (what) => {
    const scheduler = seededScheduler();
    const watched = stream(agent, 'go', { clock: scheduler.clock, session: { store: hangs(scheduler, what), id: 's' } });
    const iterator = watched[Symbol.asyncIterator]();
    const running = scheduler.run(async () => {
      scheduler.clock.after(500, () => void iterator.return?.());
      expect(await iterator.next()).toEqual({ done: true, value: undefined });
      return watched.result;
    });
    await expect(running).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect(scheduler.clock.now()).toBe(2_500);
    expect(scheduler.timers).toEqual([]);
  });

  it('one that answers in time is entered, and ends cancelled', async () => {
    const scheduler = seededScheduler();
    const inner = memorySession();
    const store: SessionStore = {
      load: async (id, after) => {
        await scheduler.sleep(1_000);
        return inner.load(id, after);
      },
      append: inner.append.bind(inner),
    };
    const stop = stopAt(scheduler, 500);
    const session = { store, id: 's' };
    const result = await scheduler.run(() => run(agent, 'go', { clock: scheduler.clock, signal: stop.signal, session }));
    expect(result).toMatchObject({ status: 'cancelled', cause: { name: 'Enough' } });
    expect(scheduler.clock.now()).toBe(1_000);
    expect(await inner.load('s')).toEqual(result.log.events);
    expectNothingLeft(scheduler, stop.signal);
  });
});

describe('a quarantine that hangs', () => {
  const setUp = (hangs: 'put' | 'get' | 'delete', scheduler: Scheduler) => {
    const kept = new Map<string, never>();
    let isHanging = true;
    const use = async <T>(name: string, act: () => T): Promise<T> => (isHanging && name === hangs ? scheduler.hang(name) : act());
    const quarantine: QuarantineStore = {
      put: (key, value) => use('put', () => void kept.set(key, value as never)),
      get: (key) => use('get', () => kept.get(key)),
      delete: (key) => use('delete', () => void kept.delete(key)),
    };
    const reads = defineGuardrail({ name: 'reads', on: ['output'], check: () => ask('a person reads it') });
    const model = scriptedModel(() => say('A delicate answer.'));
    const agent = defineAgent({ name: 'a', instructions: '', model, guardrails: [reads] });
    return { agent, quarantine, kept, model, mend: () => (isHanging = false) };
  };

  it.each(['get', 'delete'] as const)('%s, once a person has approved: the run ends, and the decision is not lost', async (hangs) => {
    for (const isLeft of [true, false]) {
      const scheduler = seededScheduler();
      const { clock } = scheduler;
      const { agent, quarantine, kept, model, mend } = setUp(hangs, scheduler);
      const first = await scheduler.run(() => run(agent, 'go', { clock, quarantine }));
      const decisions = { [approvalsOf(first)[0]?.id ?? '']: 'approve' } as const;
      const stop = isLeft ? new AbortController() : stopAt(scheduler, 500);
      const second = await scheduler.run(async () => {
        const watched = resume(agent, first.log, { clock, quarantine, decisions, signal: stop.signal });
        const iterator = watched[Symbol.asyncIterator]();
        if (isLeft) scheduler.clock.after(500, () => void iterator.return?.());
        return watched.result;
      });
      expect(clock.now()).toBeLessThanOrEqual(550);
      expect(auditLog(second.log)).toEqual([]);
      expectNothingLeft(scheduler, stop.signal);
      // Only the store's copy was still to be deleted.
      if (hangs === 'delete') {
        expect(second).toMatchObject({ status: 'completed', output: 'A delicate answer.' });
        continue;
      }
      expect(second).toMatchObject({ status: 'cancelled', cause: { name: isLeft ? 'AbortError' : 'Enough' } });
      mend();
      const third = await scheduler.run(async () => resume(agent, second.log, { clock, quarantine }).result);
      expect(third).toMatchObject({ status: 'completed', output: 'A delicate answer.' });
      expect(auditLog(third.log)).toEqual([]);
      expect(model.requests).toHaveLength(1);
      expect(kept.size).toBe(0);
    }
  });

  it('a stop while an approved answer is judged again leaves the decision as it is', async () => {
    const scheduler = seededScheduler();
    const { clock } = scheduler;
    const { quarantine, kept } = setUp('put', scheduler);
    quarantine.put = async (key, value) => void kept.set(key, value as never);
    let asked = 0;
    const slow = defineGuardrail({
      name: 'slow',
      on: ['output'],
      check: () => (asked++ === 1 ? scheduler.hang('slow') : ask('a person reads it')),
    });
    const model = scriptedModel([say('A delicate answer.')]);
    const agent = defineAgent({ name: 'a', instructions: '', model, guardrails: [slow] });
    const first = await scheduler.run(() => run(agent, 'go', { clock, quarantine }));
    const decisions = { [approvalsOf(first)[0]?.id ?? '']: 'approve' } as const;
    const stop = stopAt(scheduler, 500);
    const second = await scheduler.run(async () => resume(agent, first.log, { clock, quarantine, decisions, signal: stop.signal }).result);
    expect(second).toMatchObject({ status: 'cancelled', cause: { name: 'Enough' } });
    expect(auditLog(second.log)).toEqual([]);
    expect(kept.size).toBe(1);
    const third = await scheduler.run(async () => resume(agent, second.log, { clock, quarantine }).result);
    expect(third).toMatchObject({ status: 'completed', output: 'A delicate answer.' });
    expect(auditLog(third.log)).toEqual([]);
    expect(model.requests).toHaveLength(1);
    expect(kept.size).toBe(0);
  });

  it('put: what comes to lie there after the stop is taken away', async () => {
    const scheduler = seededScheduler();
    const { agent, kept, quarantine: inner } = setUp('get', scheduler);
    const quarantine: QuarantineStore = {
      ...inner,
      put: async (key, value) => {
        await scheduler.sleep(5_000);
        await inner.put(key, value);
      },
    };
    const stop = stopAt(scheduler, 500);
    const result = await scheduler.run(() => run(agent, 'go', { clock: scheduler.clock, quarantine, signal: stop.signal }));
    expect(result.status).toBe('cancelled');
    expect(ofType(result.events, 'model.end').map(({ status }) => status)).toEqual(['aborted']);
    await scheduler.drain();
    expect(scheduler.clock.now()).toBe(5_000);
    expect(kept.size).toBe(0);
  });
});

it('a schema that hangs over a person’s edit: the aborted run is refused, two seconds after, and still waits', async () => {
  const scheduler = seededScheduler();
  const { clock } = scheduler;
  let parsed = 0;
  const input = z.object({ id: z.string() }).refine(async () => {
    parsed += 1;
    return parsed === 2 ? scheduler.hang('refinement') : true;
  });
  const pay = defineTool({ name: 'pay', description: 'P.', input, approval: true, execute: ({ id }) => `paid ${id}` });
  const agent = defineAgent({
    name: 'a',
    instructions: '',
    model: scriptedModel([callTool('pay', { id: 'x' }), say('done')]),
    tools: [pay],
  });
  const first = await scheduler.run(() => run(agent, 'go', { clock }));
  const decisions = { [approvalsOf(first)[0]?.id ?? '']: { edit: { id: 'y' } } } as const;
  const stop = stopAt(scheduler, 500);
  const second = scheduler.run(async () => resume(agent, first.log, { clock, decisions, signal: stop.signal }).result);
  await expect(second).rejects.toMatchObject({ code: 'RESUME_MISMATCH' });
  expect(clock.now()).toBe(2_500);
  expectNothingLeft(scheduler, stop.signal);
  const third = await scheduler.run(async () => resume(agent, first.log, { clock, decisions }).result);
  expect(third).toMatchObject({ status: 'completed', output: 'done' });
  expect(auditLog(third.log)).toEqual([]);
});

describe('deadlines of parts', () => {
  const deaf = (scheduler: Scheduler, seen: unknown[], over: object = {}) =>
    defineTool({
      name: 'deaf',
      description: 'D.',
      input: z.object({}),
      timeoutMs: 100,
      execute: (_: unknown, { signal }: { signal: AbortSignal }) => {
        signal.addEventListener('abort', () => seen.push(signal.reason), { once: true });
        return scheduler.hang('tool');
      },
      ...over,
    } as never);

  it.each([
    [true, 'error'],
    [false, 'unknown'],
  ] as const)('a tool that does not listen holds up nobody, in a child run neither (repeatable: %s)', async (repeatable, status) => {
    const scheduler = seededScheduler();
    const { clock } = scheduler;
    const seen: unknown[] = [];
    const model = scriptedModel([callTool('deaf'), say('went on')]);
    const child = defineAgent({ name: 'child', instructions: '', model, tools: [deaf(scheduler, seen, { repeatable })] });
    const tools = [asTool(child, { name: 'child', description: 'C.' })];
    const agent = defineAgent({
      name: 'a',
      instructions: '',
      model: scriptedModel([callTool('child', { input: 'x' }), say('done')]),
      tools,
    });
    const result = await scheduler.run(() => run(agent, 'go', { clock }));
    expect(result).toMatchObject({ status: 'completed', output: 'done' });
    expect(clock.now()).toBe(100);
    expect(seen).toMatchObject([{ name: 'TimeoutError' }]);
    expect(ofType(result.events, 'tool.end').map((end) => [end.tool, end.status, end.errorClass])).toEqual([
      ['deaf', status, 'timeout'],
      ['child', 'ok', undefined],
    ]);
    expect(auditLog(result.log)).toEqual([]);
    expect(scheduler.timers).toEqual([]);
  });

  it('a guardrail that does not listen refuses at its deadline, and its signal says why', async () => {
    const scheduler = seededScheduler();
    const seen: unknown[] = [];
    const judge = defineGuardrail({
      name: 'judge',
      on: ['input'],
      timeoutMs: 100,
      check: (_, { signal }) => {
        signal.addEventListener('abort', () => seen.push(signal.reason), { once: true });
        return scheduler.hang('judge');
      },
    });
    const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('never')]), guardrails: [judge] });
    const result = await scheduler.run(() => run(agent, 'go', { clock: scheduler.clock }));
    expect(result).toMatchObject({ status: 'blocked', by: 'judge', failed: true });
    expect(scheduler.clock.now()).toBe(100);
    expect(seen).toMatchObject([{ name: 'TimeoutError' }]);
    expect(scheduler.timers).toEqual([]);
  });

  it('a child’s own limit of time ends the child, and the parent goes on', async () => {
    for (let ms = 5; ms < 100; ms += 10) {
      const scheduler = seededScheduler();
      const { clock } = scheduler;
      const pace = (signal: AbortSignal): Promise<void> => scheduler.sleep(10, 'model', signal);
      const find = defineTool({
        name: 'find',
        description: 'F.',
        input: z.object({}),
        execute: async (_, { signal }) => {
          await scheduler.sleep(10, 'find', signal);
          return 'found';
        },
      });
      const child = defineAgent({
        name: 'child',
        instructions: '',
        model: scriptedModel([callTool('find'), say('child is done')], { pace, clock }),
        tools: [find],
      });
      const tools = [asTool(child, { name: 'child', description: 'C.', limits: { ms } })];
      const agent = defineAgent({
        name: 'a',
        instructions: '',
        model: scriptedModel([callTool('child', { input: 'x' }), say('done')]),
        tools,
      });
      const result = await scheduler.run(() => run(agent, 'go', { clock }));
      expect(result).toMatchObject({ status: 'completed', output: 'done' });
      const end = ofType(result.events, 'run.end').find(({ parent }) => parent !== undefined);
      expect(end?.status).toBe(ms < 60 ? 'exhausted' : 'completed');
      if (ms < 60) expect(clock.now()).toBe(ms);
      expect(auditLog(result.log)).toEqual([]);
      expect(scheduler.timers).toEqual([]);
    }
  });
});

describe('the cause', () => {
  it('is the reason of every signal: of tools, guardrails, models, views and rules, in child runs too', async () => {
    const scheduler = seededScheduler();
    const { clock } = scheduler;
    const seen = new Map<string, unknown>();
    const waitFor = async (name: string, signal: AbortSignal): Promise<never> => {
      try {
        return await scheduler.hang(name, signal);
      } catch (thrown) {
        seen.set(name, thrown);
        throw thrown;
      }
    };
    const tool = (name: string) =>
      defineTool({ name, description: name, input: z.object({}), execute: (_, { signal }) => waitFor(name, signal) });
    const rule = defineTool({
      name: 'ruled',
      description: 'R.',
      input: z.object({}),
      approval: (_, { signal }) => waitFor('rule', signal),
      execute: () => '',
    });
    const judge = defineGuardrail({ name: 'judge', on: ['input'], check: (_, { signal }) => waitFor('judge', signal) });
    const guarded = defineAgent({ name: 'guarded', instructions: '', model: scriptedModel([say('x')]), guardrails: [judge] });
    const told = defineAgent({
      name: 'told',
      instructions: ({ signal }) => waitFor('instructions', signal),
      model: scriptedModel([say('x')]),
    });
    const slow = defineAgent({
      name: 'slow',
      instructions: '',
      model: scriptedModel([say('x')], { pace: (signal) => waitFor('model', signal) }),
    });
    const inner = defineAgent({ name: 'inner', instructions: '', model: scriptedModel([callTool('deep')]), tools: [tool('deep')] });
    const agents = [guarded, told, slow, inner].map((agent) => asTool(agent as typeof guarded, { name: agent.name, description: 'A.' }));
    const model = scriptedModel([[callTool('top'), callTool('ruled'), ...agents.map(({ name }) => callTool(name, { input: 'x' }))]]);
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [tool('top'), rule, ...agents] });
    const stop = stopAt(scheduler, 500);
    const result = await scheduler.run(() => run(agent, 'go', { clock, signal: stop.signal }));
    expect(result).toMatchObject({ status: 'cancelled', cause: { name: 'Enough' } });
    for (const [name, cause] of seen) expect([name, cause]).toEqual([name, reason]);
    expect([...seen.keys()].sort()).toEqual(['deep', 'instructions', 'judge', 'model', 'top']);
    expectNothingLeft(scheduler, stop.signal);
  });
});

it('a place among concurrent calls is given back although the model does not listen', async () => {
  const scheduler = seededScheduler();
  const { clock } = scheduler;
  let calls = 0;
  const model = withConcurrency(
    {
      id: 'm',
      provider: 'p',
      async *stream() {
        calls += 1;
        if (calls === 1) await scheduler.hang('model');
        yield { type: 'text.delta', text: 'done' } as const;
        yield { type: 'end', stopReason: 'stop', usage: { requests: 1 } } as const;
      },
    },
    { limit: 1 },
  );
  const agent = defineAgent({ name: 'a', instructions: '', model });
  const stop = stopAt(scheduler, 500);
  const first = await scheduler.run(() => run(agent, 'go', { clock, signal: stop.signal }));
  expect(first.status).toBe('cancelled');
  expect(clock.now()).toBeLessThanOrEqual(550);
  const second = await scheduler.run(() => run(agent, 'go', { clock }));
  expect(second).toMatchObject({ status: 'completed', output: 'done' });
  expectNothingLeft(scheduler, stop.signal);
});

it.each(['deny', 'allow'] as const)(
  'a window that was being asked has not failed, and shows nothing after the stop (onError: %s)',
  async (onError) => {
    const scheduler = seededScheduler();
    let asked = 0;
    const window = defineGuardrail({
      name: 'window',
      on: ['output'],
      window: 2,
      onError,
      rewrite: async ({ content }) => {
        asked += 1;
        return asked > 1 || content === '' ? scheduler.hang('window') : allow();
      },
    });
    const model = scriptedModel([say(['Some words come, ', 'and then the secret, ', 'and more.'])]);
    const agent = defineAgent({ name: 'a', instructions: '', model, guardrails: [window] });
    const stop = stopAt(scheduler, 500);
    const seen: RunEvent[] = [];
    let shown = '';
    const result = await scheduler.run(() =>
      run(agent, 'go', {
        clock: scheduler.clock,
        signal: stop.signal,
        observers: [
          (event) => {
            seen.push(event);
            if (event.type === 'text.delta') shown += event.text;
            if (event.type === 'text.retract') shown = shown.slice(0, shown.length - event.chars);
          },
        ],
      }),
    );
    await scheduler.drain();
    expect(result.status).toBe('cancelled');
    expect(ofType(seen, 'text.delta').map(({ text }) => text)).toEqual(['Some words co']);
    expect(shown).toBe('');
    expect(ofType(result.events, 'guard.verdict')).toEqual([]);
    expect(auditLog(result.log)).toEqual([]);
    expectNothingLeft(scheduler, stop.signal);
  },
);
