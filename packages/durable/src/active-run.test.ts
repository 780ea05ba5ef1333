import type { RunEvent } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineTool, withContext } from '@guardloop/core';
import type { Store } from '@guardloop/store';
import { memoryStore } from '@guardloop/store';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { DurableOptions, Registry, SubmittedRun } from './index.js';
import { durable, durableAgent, embeddedEngine } from './index.js';

const quick = { upkeepMs: 20, retry: { firstMs: 20, mostMs: 100 } };
const open = <const R extends Registry>(store: Store, agents: R, options: Partial<DurableOptions<R, never>> = {}) => {
  const runs = durable({ ...quick, engine: embeddedEngine({ pollMs: 20 }), store, agents, ...options });
  onTestFinished(() => runs.close({ graceMs: 0 }));
  return runs;
};
const troubleOf = (runs: {
  status(id: string): Promise<{ readonly trouble?: { readonly code: string; readonly message: string } | undefined } | undefined>;
}) => expect.poll(async () => (await runs.status('r1'))?.trouble, { timeout: 20_000 });
const model = scriptedModel([callTool('pay'), say('Paid.')]);
const pay = (approval = true) =>
  defineTool({ name: 'pay', description: 'Pay.', input: z.object({}), ...(approval ? { approval } : {}), execute: () => 'paid' });

describe('a run that a worker has', () => {
  it('is told what was submitted with it, each time that it is taken up', async () => {
    const told: SubmittedRun[] = [];
    const agent = defineAgent({ name: 'cashier', instructions: '', model, tools: [pay()] });
    const registered = durableAgent(agent, {
      options: (run: SubmittedRun<{ page: number }>) => {
        told.push(run);
        return { limits: { turns: 3 } };
      },
    });
    const runs = open(memoryStore(), { cashier: registered });
    await runs.worker({ name: 'berta' });
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await runs.submit('cashier', 'Pay', {
      id: 'r1',
      session: 's',
      owner: 'anna',
      tenant: 'shop',
      traceparent,
      data: { page: 7 },
      limits: { toolCalls: 5 },
    });
    const asked = await runs.result('r1');
    if (asked.status !== 'interrupted') throw new Error(asked.status);
    await runs.approvals.decide(asked.approvals[0]?.id ?? '', 'approve');
    const result = await runs.result('r1', { until: 'end' });
    if (result.status !== 'completed') throw new Error(result.status);
    const run = {
      id: 'r1',
      session: 's',
      agent: 'cashier',
      queue: 'default',
      owner: 'anna',
      tenant: 'shop',
      traceparent,
      data: { page: 7 },
      worker: 'berta',
    };
    expect(told).toEqual([run, run]);
    // Those of the submission lie over those of the agent, and stand in the log: a resume does not change them.
    expect(result.events[0]).toMatchObject({ type: 'run.start', limits: { turns: 3, toolCalls: 5 } });
    expect(result.events.filter((event) => event.type === 'run.resume' && event.limits !== undefined)).toEqual([]);
  });

  it('waits where its context or its options cannot be made, says so without content, and goes on when they can', async () => {
    const own = withContext<{ readonly user: string }>();
    let isBroken = true;
    const agent = own.defineAgent({ name: 'desk', instructions: '', model: scriptedModel([say('Hi.')]) });
    const context = ({ data }: SubmittedRun<{ user: string }>) => {
      if (isBroken) throw new Error(`no such user: ${data.user}`);
      return { user: data.user };
    };
    const runs = open(memoryStore(), { desk: durableAgent(agent, { context }) });
    await runs.worker();
    await runs.submit('desk', 'Hi', { id: 'r1', data: { user: 'anna-secret' } });
    await troubleOf(runs).toMatchObject({ code: 'INTERNAL', message: expect.stringContaining('context of the agent desk') });
    expect(JSON.stringify(await runs.status('r1'))).not.toContain('anna-secret');
    isBroken = false;
    expect(await runs.result('r1', { waitMs: 20_000 })).toMatchObject({ status: 'completed', text: 'Hi.' });
  });

  it('waits where data that another version submitted does not fit the schema any more', async () => {
    const agent = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([say('Hi.')]) });
    const store = memoryStore();
    const old = open(store, { desk: durableAgent(agent, { data: z.object({ user: z.string() }) }) });
    await old.submit('desk', 'Hi', { id: 'r1', data: { user: 'anna-secret' } });
    const next = open(store, { desk: durableAgent(agent, { data: z.object({ user: z.number() }) }) });
    const worker = await next.worker();
    await troubleOf(next).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('data.user') });
    expect(JSON.stringify(await next.status('r1'))).not.toContain('anna-secret');
    await worker.stop();
    await old.worker();
    expect(await old.result('r1', { waitMs: 20_000 })).toMatchObject({ status: 'completed' });
  });

  const guard = defineGuardrail({ name: 'stands', on: ['toolInput'], check: () => allow() });
  const guarded = (guardrails: readonly (typeof guard)[]) =>
    defineAgent({ name: 'cashier', instructions: '', model, tools: [pay()], guardrails });

  it.each([
    ['waits for a guardrail that is missing', undefined, 'RESUME_MISMATCH'],
    ["goes on without it, where that is accepted: 'changed'", 'changed' as const, undefined],
    [
      'goes on without it, where that is accepted for this run',
      (run: { readonly id: string }) => (run.id === 'r1' ? ('changed' as const) : undefined),
      undefined,
    ],
  ])('%s', async (_, accept, code) => {
    const store = memoryStore();
    const before = open(store, { cashier: guarded([guard]) });
    const worker = await before.worker();
    await before.submit('cashier', 'Pay', { id: 'r1' });
    const asked = await before.result('r1');
    await worker.stop();
    if (asked.status !== 'interrupted') throw new Error(asked.status);
    const after = open(store, { cashier: durableAgent(guarded([]), accept ? { accept } : {}) });
    await after.worker();
    await after.approvals.decide(asked.approvals[0]?.id ?? '', 'approve');
    if (code) await troubleOf(after).toMatchObject({ code, message: expect.stringContaining('stands') });
    else expect(await after.result('r1', { until: 'end', waitMs: 20_000 })).toMatchObject({ status: 'completed', text: 'Paid.' });
  });

  it("waits for every change, where accept is 'same'", async () => {
    const store = memoryStore();
    const before = open(store, { cashier: guarded([]) });
    const worker = await before.worker();
    await before.submit('cashier', 'Pay', { id: 'r1' });
    const asked = await before.result('r1');
    await worker.stop();
    if (asked.status !== 'interrupted') throw new Error(asked.status);
    const changed = defineAgent({ name: 'cashier', instructions: 'Be quick.', model, tools: [pay(false)] });
    const after = open(store, { cashier: durableAgent(changed, { accept: 'same' }) });
    await after.worker();
    await after.approvals.decide(asked.approvals[0]?.id ?? '', 'approve');
    await troubleOf(after).toMatchObject({ code: 'RESUME_MISMATCH' });
  });

  it('that is let go is told to its observers as one that waits, and nothing after it', async () => {
    const seen: RunEvent['type'][] = [];
    let isIn = false;
    let letGo: () => void = () => undefined;
    const slow = defineTool({
      name: 'pay',
      description: 'Pay.',
      input: z.object({}),
      execute: () =>
        new Promise<string>((resolve) => {
          isIn = true;
          letGo = () => resolve('paid');
        }),
    });
    const agent = defineAgent({ name: 'cashier', instructions: '', model, tools: [slow] });
    const observers = [(event: RunEvent) => seen.push(event.type), { 'run.wait': (event: RunEvent) => seen.push(event.type) }];
    const store = memoryStore();
    const runs = open(store, { cashier: durableAgent(agent, { options: { observers } }) });
    const worker = await runs.worker();
    await runs.submit('cashier', 'Pay', { id: 'r1' });
    await expect.poll(() => isIn).toBe(true);
    await worker.stop({ graceMs: 0 });
    const log = await store.load('r1');
    expect(log.at(-1)).toMatchObject({ type: 'tool.start' });
    letGo();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(seen.slice(-2)).toEqual(['run.wait', 'run.wait']);
    expect(seen.filter((type) => type === 'run.end' || type === 'tool.end')).toEqual([]);
    expect(await store.load('r1')).toEqual(log);
    expect(await runs.status('r1')).toMatchObject({ state: 'queued' });
  });

  it('keeps its decisions, where its agent does not fit: they are taken up when it does', async () => {
    const store = memoryStore();
    const cashier = defineAgent({ name: 'cashier', instructions: '', model, tools: [pay()] });
    const bare = defineAgent({ name: 'cashier', instructions: '', model });
    const first = open(store, { cashier });
    const worker = await first.worker();
    await first.submit('cashier', 'Pay', { id: 'r1' });
    const asked = await first.result('r1');
    await worker.stop();
    if (asked.status !== 'interrupted') throw new Error(asked.status);
    const id = asked.approvals[0]?.id ?? '';
    const wrong = open(store, { cashier: bare });
    const wrongWorker = await wrong.worker();
    await wrong.approvals.decide(id, 'approve', { by: 'anna' });
    await troubleOf(wrong).toMatchObject({ code: 'RESUME_MISMATCH' });
    expect(await wrong.approvals.get(id)).toMatchObject({ state: 'decided', decidedBy: 'anna' });
    await wrongWorker.stop();
    const right = open(store, { cashier });
    await right.worker();
    const result = await right.result('r1', { until: 'end', waitMs: 20_000 });
    if (result.status !== 'completed') throw new Error(result.status);
    expect(auditLog(result.log)).toEqual([]);
    expect(result.events.find(({ type }) => type === 'approval.resolve')).toMatchObject({ decision: 'approve', decidedBy: 'anna' });
  });
});
