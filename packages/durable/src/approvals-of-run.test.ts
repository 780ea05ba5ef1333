import { defineAgent, defineTool } from '@guardloop/core';
import type { ApprovalQuery, Store } from '@guardloop/store';
import { memoryStore } from '@guardloop/store';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { durable } from './index.js';

/** Its lists have two items a page at most, and it keeps what was asked for. */
function smallPages() {
  const inner = memoryStore();
  const queries: ApprovalQuery[] = [];
  const list: Store['approvals']['list'] = (query = {}) => {
    queries.push(query);
    return inner.approvals.list({ ...query, limit: 2 });
  };
  const store: Store = { ...inner, approvals: { ...inner.approvals, list } };
  return { store, queries };
}

it('all questions of a run are shown, scheduled and taken up together, on however many pages they stand', async () => {
  const pay = defineTool({ name: 'pay', description: 'Pay.', input: z.object({ n: z.number() }), approval: true, execute: () => 'paid' });
  const calls = [1, 2, 3, 4, 5].map((n) => callTool('pay', { n }));
  const cashier = defineAgent({ name: 'cashier', instructions: '', model: scriptedModel([calls, say('Done.')]), tools: [pay] });
  const { store, queries } = smallPages();
  const runs = durable({ store, agents: { cashier }, upkeepMs: 20, approvals: { expireAfterMs: 3_600_000 } });
  onTestFinished(() => runs.close());
  const worker = await runs.worker();
  await runs.submit('cashier', 'Pay', { id: 'r1' });
  const asked = await runs.result('r1');
  if (asked.status !== 'interrupted') throw new Error(asked.status);
  expect(asked.approvals).toHaveLength(5);
  for (const { id, expiresAt } of asked.approvals) expect(expiresAt, id).toBeDefined();
  await worker.stop();
  for (const { id } of asked.approvals) await runs.approvals.decide(id, 'approve');
  await runs.worker();
  const result = await runs.result('r1', { until: 'end', waitMs: 20_000 });
  if (result.status !== 'completed') throw new Error(result.status);
  expect(auditLog(result.log)).toEqual([]);
  expect(result.events.filter(({ type }) => type === 'run.resume')).toHaveLength(1);
  // No store is asked to look through the approvals of all runs for those of one.
  const ofRuns = queries.filter(({ run }) => run !== undefined);
  expect(ofRuns.length).toBeGreaterThan(3);
  for (const { session } of ofRuns) expect(session).toBe('r1');
});
