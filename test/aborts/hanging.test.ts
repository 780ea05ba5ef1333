import { getEventListeners } from 'node:events';
import type { Model, RunOptions, RunResult, SessionStore } from '@guardloop/core';
import { allow, ask, asTool, defineAgent, defineGuardrail, defineTool, handoff, memorySession, resume, run, stream } from '@guardloop/core';
import type { Scheduler, Script } from '@guardloop/testing';
import { auditLog, callTool, say, scriptedModel, seededScheduler } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { findBrokenPairs } from '../promises/pairs.js';
import { unhandled } from '../scenarios/sound.js';

/** How long after a stop a run may take, beside what started effects are given, virtual milliseconds. */
const promptMs = 50;
const graceMs = 2_000;

type Options = RunOptions<unknown>;
interface Case {
  readonly agent: Parameters<typeof run>[0];
  readonly options?: Options | undefined;
  readonly bound?: number | undefined;
}
type Make = (scheduler: Scheduler) => Case;

const model = (script: Script): Model => scriptedModel(script);
const bare = { name: 'a', instructions: 'Help.' } as const;
const usual = () => model([callTool('act', { id: 'x' }), say('done')]);
const act = (over: object = {}) =>
  defineTool({ name: 'act', description: 'A.', input: z.object({ id: z.string() }), execute: () => 'acted', ...over } as never);

/** A guardrail that never answers, on one surface, and does not listen to its signal. */
const deaf = (scheduler: Scheduler, on: string, over: object = {}) =>
  defineGuardrail({ name: 'deaf', on: [on], check: () => scheduler.hang(`guard on ${on}`), timeoutMs: 3_600_000, ...over } as never);
const guarded = (on: string, over?: object): Make => {
  return (scheduler) => ({ agent: defineAgent({ ...bare, model: usual(), tools: [act()], guardrails: [deaf(scheduler, on, over)] }) });
};
const hangingStore = (scheduler: Scheduler, hangs: (type: string) => boolean): SessionStore => {
  const inner = memorySession();
  return {
    load: (id, after) => inner.load(id, after),
    append: async (id, events, after) => {
      if (events.some(({ type }) => hangs(type))) await scheduler.hang('append');
      await inner.append(id, events, after);
    },
  };
};
const quarantine = (scheduler: Scheduler, hangs: string) => {
  const kept = new Map<string, never>();
  const use = async <T>(name: string, act: () => T): Promise<T> => (name === hangs ? scheduler.hang(name) : act());
  return {
    put: (key: string, value: unknown) => use('put', () => void kept.set(key, value as never)),
    get: (key: string) => use('get', () => kept.get(key)),
    delete: (key: string) => use('delete', () => void kept.delete(key)),
  };
};
const slowSchema = (scheduler: Scheduler) => z.object({ id: z.string() }).refine(async () => scheduler.hang('refinement'));

const cases: { readonly [name: string]: Make } = {
  'the instructions': (scheduler) => ({
    agent: defineAgent({ ...bare, instructions: () => scheduler.hang('instructions'), model: usual(), tools: [act()] }),
  }),
  'the view': (scheduler) => ({
    agent: defineAgent({ ...bare, model: usual(), tools: [act()] }),
    options: { view: () => scheduler.hang('view') },
  }),
  'the model before its first event': (scheduler) => ({
    agent: defineAgent({
      ...bare,
      model: {
        id: 'm',
        provider: 'p',
        async *stream() {
          await scheduler.hang('model');
          yield { type: 'text.delta', text: 'never' } as const;
        },
      },
    }),
  }),
  'the model in the middle': (scheduler) => ({
    agent: defineAgent({
      ...bare,
      model: {
        id: 'm',
        provider: 'p',
        async *stream() {
          yield { type: 'text.delta', text: 'half' } as const;
          await scheduler.hang('model');
        },
      },
    }),
  }),
  'a guardrail on input': guarded('input'),
  'a rewriting guardrail on input': (scheduler) =>
    guarded('input', { check: undefined, rewrite: () => scheduler.hang('rewrite') })(scheduler),
  'a guardrail beside the model': guarded('input', { beside: 'model' }),
  'a guardrail on toolInput': guarded('toolInput'),
  'a guardrail on output': guarded('output'),
  'a window on output': (scheduler) =>
    guarded('output', { check: undefined, window: 2, rewrite: () => scheduler.hang('window') })(scheduler),
  'a guardrail on toolOutput': (scheduler) => ({ ...guarded('toolOutput')(scheduler), bound: graceMs }),
  'a tool': (scheduler) => ({
    agent: defineAgent({ ...bare, model: usual(), tools: [act({ execute: () => scheduler.hang('tool') })] }),
    bound: graceMs,
  }),
  'a tool, and after it a guardrail on its output': (scheduler) => ({
    agent: defineAgent({
      ...bare,
      model: usual(),
      tools: [act({ execute: () => scheduler.sleep(4_500, 'tool') })],
      guardrails: [
        deaf(scheduler, 'toolOutput'),
        deaf(scheduler, 'toolOutput', { name: 'other', check: undefined, rewrite: () => scheduler.sleep(1_500) }),
      ],
    }),
    bound: graceMs,
  }),
  'an approval rule': (scheduler) => ({
    agent: defineAgent({ ...bare, model: usual(), tools: [act({ approval: () => scheduler.hang('rule') })] }),
  }),
  'a projection': (scheduler) => ({
    agent: defineAgent({ ...bare, model: usual(), tools: [act({ project: () => scheduler.hang('projection') })] }),
    bound: graceMs,
  }),
  'the schema of a tool': (scheduler) => ({
    agent: defineAgent({ ...bare, model: usual(), tools: [act({ input: slowSchema(scheduler) })] }),
  }),
  'the schema of a tool, of a rewritten input': (scheduler) => {
    let parsed = 0;
    const input = z.object({ id: z.string() }).refine(async () => (parsed++ > 0 ? scheduler.hang('refinement') : true));
    const rewrites = defineGuardrail({
      name: 'rewrites',
      on: ['toolInput'],
      rewrite: () => ({ action: 'rewrite', value: { id: 'y' }, reason: 'y' }) as never,
    });
    return { agent: defineAgent({ ...bare, model: usual(), tools: [act({ input })], guardrails: [rewrites] }) };
  },
  'the output schema of a tool': (scheduler) => ({
    agent: defineAgent({ ...bare, model: usual(), tools: [act({ output: z.string().refine(async () => scheduler.hang('refinement')) })] }),
    bound: graceMs,
  }),
  'the output schema of an agent': (scheduler) => ({
    agent: defineAgent({ ...bare, model: model([say('{"id":"x"}')]), output: slowSchema(scheduler) }),
  }),
  'the history filter of a handoff': (scheduler) => {
    const b = defineAgent({ name: 'b', instructions: '', model: model([say('b')]) });
    return {
      agent: defineAgent({
        ...bare,
        model: model([callTool('transfer_to_b')]),
        handoffs: [handoff(b, { history: () => scheduler.hang('filter') })],
      }),
    };
  },
  'a guardrail on handoff': (scheduler) => {
    const b = defineAgent({ name: 'b', instructions: '', model: model([say('b')]), guardrails: [deaf(scheduler, 'handoff')] });
    return { agent: defineAgent({ ...bare, model: model([callTool('transfer_to_b')]), handoffs: [b] }) };
  },
  'the input guardrail of a handoff’s target': (scheduler) => {
    const b = defineAgent({ name: 'b', instructions: '', model: model([say('b')]), guardrails: [deaf(scheduler, 'input')] });
    return { agent: defineAgent({ ...bare, model: model([callTool('transfer_to_b')]), handoffs: [b] }) };
  },
  'a tool of a child run': (scheduler) => {
    const child = defineAgent({ name: 'child', instructions: '', model: usual(), tools: [act({ execute: () => scheduler.hang('tool') })] });
    const tools = [asTool(child, { name: 'child', description: 'C.' })];
    return { agent: defineAgent({ ...bare, model: model([callTool('child', { input: 'x' })]), tools }), bound: graceMs };
  },
  'the model of a child run': (scheduler) => {
    const child = defineAgent({ name: 'child', instructions: () => scheduler.hang('instructions'), model: usual() });
    const tools = [asTool(child, { name: 'child', description: 'C.' })];
    return { agent: defineAgent({ ...bare, model: model([callTool('child', { input: 'x' })]), tools }) };
  },
  'what is made of the run of a child': (scheduler) => {
    const child = defineAgent({ name: 'child', instructions: '', model: model([say('done')]) });
    const tools = [asTool(child, { name: 'child', description: 'C.', result: () => scheduler.hang('result') })];
    return { agent: defineAgent({ ...bare, model: model([callTool('child', { input: 'x' })]), tools }), bound: graceMs };
  },
  'the quarantine, when an answer is put there': (scheduler) => ({
    agent: defineAgent({
      ...bare,
      model: model([say('hm')]),
      guardrails: [defineGuardrail({ name: 'asks', on: ['output'], check: () => ask('look') })],
    }),
    options: { quarantine: quarantine(scheduler, 'put') },
  }),
  'the store, before an effect': (scheduler) => ({
    agent: defineAgent({ ...bare, model: usual(), tools: [act()] }),
    options: { session: { store: hangingStore(scheduler, (type) => type === 'tool.start'), id: 's' } },
    bound: graceMs,
  }),
  'the store, in the middle of a model call': (scheduler) => ({
    agent: defineAgent({
      ...bare,
      model: model([[say('half'), callTool('act', { id: 'x' })], say('done')]),
      tools: [act({ execute: () => scheduler.hang('tool') })],
    }),
    options: { session: { store: hangingStore(scheduler, (type) => type === 'input.accept'), id: 's' } },
    bound: graceMs,
  }),
  'the store, at the end': (scheduler) => ({
    agent: defineAgent({ ...bare, model: model([say('done')]) }),
    options: { session: { store: hangingStore(scheduler, (type) => type === 'run.end'), id: 's' } },
    bound: graceMs,
  }),
};

const reason = Object.assign(new Error('enough'), { name: 'Enough', code: 'E_ENOUGH' });

function checkEnd(scheduler: Scheduler, result: RunResult, waited: { readonly ms: number; readonly bound: number }): void {
  expect(waited.ms).toBeLessThanOrEqual(waited.bound + promptMs);
  expect(auditLog(result.log)).toEqual([]);
  expect(findBrokenPairs(result.messages)).toEqual([]);
  expect(scheduler.timers.filter((name) => name.startsWith('timer#'))).toEqual([]);
}

describe.each(Object.entries(cases))('while %s hangs', (name, make) => {
  const isStore = name.startsWith('the store');

  it('the caller’s signal ends the run, and the cause is kept', async () => {
    const rejections = unhandled();
    const scheduler = seededScheduler();
    const { agent, options, bound = 0 } = make(scheduler);
    const stop = new AbortController();
    let at = Number.NaN;
    scheduler.clock.after(3_000, () => {
      at = scheduler.clock.now();
      stop.abort(reason);
    });
    const result = await scheduler.run(() => run(agent, 'go', { ...options, clock: scheduler.clock, signal: stop.signal }));
    checkEnd(scheduler, result, { ms: scheduler.clock.now() - at, bound });
    if (name === 'a projection') expect(result.events).toContainEqual(expect.objectContaining({ type: 'tool.end', status: 'unknown' }));
    if (isStore) expect(result).toMatchObject({ status: 'failed', error: { code: 'STORE_FAILED', isRetryable: true } });
    else expect(result).toMatchObject({ status: 'cancelled', cause: { name: 'Enough', code: 'E_ENOUGH' } });
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
    await new Promise((resolve) => setImmediate(resolve));
    expect(rejections).toEqual([]);
  });

  it('leaving the stream ends the run', async () => {
    const scheduler = seededScheduler();
    const { agent, options, bound = 0 } = make(scheduler);
    let at = Number.NaN;
    const result = await scheduler.run(async () => {
      const watched = stream(agent, 'go', { ...options, clock: scheduler.clock });
      const iterator = watched[Symbol.asyncIterator]();
      scheduler.clock.after(3_000, () => {
        at = scheduler.clock.now();
        void iterator.return?.();
      });
      while (!(await iterator.next()).done);
      return watched.result;
    });
    checkEnd(scheduler, result, { ms: scheduler.clock.now() - at, bound });
    if (isStore) expect(result).toMatchObject({ status: 'failed', error: { code: 'STORE_FAILED' } });
    else expect(result).toMatchObject({ status: 'cancelled', cause: { name: 'AbortError' } });
  });

  it('a deadline ends the run', async () => {
    const scheduler = seededScheduler();
    const { agent, options, bound = 0 } = make(scheduler);
    const result = await scheduler.run(() => run(agent, 'go', { ...options, clock: scheduler.clock, limits: { ms: 3_000 } }));
    checkEnd(scheduler, result, { ms: scheduler.clock.now() - 3_000, bound });
    if (isStore) expect(result).toMatchObject({ status: 'failed', error: { code: 'STORE_FAILED' } });
    else expect(result).toMatchObject({ status: 'exhausted', limit: 'ms' });
  });
});
void [allow, resume];
