import { allow, defineAgent, defineGuardrail, defineTool, GuardloopError, withContext } from '@guardloop/core';
import type { Store } from '@guardloop/store';
import { memoryStore } from '@guardloop/store';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { durable, durableAgent, durableClient } from './index.js';

describe('durable', () => {
  it('runs what was submitted, and gives its result to any process', async () => {
    const store = memoryStore();
    const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([say(['Hello ', 'there.'])]) });
    const runs = durable({ store, agents: { desk } });
    onTestFinished(() => runs.close());
    const { created, run } = await runs.submit('desk', 'Hi', { id: 'r1' });
    expect(created).toBe(true);
    expect(run).toMatchObject({ id: 'r1', session: 'r1', state: 'queued', queue: 'default' });
    await runs.worker();
    const client = durableClient({ store });
    const result = await client.result('r1');
    expect(result).toMatchObject({ status: 'completed', text: 'Hello there.', agent: 'desk' });
    expect(result.status === 'completed' && auditLog(result.log)).toEqual([]);
    expect(await client.status('r1')).toMatchObject({ state: 'ended', status: 'completed' });
  });

  it('gives the result of a run that has ended before its worker has noted it, to whoever saw the end', async () => {
    const inner = memoryStore();
    let letGo = (): void => undefined;
    const noted = new Promise<void>((resolve) => (letGo = resolve));
    const update: Store['runs']['update'] = async (id, version, change) => {
      if (change.state === 'ended') await noted;
      return inner.runs.update(id, version, change);
    };
    const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([say('Hello.')]) });
    const runs = durable({ store: { ...inner, runs: { ...inner.runs, update } }, agents: { desk } });
    onTestFinished(() => runs.close());
    await runs.worker();
    await runs.submit('desk', 'Hi', { id: 'r1' });
    await expect.poll(async () => (await inner.sessions.get('r1'))?.status).toBe('completed');
    const ended = { status: 'completed', text: 'Hello.', run: { state: 'ended', status: 'completed' } };
    expect(await runs.result('r1', { waitMs: 0 })).toMatchObject(ended);
    expect(await runs.status('r1')).toMatchObject({ state: 'running' });
    letGo();
    await expect.poll(async () => (await runs.status('r1'))?.state).toBe('ended');
    expect(await runs.result('r1')).toMatchObject(ended);
  });

  it('makes the context of each run from its data', async () => {
    const { defineAgent, defineTool } = withContext<{ user: string }>();
    const whoami = defineTool({ name: 'whoami', description: 'Who.', input: z.object({}), execute: (_, { context }) => context.user });
    const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([callTool('whoami'), say('done')]), tools: [whoami] });
    const agents = { desk: durableAgent(desk, { data: z.object({ user: z.string() }), context: ({ data }) => ({ user: data.user }) }) };
    const runs = durable({ store: memoryStore(), agents });
    onTestFinished(() => runs.close());
    await runs.worker();
    const { run } = await runs.submit('desk', 'Who?', { data: { user: 'anna' } });
    const result = await runs.result(run.id);
    if (result.status !== 'completed') throw new Error(result.status);
    expect(result.events.find((event) => event.type === 'tool.end')).toMatchObject({ content: 'anna' });
    // @ts-expect-error the data is missing
    await expect(runs.submit('desk', 'Who?')).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('data') });
  });

  it('waits for a person and goes on with the decision', async () => {
    const done: string[] = [];
    const pay = defineTool({
      name: 'pay',
      description: 'Pay.',
      input: z.object({ cents: z.number() }),
      approval: true,
      execute: (_, { idempotencyKey }) => {
        done.push(idempotencyKey);
        return 'paid';
      },
    });
    const desk = defineAgent({
      name: 'desk',
      instructions: '',
      model: scriptedModel([callTool('pay', { cents: 5 }), say('Paid.')]),
      tools: [pay],
    });
    const store = memoryStore();
    const runs = durable({ store, agents: { desk } });
    onTestFinished(() => runs.close());
    await runs.worker();
    await runs.submit('desk', 'Pay', { id: 'r1' });
    const asked = await runs.result('r1');
    if (asked.status !== 'interrupted') throw new Error(asked.status);
    const [approval] = asked.approvals;
    expect(await runs.approvals.decide(approval?.id ?? '', 'approve', { by: 'anna' })).toMatchObject({ status: 'recorded' });
    expect(await runs.result('r1', { until: 'end' })).toMatchObject({ status: 'completed', text: 'Paid.' });
    expect(done).toHaveLength(1);
    expect(await runs.approvals.decide(approval?.id ?? '', 'approve')).toMatchObject({ status: 'already', same: true });
  });

  it('goes on with a session whose waiting run was abandoned while the store did not answer', async () => {
    const store = memoryStore();
    const { list } = store.runs;
    let failures = 6;
    const runsOfStore = Object.assign(Object.create(store.runs), {
      list: (query: Parameters<typeof list>[0]) => {
        if (query?.state !== 'waiting' || failures === 0) return list.call(store.runs, query);
        failures -= 1;
        return Promise.reject(new GuardloopError('STORE_FAILED', 'The store does not answer.', { isRetryable: true }));
      },
    });
    const frail = Object.assign(Object.create(store), { runs: runsOfStore });
    const ask = defineTool({ name: 'ask', description: 'Ask.', input: z.object({}), approval: true, execute: () => 'yes' });
    const model = scriptedModel(({ messages }) => (JSON.stringify(messages.at(-1)).includes('One.') ? callTool('ask') : say('Done.')));
    const desk = defineAgent({ name: 'desk', instructions: '', model, tools: [ask] });
    const runs = durable({ store: frail, agents: { desk }, retry: { firstMs: 20, mostMs: 50 } });
    onTestFinished(() => runs.close());
    await runs.worker();
    await runs.submit('desk', 'One.', { id: 'first', session: 's' });
    expect(await runs.result('first')).toMatchObject({ status: 'interrupted' });
    await runs.submit('desk', 'Two.', { id: 'second', session: 's', unfinished: 'abandon' });
    expect(await runs.result('second')).toMatchObject({ status: 'completed', text: 'Done.' });
    await runs.submit('desk', 'Three.', { id: 'third', session: 's' });
    expect(await runs.result('third')).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(await runs.status('first')).toMatchObject({ state: 'ended', status: 'cancelled' });
    expect(failures).toBe(0);
  });

  it('gives up a run that each of its workers dies of before it begins', async () => {
    const store = memoryStore();
    const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel(() => say('Done.')) });
    const runs = durable({ store, agents: { desk }, maxAttempts: 3 });
    onTestFinished(() => runs.close());
    await runs.submit('desk', 'Hi', { id: 'deadly' });
    for (let death = 1; death <= 3; death += 1)
      await vi.waitFor(async () => {
        const claimed = await store.runs.claim({ owner: `w${death}`, leaseMs: 1, queues: [{ queue: 'default' }] });
        expect(claimed).toMatchObject({ id: 'deadly', attempts: death });
      }, 15_000);
    await runs.submit('desk', 'Hi', { id: 'next' });
    await runs.worker();
    expect(await runs.result('deadly')).toMatchObject({ status: 'failed', error: { code: 'INTERNAL' } });
    expect(await runs.result('next')).toMatchObject({ status: 'completed' });
  });

  it('stops a worker that was being opened when it was closed, and opens none afterwards', async () => {
    const store = memoryStore();
    const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel(() => say('Done.')) });
    const runs = durable({ store, agents: { desk } });
    const opening = runs.worker({ name: 'late' });
    await runs.close();
    await opening;
    await expect(runs.worker()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await durableClient({ store }).submit('desk', 'Hi', { id: 'r1' });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await runs.status('r1'), 'nobody takes it').toMatchObject({ state: 'queued', attempts: 0 });
  });

  it('does not give up a run whose decisions do not fit, however many come', async () => {
    const input = z.object({ cents: z.number() });
    const pay = defineTool({ name: 'pay', description: 'Pay.', input, approval: true, execute: () => 'paid' });
    const model = scriptedModel([callTool('pay', { cents: 1 }), say('Done.')]);
    const runs = durable({
      store: memoryStore(),
      agents: { desk: defineAgent({ name: 'desk', instructions: '', model, tools: [pay] }) },
      upkeepMs: 20,
      maxAttempts: 3,
    });
    onTestFinished(() => runs.close());
    await runs.worker();
    await runs.submit('desk', 'Pay', { id: 'r1' });
    const asked = await runs.result('r1');
    if (asked.status !== 'interrupted') throw new Error(asked.status);
    const id = asked.approvals[0]?.id ?? '';
    for (let times = 0; times < 6; times += 1) {
      expect(await runs.approvals.decide(id, { edit: { cents: 'many' } })).toMatchObject({ status: 'recorded' });
      await expect.poll(async () => (await runs.approvals.get(id))?.state, { timeout: 20_000 }).toBe('open');
      await expect.poll(async () => (await runs.status('r1'))?.state, { timeout: 20_000 }).toBe('waiting');
    }
    await runs.approvals.decide(id, 'approve');
    expect(await runs.result('r1', { until: 'end', waitMs: 20_000 })).toMatchObject({ status: 'completed', text: 'Done.' });
  });

  it('gives up a run whose workers die over a decision, although it waits', async () => {
    const input = z.object({ cents: z.number() });
    const pay = defineTool({ name: 'pay', description: 'Pay.', input, approval: true, execute: () => 'paid' });
    let judged = 0;
    const deadly = defineGuardrail({
      name: 'deadly',
      on: ['toolInput'],
      check: async ({ content }) => {
        if (!content.includes('9')) return allow();
        judged += 1;
        return new Promise<never>(() => undefined);
      },
    });
    const model = scriptedModel([callTool('pay', { cents: 1 }), say('Done.')]);
    const agents = { desk: defineAgent({ name: 'desk', instructions: '', model, tools: [pay], guardrails: [deadly] }) };
    const runs = durable({ store: memoryStore(), agents, upkeepMs: 20, maxAttempts: 3 });
    onTestFinished(() => runs.close({ graceMs: 0 }));
    let worker = await runs.worker();
    await runs.submit('desk', 'Pay', { id: 'r1' });
    const asked = await runs.result('r1');
    if (asked.status !== 'interrupted') throw new Error(asked.status);
    const id = asked.approvals[0]?.id ?? '';
    // As many as there are tries, of which none has to do with this one.
    for (let times = 0; times < 3; times += 1) {
      await runs.approvals.decide(id, { edit: { cents: 'many' } });
      await expect.poll(async () => (await runs.approvals.get(id))?.state, { timeout: 20_000 }).toBe('open');
      await expect.poll(async () => (await runs.status('r1'))?.state, { timeout: 20_000 }).toBe('waiting');
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
    await runs.approvals.decide(id, { edit: { cents: 9 } });
    for (let died = 1; died <= 3; died += 1) {
      await expect.poll(() => judged, { timeout: 20_000 }).toBe(died);
      await worker.stop({ graceMs: 0 });
      worker = await runs.worker();
    }
    expect(await runs.result('r1', { until: 'end', waitMs: 20_000 })).toMatchObject({ status: 'failed', error: { code: 'INTERNAL' } });
    expect(judged).toBe(3);
  });

  it('reminds of a question that is put anew after a decision that did not fit', async () => {
    const store = memoryStore();
    const reminded: string[] = [];
    const pay = defineTool({
      name: 'pay',
      description: 'Pay.',
      input: z.object({ cents: z.number() }),
      approval: true,
      execute: () => 'paid',
    });
    const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([callTool('pay', { cents: 5 })]), tools: [pay] });
    const approvals = { remindAfterMs: 1_000, expireAfterMs: 600_000, onReminder: ({ id }: { id: string }) => reminded.push(id) };
    const runs = durable({ store, agents: { desk }, upkeepMs: 20, approvals });
    onTestFinished(() => runs.close());
    await runs.worker();
    await runs.submit('desk', 'Pay', { id: 'r1' });
    await runs.result('r1');
    await runs.approvals.decide('r1/p1', { edit: { cents: 'five' } });
    await vi.waitFor(async () => expect((await runs.status('r1'))?.trouble).toBeDefined(), { timeout: 20_000 });
    reminded.length = 0;
    await vi.waitFor(() => expect(reminded).toContain('r1/p1'), { timeout: 20_000 });
  });

  it('a worker that is stopped without end of its grace waits for tools that run', async () => {
    let finish = (): void => undefined;
    const started = vi.fn();
    const slow = defineTool({
      name: 'slow',
      description: 'Slow.',
      input: z.object({}),
      execute: () => {
        started();
        return new Promise<string>((resolve) => {
          finish = () => resolve('done');
        });
      },
    });
    const model = scriptedModel([callTool('slow'), say('Done.')]);
    const store = memoryStore();
    const runs = durable({ store, agents: { desk: defineAgent({ name: 'desk', instructions: '', model, tools: [slow] }) } });
    onTestFinished(() => runs.close({ graceMs: 0 }));
    const worker = await runs.worker();
    await runs.submit('desk', 'Hi', { id: 'r1' });
    await vi.waitFor(() => expect(started).toHaveBeenCalled(), { timeout: 20_000 });
    const stopped = worker.stop({ graceMs: Number.POSITIVE_INFINITY });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(worker.runs).toEqual(['r1']);
    finish();
    await stopped;
    expect((await store.load('r1')).at(-1)).toMatchObject({ type: 'tool.end', status: 'ok' });
  });

  it('a worker that is stopped again waits no longer than the shorter grace', async () => {
    const started = vi.fn();
    const slow = defineTool({
      name: 'slow',
      description: 'Slow.',
      input: z.object({}),
      execute: () => {
        started();
        return new Promise<string>(() => undefined);
      },
    });
    const model = scriptedModel([callTool('slow'), say('Done.')]);
    const runs = durable({ store: memoryStore(), agents: { desk: defineAgent({ name: 'desk', instructions: '', model, tools: [slow] }) } });
    const worker = await runs.worker();
    await runs.submit('desk', 'Hi', { id: 'r1' });
    await vi.waitFor(() => expect(started).toHaveBeenCalled(), { timeout: 20_000 });
    const stopped = worker.stop({ graceMs: Number.POSITIVE_INFINITY });
    await runs.close({ graceMs: 0 });
    await stopped;
    expect(await runs.status('r1')).toMatchObject({ state: 'queued' });
  });

  it.each([
    ['not begun', 'r1'],
    ['begun', 'r2'],
  ])('a run that has %s is cancelled although its context never comes', async (_, id) => {
    const store = memoryStore();
    const pay = defineTool({ name: 'pay', description: 'Pay.', input: z.object({}), approval: true, execute: () => 'paid' });
    const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([callTool('pay'), say('Done.')]), tools: [pay] });
    let hangs = id === 'r1';
    const made = vi.fn();
    const context = () => {
      made();
      return hangs ? new Promise<object>(() => undefined) : {};
    };
    const runs = durable({ store, agents: { desk: durableAgent(desk, { context }) } });
    onTestFinished(() => runs.close({ graceMs: 0 }));
    await runs.worker();
    await runs.submit('desk', 'Hi', { id });
    await vi.waitFor(() => expect(made).toHaveBeenCalled(), { timeout: 20_000 });
    if (!hangs) expect(await runs.result(id, { waitMs: 20_000 })).toMatchObject({ status: 'interrupted' });
    hangs = true;
    await runs.cancel(id);
    expect(await runs.result(id, { until: 'end', waitMs: 20_000 })).toMatchObject({ status: 'cancelled' });
  });
});
