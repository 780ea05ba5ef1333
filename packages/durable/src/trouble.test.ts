import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, defineTool } from '@guardloop/core';
import type { RunQuery, Store } from '@guardloop/store';
import { memoryStore } from '@guardloop/store';
import { sqliteStore } from '@guardloop/store-sqlite';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { DurableResult, Registry, RunInfo } from './index.js';
import { durable, durableAgent, durableClient } from './index.js';

const quick = { upkeepMs: 20, retry: { firstMs: 20, mostMs: 40 } };
const patience = { timeout: 20_000 };
const hello = () => defineAgent({ name: 'desk', instructions: '', model: scriptedModel([say('Hi.')]) });
const pay = (effect: 'write' | 'send' = 'write') =>
  defineTool({ name: 'pay', description: 'Pay.', input: z.object({}), approval: true, flow: { effect }, execute: () => 'paid' });
const cashier = (...tools: readonly ReturnType<typeof pay>[]) =>
  defineAgent({ name: 'cashier', instructions: '', model: scriptedModel([callTool('pay'), say('Done.')]), tools: [...tools] });

/** A process over the store; closed with the test. */
function processOf<const R extends Registry>(store: Store, agents: R, more: object = {}) {
  const runs = durable({ ...quick, store, agents, queues: { mail: {} }, ...more });
  onTestFinished(() => runs.close({ graceMs: 0 }));
  return runs;
}

/** A run that waits for a decision, whose worker has gone. */
async function waiting(queue: 'default' | 'mail' = 'default') {
  const store = memoryStore();
  const runs = processOf(store, { cashier: cashier(pay()) });
  const worker = await runs.worker();
  await runs.submit('cashier', 'Pay', { id: 'r1', queue });
  const asked = await runs.result('r1');
  if (asked.status !== 'interrupted') throw new Error(asked.status);
  await worker.stop();
  return { store, id: asked.approvals[0]?.id ?? '' };
}

function sound(result: DurableResult): DurableResult {
  if ('log' in result) expect(auditLog(result.log)).toEqual([]);
  return result;
}

describe('the trouble of a run', () => {
  it('offers no acceptance where a tool is gone, and says what helps', async () => {
    const { store, id } = await waiting();
    const runs = processOf(store, { cashier: durableAgent(cashier(), { accept: 'changed' }) });
    await runs.worker();
    await runs.approvals.decide(id, 'approve');
    await expect.poll(async () => (await runs.status('r1'))?.trouble, patience).toBeDefined();
    const { trouble } = (await runs.status('r1')) ?? {};
    expect(trouble).toMatchObject({ code: 'RESUME_MISMATCH', choices: ['deploy', 'cancel'] });
    expect(trouble?.message).toMatch(/is of pay, .* Give the agent its tool again, reject the call .*, or give the run up\.$/);
    expect(trouble?.message).not.toContain('abandon');
  });

  it('offers acceptance where a tool does something else, and that goes on with it', async () => {
    const { store, id } = await waiting();
    const strict = processOf(store, { cashier: cashier(pay('send')) });
    const worker = await strict.worker();
    await strict.approvals.decide(id, 'approve');
    await expect.poll(async () => (await strict.status('r1'))?.trouble?.choices, patience).toEqual(['deploy', 'accept', 'cancel']);
    await worker.stop();
    const lenient = processOf(store, { cashier: durableAgent(cashier(pay('send')), { accept: 'changed' }) });
    await lenient.worker();
    expect(sound(await lenient.result('r1', { until: 'end' }))).toMatchObject({ status: 'completed' });
  });

  it('does not begin where the call of a tool that is gone is rejected', async () => {
    const { store, id } = await waiting();
    const told: RunInfo[] = [];
    const runs = processOf(store, { cashier: cashier() }, { onTrouble: (run: RunInfo) => told.push(run) });
    await runs.worker();
    await runs.approvals.decide(id, { reject: 'By hand from today.' }, { by: 'deploy' });
    expect(sound(await runs.result('r1', { until: 'end' }))).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(told).toEqual([]);
  });

  it('tells of a queue that no worker serves, and ends where one comes to', async () => {
    const store = memoryStore();
    const told: RunInfo[] = [];
    const runs = processOf(store, { desk: hello() }, { onTrouble: (run: RunInfo) => told.push(run) });
    await runs.worker({ queues: ['default'], leaseMs: 200 });
    await durableClient({ store }).submit('desk', 'Hi', { id: 'r1', queue: 'mail' });
    await expect.poll(() => told.length, patience).toBeGreaterThan(0);
    expect(told).toMatchObject([
      {
        id: 'r1',
        trouble: { code: 'CONFIG_INVALID', message: expect.stringContaining('serves the queue mail'), choices: ['deploy', 'cancel'] },
      },
    ]);
    expect((await runs.list({ trouble: true })).items.map(({ id }) => id)).toEqual(['r1']);
    await runs.worker({ queues: ['mail'] });
    expect(await runs.result('r1')).toMatchObject({ status: 'completed' });
    expect((await runs.list({ trouble: true })).items).toEqual([]);
  });

  it('does not begin for what waits its turn in a queue that others serve', async () => {
    const store = memoryStore();
    let looks = 0;
    const watched: Store = {
      ...store,
      runs: {
        ...store.runs,
        async list(query?: RunQuery) {
          const page = await store.runs.list(query);
          if (query?.state === 'running' && query.due === false) looks += 1;
          return page;
        },
      },
    };
    let open: () => void = () => undefined;
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const slow = defineAgent({
      name: 'desk',
      instructions: '',
      model: scriptedModel(async () => {
        await opened;
        return say('Hi.');
      }),
    });
    const serving = processOf(store, { desk: slow });
    await serving.worker({ queues: ['mail'], concurrency: 1 });
    await serving.submit('desk', 'Hi', { id: 'r1', queue: 'mail' });
    await expect.poll(async () => (await serving.status('r1'))?.state, patience).toBe('running');
    await serving.submit('desk', 'Hi', { id: 'r2', queue: 'mail' });
    const looking = processOf(watched, { desk: slow });
    await looking.worker({ queues: ['default'], leaseMs: 200 });
    await expect.poll(() => looks, patience).toBeGreaterThan(1);
    expect((await serving.status('r2'))?.trouble).toBeUndefined();
    open();
    expect(await serving.result('r2')).toMatchObject({ status: 'completed' });
  });

  it('is told once while it lasts, and what the listener throws is told as an error', async () => {
    const store = memoryStore();
    const told: RunInfo[] = [];
    const errors: unknown[] = [];
    const failure = new Error('no mail');
    const options = () => {
      throw new Error('no options');
    };
    const runs = processOf(
      store,
      { desk: durableAgent(hello(), { options }) },
      {
        onTrouble: async (run: RunInfo) => {
          told.push(run);
          throw failure;
        },
        onError: (error: unknown) => errors.push(error),
      },
    );
    await runs.worker();
    await runs.submit('desk', 'Hi', { id: 'r1' });
    await expect.poll(async () => (await runs.status('r1'))?.attempts, patience).toBeGreaterThan(2);
    expect(told).toMatchObject([{ id: 'r1', state: 'queued', trouble: { code: 'INTERNAL', choices: ['deploy', 'cancel'] } }]);
    expect(errors).toEqual([failure]);
  });
});

describe('an approval that cannot be read', () => {
  const key = (id: string, byte: number) => ({ id, key: new Uint8Array(32).fill(byte) });
  const folders: string[] = [];
  afterAll(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });
  /** A run that waits under the key `old`, and its file. */
  async function waitingUnder(old: ReturnType<typeof key>) {
    const folder = mkdtempSync(join(tmpdir(), 'guardloop-trouble-'));
    folders.push(folder);
    const open = (...keys: [ReturnType<typeof key>, ...ReturnType<typeof key>[]]) => {
      const store = sqliteStore({ file: join(folder, 'runs.db'), encryption: { keys } });
      onTestFinished(() => store.close());
      return store;
    };
    const store = open(old);
    const runs = processOf(store, { cashier: cashier(pay()) });
    const worker = await runs.worker();
    await runs.submit('cashier', 'Pay four thousand', { id: 'r1' });
    const asked = await runs.result('r1');
    if (asked.status !== 'interrupted') throw new Error(asked.status);
    await worker.stop();
    return { open, id: asked.approvals[0]?.id ?? '' };
  }

  it.each(['open', 'decided'] as const)(
    'is the trouble of its run while it is %s, told once, and gone with the key back',
    async (state) => {
      const old = key('old', 1);
      const { open, id } = await waitingUnder(old);
      if (state === 'decided') await open(old).approvals.decide(id, 'approve', { by: 'anna' });
      const told: RunInfo[] = [];
      const runs = processOf(open(key('new', 2)), { cashier: cashier(pay()) }, { onTrouble: (run: RunInfo) => told.push(run) });
      const worker = await runs.worker();
      await expect.poll(() => told.length, patience).toBe(1);
      expect(told).toMatchObject([
        { id: 'r1', state: 'waiting', trouble: { code: 'STORE_FAILED', message: expect.stringContaining('key old') } },
      ]);
      expect(JSON.stringify(told)).not.toMatch(/four thousand|anna/);
      expect((await runs.list({ trouble: true })).items.map((run) => run.id)).toEqual(['r1']);
      // Ten rounds of upkeep and more.
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect(told).toHaveLength(1);
      await worker.stop();
      const whole = processOf(open(key('new', 2), old), { cashier: cashier(pay()) });
      await whole.worker();
      if (state === 'open') {
        await expect.poll(async () => (await whole.status('r1'))?.trouble, patience).toBeUndefined();
        await whole.approvals.decide(id, 'approve');
      }
      expect(sound(await whole.result('r1', { until: 'end' }))).toMatchObject({ status: 'completed', text: 'Done.' });
    },
  );
});

describe('a run that somebody cancels', () => {
  it('is ended although no worker serves its queue, and is cancelling no more then', async () => {
    const { store } = await waiting('mail');
    const runs = processOf(store, { cashier: cashier(pay()) });
    const cancelled = await runs.cancel('r1', { reason: 'enough' });
    expect(cancelled).toMatchObject({ status: 'cancelling', run: { cancelling: { reason: 'enough' } } });
    await runs.worker({ queues: ['default'] });
    const result = sound(await runs.result('r1', { until: 'end' }));
    expect(result).toMatchObject({ status: 'cancelled', reason: 'enough', run: { state: 'ended' } });
    expect(result.run).not.toHaveProperty('cancelling');
  });
});

describe('what is submitted again under its id', () => {
  it('is told to be the same, or another', async () => {
    const store = memoryStore();
    const client = durableClient({ store });
    const first = { id: 'r1', data: { user: 'anna' }, limits: { turns: 3 } };
    const submit = async (agent: string, input: string, change: object = {}) => {
      const { created, same } = await client.submit(agent, input, { ...first, ...change });
      return [created, same];
    };
    expect(await submit('desk', 'Hi', { traceparent: 'one' })).toEqual([true, true]);
    expect(await submit('desk', 'Hi', { traceparent: 'two', limits: { turns: 3 } })).toEqual([false, true]);
    expect(await submit('till', 'Hi')).toEqual([false, false]);
    expect(await submit('desk', 'Hello')).toEqual([false, false]);
    expect(await submit('desk', 'Hi', { data: { user: 'berta' } })).toEqual([false, false]);
    expect(await submit('desk', 'Hi', { limits: { turns: 4 } })).toEqual([false, false]);
  });
});
