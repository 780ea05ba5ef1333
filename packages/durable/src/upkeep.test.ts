import { defineAgent, defineTool } from '@guardloop/core';
import { memoryStore } from '@guardloop/store';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { ApprovalTimes } from './index.js';
import { durable, durableAgent } from './index.js';

const pay = defineTool({ name: 'pay', description: 'Pay.', input: z.object({}), approval: true, execute: () => 'paid' });
const cashier = defineAgent({ name: 'cashier', instructions: '', model: scriptedModel([callTool('pay'), say('Done.')]), tools: [pay] });

async function paused(
  options: { readonly approvals?: ApprovalTimes; readonly own?: ApprovalTimes; readonly onError?: (error: unknown) => void } = {},
) {
  const { own, ...rest } = options;
  const store = memoryStore();
  const runs = durable({ store, agents: { cashier: durableAgent(cashier, own ? { approvals: own } : {}) }, upkeepMs: 20, ...rest });
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
