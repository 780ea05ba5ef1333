import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { durableClient } from '@guardloop/durable';
import { durableConformance } from '@guardloop/durable/conformance';
import { restateEngine } from '@guardloop/durable/restate';
import { sqliteStore } from '@guardloop/store-sqlite';
import { auditLog } from '@guardloop/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RestateServer } from '../servers/restate.js';
import { restateMissing, skipsRestate, startRestate } from '../servers/restate.js';
import type { WorkerSettings } from './fleet.js';
import { endWorkers, openLedger, startWorker, until } from './fleet.js';

let server: RestateServer | undefined;
const restate = () => {
  if (server === undefined) throw new Error(restateMissing ?? 'Restate was not started');
  return server;
};

let nth = 0;
beforeAll(async () => {
  if (!skipsRestate) server = await startRestate();
}, 120_000);
afterAll(() => server?.remove(), 60_000);

describe.skipIf(skipsRestate)('Restate', () => {
  durableConformance('Restate, SQLite', () => {
    nth += 1;
    const service = `suite${nth}`;
    const folder = mkdtempSync(join(tmpdir(), 'guardloop-restate-suite-'));
    return {
      openStore: () => sqliteStore({ file: join(folder, 'runs.db'), pollMs: 20 }),
      openEngine: () => restateEngine({ ingressUrl: restate().ingressUrl, adminUrl: restate().adminUrl, service }),
      close: () => rmSync(folder, { recursive: true, force: true }),
    };
  });
});

describe.skipIf(skipsRestate)('workers of Restate in processes of their own', { timeout: 180_000 }, () => {
  let service = '';
  let settings: WorkerSettings;
  let ledger: ReturnType<typeof openLedger>;
  let fleet: ReturnType<typeof openFleet>;
  /** A process that submits and watches: this one. */
  const openFleet = (file: string) => {
    const store = sqliteStore({ file });
    const engine = restateEngine({ ingressUrl: restate().ingressUrl, service });
    return { store, engine, runs: durableClient({ store, engine }) };
  };
  beforeEach(() => {
    nth += 1;
    service = `fleet${nth}`;
    ledger = openLedger();
    const file = join(ledger.folder, 'runs.db');
    fleet = openFleet(file);
    const { ingressUrl, adminUrl } = restate();
    settings = { name: 'one', ledger: ledger.file, store: { sqlite: { file } }, restate: { ingressUrl, adminUrl, service } };
  });
  afterEach(async () => {
    await endWorkers();
    await fleet.runs.close();
    await fleet.store.close();
    ledger.remove();
  }, 60_000);

  const begun = (tool: number) => until(() => ledger.lines().filter(({ word }) => word === 'start').length >= tool);
  const invocations = () => restate().query(`select * from sys_invocation where target_service_name like '${service}.%'`);
  const open = async () => (await invocations()).filter(({ status }) => status !== 'completed');

  it('brings a run to a worker, and holds the call while it goes on', async () => {
    const { ingressUrl, adminUrl } = restate();
    // It does not look: what comes to it was brought.
    await startWorker({ ...settings, restate: { ingressUrl, adminUrl, service, lookMs: 60_000 } });
    const { run } = await fleet.runs.submit('desk', 'look 0, work 5');
    await begun(1);
    await until(async () => (await open()).length === 1);
    ledger.openGate();
    const result = await fleet.runs.result(run.id);
    expect(result.status).toBe('completed');
    if (result.status === 'completed') expect(auditLog(result.log)).toEqual([]);
    await until(async () => (await open()).length === 0);
  });

  it('a run is taken over by a second process when the first is killed in a tool, and no call stays with the dead one', async () => {
    const first = await startWorker(settings);
    const { run } = await fleet.runs.submit('desk', 'look 0');
    await begun(1);
    await startWorker({ ...settings, name: 'two' });
    first.kill('SIGKILL');
    await begun(2);
    ledger.openGate();
    expect((await fleet.runs.result(run.id)).status).toBe('completed');
    expect(ledger.lines().map(({ worker }) => worker)).toEqual(['one', 'two', 'two']);
    await until(async () => (await open()).length === 0);
  });

  it('kicks that came for an earlier deployment are taken by the next one', async () => {
    const first = await startWorker(settings);
    const before = await fleet.runs.submit('desk', 'ask 5');
    await until(async () => (await fleet.runs.status(before.run.id))?.state === 'waiting');
    first.kill('SIGKILL');
    const [approval] = (await fleet.runs.approvals.list({ run: before.run.id })).items;
    expect((await fleet.runs.approvals.decide(approval?.id ?? '', 'approve')).status).toBe('recorded');
    const { run } = await fleet.runs.submit('desk', 'work 5');
    await until(async () => (await open()).some(({ retry_count }) => Number(retry_count) > 1));
    await startWorker({ ...settings, name: 'next' });
    for (const id of [before.run.id, run.id]) expect((await fleet.runs.result(id)).status).toBe('completed');
    await until(async () => (await open()).length === 0);
  });

  it('kicks go to a worker that is there when the one that was registered last is gone', async () => {
    await startWorker(settings);
    const second = await startWorker({ ...settings, name: 'two' });
    await second.stop();
    const { run } = await fleet.runs.submit('desk', 'work 5');
    expect((await fleet.runs.result(run.id)).status).toBe('completed');
    await until(async () => (await open()).length === 0);
  });

  it('a tool that takes longer than Restate holds a call is neither cut nor run twice', async () => {
    const { ingressUrl, adminUrl } = restate();
    await startWorker({ ...settings, restate: { ingressUrl, adminUrl, service, holdMs: 1_000, lookMs: 60_000 } });
    const { run } = await fleet.runs.submit('desk', 'work 0');
    await begun(1);
    // Restate has let go of the call, has called anew, and was told that there is nothing to do.
    await until(async () => (await invocations()).some(({ status }) => status === 'completed'));
    ledger.openGate();
    expect((await fleet.runs.result(run.id)).status).toBe('completed');
    expect(ledger.lines().map(({ word }) => word)).toEqual(['start', 'end']);
    await until(async () => (await open()).length === 0);
  });

  it('a server of Restate that crashes in the middle of a run and comes back: the run ends, and the next kick arrives', async () => {
    await startWorker(settings);
    const { run } = await fleet.runs.submit('desk', 'look 0, work 5');
    await begun(1);
    await restate().kill();
    ledger.openGate();
    const lost = await fleet.runs.submit('desk', 'work 5');
    expect(lost.created).toBe(true);
    expect((await fleet.runs.result(lost.run.id)).status).toBe('completed');
    expect((await fleet.runs.result(run.id)).status).toBe('completed');
    await restate().start();
    const next = await fleet.runs.submit('desk', 'work 5');
    expect((await fleet.runs.result(next.run.id)).status).toBe('completed');
    await until(async () => (await invocations()).some(({ target_service_key }) => target_service_key === next.run.id));
    await until(async () => (await open()).length === 0);
  });

  it('holds ids and nothing of what was submitted, said or done; a run that waits is nothing in it', async () => {
    await startWorker(settings);
    const words = 'look 1, ask 2';
    const ids: string[] = [];
    for (let count = 0; count < 20; count += 1)
      ids.push((await fleet.runs.submit('desk', words, { owner: 'planted-owner', tenant: 'planted-tenant' })).run.id);
    for (const id of ids) await until(async () => (await fleet.runs.status(id))?.state === 'waiting');
    await until(async () => (await open()).length === 0);
    const rows = JSON.stringify([
      await invocations(),
      await restate().query('select * from sys_journal'),
      await restate().query('select * from state'),
    ]);
    expect(rows).toContain(ids[0]);
    for (const word of [words, 'look 1', 'worked', 'planted', 'done:']) expect(rows).not.toContain(word);
  });

  it('the same kick given many times is one call, delayed until the run is due', async () => {
    await startWorker(settings);
    const { run } = await fleet.runs.submit('desk', 'work 5', { delayMs: 3_600_000 });
    const record = await fleet.store.runs.get(run.id);
    if (record === undefined) throw new Error('not recorded');
    for (let count = 0; count < 3; count += 1) await fleet.engine.kick(record);
    const calls = (await invocations()).filter(({ target_service_key }) => target_service_key === run.id);
    expect(calls.map(({ status }) => status)).toEqual(['scheduled']);
    expect((await fleet.runs.cancel(run.id)).status).toBe('cancelled');
    const soon = await fleet.runs.submit('desk', 'work 5', { delayMs: 300 });
    expect((await fleet.runs.result(soon.run.id)).status).toBe('completed');
  });

  it('a limit of a queue with a name of any letters is kept over two workers', async () => {
    const queue = 'Pläne / für_morgen';
    const limited = { ...settings, queues: { [queue]: { concurrency: 1 } } };
    await startWorker(limited);
    await startWorker({ ...limited, name: 'two' });
    const ids: string[] = [];
    for (let count = 0; count < 6; count += 1) ids.push((await fleet.runs.submit('desk', 'work 60', { queue })).run.id);
    for (const id of ids) expect((await fleet.runs.result(id)).status).toBe('completed');
    let underWay = 0;
    for (const { word } of ledger.lines()) {
      underWay += word === 'start' ? 1 : -1;
      expect(underWay).toBeLessThanOrEqual(1);
    }
    expect(ledger.lines()).toHaveLength(12);
  });
});
