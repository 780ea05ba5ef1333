import { join } from 'node:path';
import { durableClient } from '@guardloop/durable';
import { sqliteStore } from '@guardloop/store-sqlite';
import { auditLog } from '@guardloop/testing';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { endWorkers, openLedger, startWorker, until } from './fleet.js';

describe('approvals of durable runs, over processes', { timeout: 120_000 }, () => {
  afterEach(endWorkers);

  it('are decided by id and digest; a worker told to sign them says why it does not, and the next one goes on', async () => {
    const ledger = openLedger();
    onTestFinished(() => ledger.remove());
    const sqlite = { file: join(ledger.folder, 'runs.db') };
    const store = sqliteStore(sqlite);
    const client = durableClient({ store });
    onTestFinished(async () => {
      await client.close();
      await store.close();
    });
    const key = 'a key of which nobody may be told anything';
    const signing = await startWorker({ name: 'signing', ledger: ledger.file, store: { sqlite }, options: { approvals: { key } } });
    await client.submit('desk', 'ask 1', { id: 'r1' });
    await until(async () => (await client.status('r1'))?.trouble !== undefined);
    const { trouble } = (await client.status('r1')) ?? {};
    expect(trouble).toMatchObject({ code: 'CONFIG_INVALID', choices: ['deploy', 'cancel'] });
    expect(trouble?.message).toMatch(/`approvals`.*are not signed.*`digest`.*`encryption`/);
    expect(trouble?.message).not.toContain(key);
    expect(await store.load('r1')).toEqual([]);
    await signing.stop();

    await startWorker({ name: 'plain', ledger: ledger.file, store: { sqlite } });
    const asked = await client.result('r1');
    if (asked.status !== 'interrupted') throw new Error(asked.status);
    const [approval] = asked.approvals;
    const id = approval?.id ?? '';
    expect(await client.approvals.decide(id, 'approve', { digest: 'of another input' })).toMatchObject({ status: 'altered' });
    const digest = approval?.approval.digest;
    expect(await client.approvals.decide(id, 'approve', { by: 'anna', digest })).toMatchObject({ status: 'recorded' });
    expect(await client.approvals.decide(id, 'approve', { by: 'berta', digest })).toMatchObject({ status: 'already', same: true });
    const end = await client.result('r1', { until: 'end' });
    expect(end).toMatchObject({ status: 'completed', text: 'done: ask 1' });
    if ('log' in end) expect(auditLog(end.log)).toEqual([]);
    expect(ledger.lines().map(({ word }) => word)).toEqual(['start', 'end']);
  });
});
