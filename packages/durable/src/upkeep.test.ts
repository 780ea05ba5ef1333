import { defineAgent, defineTool, endUnfinished, resume, run } from '@guardloop/core';
import type { Store } from '@guardloop/store';
import { memoryStore } from '@guardloop/store';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { ApprovalTimes } from './index.js';
import { durable, durableAgent } from './index.js';

const pay = defineTool({ name: 'pay', description: 'Pay.', input: z.object({}), approval: true, execute: () => 'paid' });
const cashier = defineAgent({ name: 'cashier', instructions: '', model: scriptedModel([callTool('pay'), say('Done.')]), tools: [pay] });

const clerk = defineAgent({ name: 'clerk', instructions: '', model: scriptedModel(() => say('Well.')) });

async function paused(
  options: { readonly approvals?: ApprovalTimes; readonly own?: ApprovalTimes; readonly onError?: (error: unknown) => void } = {},
) {
  const { own, ...rest } = options;
  const store = memoryStore();
  const runs = durable({ store, agents: { cashier: durableAgent(cashier, own ? { approvals: own } : {}), clerk }, upkeepMs: 20, ...rest });
  onTestFinished(() => runs.close());
  await runs.worker();
  await runs.submit('cashier', 'Pay', { id: 'r1' });
  const result = await runs.result('r1');
  if (result.status !== 'interrupted') throw new Error(result.status);
  return { store, runs, id: result.approvals[0]?.id ?? '' };
}

describe('what workers do beside runs', () => {
  it('a decision whose run was not made due is taken up all the same', async () => {
    const { store, runs, id } = await paused();
    // As by one who died right after it.
    await store.approvals.decide(id, 'approve', { by: 'anna' });
    expect(await runs.result('r1', { until: 'end', waitMs: 20_000 })).toMatchObject({ status: 'completed', text: 'Done.' });
  });

  it('a decision is taken up so too behind a hundred whose runs cannot go on', async () => {
    const { store, runs: first } = await paused();
    const ids = Array.from({ length: 101 }, (_, index) => `more${index}`);
    for (const id of ids) await first.submit('cashier', 'Pay', { id });
    for (const id of ids) expect(await first.result(id)).toMatchObject({ status: 'interrupted' });
    await first.close();
    const changed = defineAgent({ name: 'cashier', instructions: '', model: scriptedModel(() => say('Done.')) });
    const retry = { firstMs: 3_600_000, mostMs: 3_600_000 };
    const runs = durable({ store, agents: { cashier: changed }, upkeepMs: 20, retry });
    onTestFinished(() => runs.close());
    await runs.worker();
    const { items } = await runs.approvals.list({ state: 'open', limit: 1_000 });
    const last = items.at(-1);
    // Their tool is gone: they wait for another deployment, and so do their decisions.
    for (const { id } of items.slice(0, -1)) await runs.approvals.decide(id, 'approve');
    const troubled = async () => (await runs.list({ trouble: true, limit: 1_000 })).items.length;
    await expect.poll(troubled, { timeout: 20_000 }).toBe(101);
    // As by one who died right after it.
    await store.approvals.decide(last?.id ?? '', { reject: 'No.' });
    expect(await runs.result(last?.run ?? '', { until: 'end', waitMs: 20_000 })).toMatchObject({ status: 'completed' });
  });

  it('at expiry a run is cancelled, where that was wished', async () => {
    const { runs } = await paused({ approvals: { expireAfterMs: 30, atExpiry: 'cancel' } });
    expect(await runs.result('r1', { until: 'end', waitMs: 20_000 })).toMatchObject({
      status: 'cancelled',
      reason: expect.stringContaining('in time'),
    });
  });

  it("an agent's own times go before those of all", async () => {
    const { store, runs, id } = await paused({
      approvals: { expireAfterMs: 30 },
      own: { expireAfterMs: 60_000, atExpiry: { reject: 'Never.' } },
    });
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(await store.approvals.get(id)).toMatchObject({ state: 'open' });
    expect(await runs.status('r1')).toMatchObject({ state: 'waiting' });
  });

  it('a reminder that throws is told, and the next one comes', async () => {
    const told: unknown[] = [];
    let times = 0;
    const failure = new Error('no mail');
    const onReminder = () => {
      times += 1;
      throw failure;
    };
    await paused({ approvals: { remindAfterMs: 20, onReminder }, onError: (error) => told.push(error) });
    await expect.poll(() => times, { timeout: 20_000 }).toBeGreaterThan(1);
    expect(told).toContain(failure);
  });

  it('a reminder that never comes back holds up neither expiry nor the end of its worker', async () => {
    const { runs } = await paused({
      approvals: { remindAfterMs: 20, onReminder: () => new Promise(() => undefined), expireAfterMs: 200 },
    });
    expect(await runs.result('r1', { until: 'end', waitMs: 20_000 })).toMatchObject({ status: 'completed', text: 'Done.' });
    await runs.close({ graceMs: 10 });
  });

  it('a listener for errors that fails later harms nobody', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', note);
    onTestFinished(() => void process.off('unhandledRejection', note));
    let times = 0;
    const onError = async () => {
      times += 1;
      throw new Error('no mail');
    };
    const onReminder = () => {
      throw new Error('no chat');
    };
    const { runs } = await paused({ approvals: { remindAfterMs: 20, onReminder }, onError });
    await expect.poll(() => times, { timeout: 20_000 }).toBeGreaterThan(0);
    await runs.close();
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).toEqual([]);
  });

  it.each([
    ['resumed', (store: Store, id: string) => resume(cashier, { store, id: 'r1' }, { decisions: { [id]: 'approve' } }), 'completed'],
    ['abandoned', (store: Store) => run(clerk, 'On.', { session: { store, id: 'r1' }, unfinished: 'abandon' }), 'cancelled'],
    ['ended', (store: Store) => endUnfinished({ store, id: 'r1' }, { status: 'cancelled' }), 'cancelled'],
  ])('a waiting run that somebody else has %s ends, and its session goes on', async (_, goOn, status) => {
    const { store, runs, id } = await paused();
    await goOn(store, id);
    expect(await runs.result('r1', { until: 'end', waitMs: 20_000 })).toMatchObject({ status });
    await runs.submit('clerk', 'And now?', { id: 'r2', session: 'r1' });
    expect(await runs.result('r2', { waitMs: 20_000 })).toMatchObject({ status: 'completed', text: 'Well.' });
  });

  it('a run whose session is held up from outside says so, and goes on after that', async () => {
    const { store, runs } = await paused();
    const other = { store, id: 'chat' };
    const asked = await run(cashier, 'Pay', { session: other });
    await runs.submit('clerk', 'Hello?', { id: 'r2', session: 'chat' });
    await expect.poll(async () => (await runs.status('r2'))?.trouble, { timeout: 20_000 }).toBeDefined();
    expect((await runs.status('r2'))?.trouble).toMatchObject({ code: 'LOG_CONFLICT', choices: ['wait', 'cancel'] });
    await resume(cashier, other, { decisions: { [`${asked.runId}/p1`]: 'approve' } });
    expect(await runs.result('r2', { waitMs: 20_000 })).toMatchObject({ status: 'completed', text: 'Well.' });
  });

  it('rejected at expiry with the words that were given, by a fixed name', async () => {
    const { runs } = await paused({ approvals: { expireAfterMs: 30, atExpiry: { reject: 'Too late for that.' } } });
    const result = await runs.result('r1', { until: 'end', waitMs: 20_000 });
    if (result.status !== 'completed') throw new Error(result.status);
    expect(result.events.find(({ type }) => type === 'approval.resolve')).toMatchObject({
      reason: 'Too late for that.',
      decidedBy: 'expiry',
    });
  });
});
