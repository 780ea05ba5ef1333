import { DBOS } from '@dbos-inc/dbos-sdk';
import { durable, durableClient } from '@guardloop/durable';
import { durableConformance } from '@guardloop/durable/conformance';
import { dbosEngine } from '@guardloop/durable/dbos';
import { postgresStore } from '@guardloop/store-postgres';
import { auditLog } from '@guardloop/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { PostgresServer } from '../servers/postgres.js';
import { postgresMissing, skipsPostgres, startPostgres } from '../servers/postgres.js';
import type { WorkerSettings } from './fleet.js';
import { endWorkers, openLedger, startWorker, until } from './fleet.js';

let server: PostgresServer | undefined;
const postgres = () => {
  if (server === undefined) throw new Error(postgresMissing ?? 'PostgreSQL was not started');
  return server;
};

let databases = 0;
beforeAll(async () => {
  if (!skipsPostgres) server = await startPostgres();
}, 120_000);
afterAll(() => server?.remove(), 60_000);

describe.skipIf(skipsPostgres)('DBOS', () => {
  // DBOS's tables are made once: each test is an application of its own.
  durableConformance('DBOS, PostgreSQL', () => {
    databases += 1;
    const name = `suite${databases}`;
    const { connectionString } = postgres();
    return {
      openStore: () => postgresStore({ connectionString, schema: name, connections: 4 }),
      openEngine: () => dbosEngine({ databaseUrl: connectionString, application: name, pollMs: 50 }),
    };
  });
});

describe.skipIf(skipsPostgres)('DBOS is one for each process', { timeout: 60_000 }, () => {
  const open = (application: string, databaseUrl = postgres().connectionString) => {
    const store = postgresStore({ connectionString: postgres().connectionString, schema: application });
    const engine = dbosEngine({ databaseUrl, application });
    return { store, runs: durable({ store, engine, agents: {} }), client: durableClient({ store, engine }) };
  };

  it('so a second application is told, two workers of one share it, and the last one that stops ends it', async () => {
    const [first, same, other] = [open('shop'), open('shop'), open('desk')];
    const workers = [await first.runs.worker(), await same.runs.worker()];
    await expect(other.runs.worker()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('one for each process'),
    });
    await workers[0]?.stop();
    expect(DBOS.isInitialized()).toBe(true);
    await workers[1]?.stop();
    expect(DBOS.isInitialized()).toBe(false);
    await (await other.runs.worker()).stop();
    for (const { runs, store } of [first, same, other]) {
      await runs.close();
      await store.close();
    }
  });

  it('so a process that has launched it itself can submit, and is told that it cannot hold a worker', async () => {
    const { connectionString } = postgres();
    const ignore = () => undefined;
    DBOS.setConfig({
      name: 'theirs',
      systemDatabaseUrl: connectionString,
      logger: { info: ignore, debug: ignore, warn: ignore, error: ignore },
    });
    await DBOS.launch();
    const { runs, store, client } = open('beside');
    try {
      await expect(runs.worker()).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('launched in this process'),
      });
      expect((await client.submit('desk', 'Hi.', { id: 'r1' })).created).toBe(true);
      expect(postgres().sql(`select queue_name from dbos.workflow_status where workflow_uuid like 'beside:r1:%'`).trim()).toBe(
        'beside:default',
      );
    } finally {
      await runs.close();
      await store.close();
      await DBOS.shutdown();
    }
  });

  it('a worker whose DBOS cannot be reached is told, without the address', async () => {
    const { runs, store } = open('away', 'postgresql://planted-user:planted-word@127.0.0.1:1/none');
    const refused = runs.worker();
    await expect(refused).rejects.toMatchObject({ code: 'STORE_FAILED' });
    await refused.catch((error) => expect(JSON.stringify(error) + String(error)).not.toContain('planted'));
    await runs.close();
    await store.close();
  });
});

describe.skipIf(skipsPostgres)('workers of DBOS in processes of their own', { timeout: 180_000 }, () => {
  let database = '';
  let settings: WorkerSettings;
  let ledger: ReturnType<typeof openLedger>;
  let fleet: ReturnType<typeof openFleet>;
  /** A process that submits and watches: this one. */
  const openFleet = (connectionString: string) => {
    const store = postgresStore({ connectionString });
    const engine = dbosEngine({ databaseUrl: connectionString });
    return { store, engine, runs: durableClient({ store, engine }) };
  };
  beforeEach(() => {
    databases += 1;
    database = `fleet${databases}`;
    const connectionString = postgres().createDatabase(database);
    ledger = openLedger();
    fleet = openFleet(connectionString);
    settings = { name: 'one', ledger: ledger.file, store: { postgres: { connectionString } }, dbos: { databaseUrl: connectionString } };
  });
  afterEach(async () => {
    await endWorkers();
    await fleet.runs.close();
    await fleet.store.close();
    ledger.remove();
  }, 60_000);

  const countWorkflows = (where: string) =>
    Number(postgres().sql(`select count(*) from dbos.workflow_status where name = 'advance' and ${where}`, database));
  const begun = (tool: number) => until(() => ledger.lines().filter(({ word }) => word === 'start').length >= tool);

  it('a run is taken over by a second process when the first is killed in a tool', async () => {
    const first = await startWorker(settings);
    const { run } = await fleet.runs.submit('desk', 'look 0');
    await begun(1);
    await startWorker({ ...settings, name: 'two' });
    first.kill('SIGKILL');
    await begun(2);
    ledger.openGate();
    const result = await fleet.runs.result(run.id);
    expect(result.status).toBe('completed');
    if (result.status !== 'completed') return;
    expect(auditLog(result.log)).toEqual([]);
    expect(ledger.lines().map(({ worker }) => worker)).toEqual(['one', 'two', 'two']);
    // What the dead worker held in DBOS is put back and ends.
    await until(() => countWorkflows(`status <> 'SUCCESS'`) === 0);
  });

  it('a worker that was frozen and wakes when its run was taken over starts no effect', async () => {
    const first = await startWorker({ ...settings, leaseMs: 1_000 });
    const { run } = await fleet.runs.submit('desk', 'look 0, work 10');
    await begun(1);
    first.kill('SIGSTOP');
    ledger.openGate();
    await startWorker({ ...settings, name: 'two', leaseMs: 1_000 });
    expect((await fleet.runs.result(run.id)).status).toBe('completed');
    first.kill('SIGCONT');
    await until(() => ledger.lines().some(({ word, worker }) => word === 'end' && worker === 'one'));
    await first.stop();
    const works = ledger.lines().filter(({ key }) => key !== ledger.lines()[0]?.key);
    expect(works.map(({ word, worker }) => `${word} ${worker}`)).toEqual(['start two', 'end two']);
  });

  it('PostgreSQL stopped as by a crash in the middle of a run and started again: the run goes on and ends, and the next one too', async () => {
    const worker = await startWorker(settings);
    const { run } = await fleet.runs.submit('desk', 'look 0, work 10');
    await begun(1);
    await postgres().stop('immediate');
    ledger.openGate();
    await until(() => ledger.lines().some(({ word }) => word === 'end'));
    await postgres().start();
    const result = await fleet.runs.result(run.id);
    expect(result.status).toBe('completed');
    const next = await fleet.runs.submit('desk', 'work 5');
    expect((await fleet.runs.result(next.run.id)).status).toBe('completed');
    const works = ledger.lines().filter(({ word, key }) => word === 'start' && !key.startsWith(ledger.lines()[0]?.key ?? ''));
    expect(works).toHaveLength(2);
    await worker.stop();
  });

  it('kicks of an earlier deployment are taken by the next one, since their version is the log’s and not the build’s', async () => {
    const first = await startWorker(settings);
    const before = await fleet.runs.submit('desk', 'ask 5');
    await until(async () => (await fleet.runs.status(before.run.id))?.state === 'waiting');
    await first.stop();
    const [approval] = (await fleet.runs.approvals.list({ run: before.run.id })).items;
    expect((await fleet.runs.approvals.decide(approval?.id ?? '', 'approve')).status).toBe('recorded');
    const while_ = await fleet.runs.submit('desk', 'work 5');
    expect(countWorkflows(`status = 'ENQUEUED' and application_version = 'guardloop-log-1'`)).toBeGreaterThanOrEqual(2);
    await startWorker({ ...settings, name: 'next' });
    for (const id of [before.run.id, while_.run.id]) expect((await fleet.runs.result(id)).status).toBe('completed');
    await until(() => countWorkflows(`status <> 'SUCCESS'`) === 0);
  });

  it('a kick that was recovered 2,000 times is still taken', async () => {
    const { run } = await fleet.runs.submit('desk', 'work 5', { delayMs: 3_600_000 });
    const worker = await startWorker(settings);
    await worker.stop();
    const again = await fleet.runs.submit('desk', 'work 5');
    postgres().sql(
      `update dbos.workflow_status set recovery_attempts = 2000 where workflow_uuid like 'guardloop:${again.run.id}:%'`,
      database,
    );
    await startWorker({ ...settings, name: 'two' });
    expect((await fleet.runs.result(again.run.id)).status).toBe('completed');
    await until(() => countWorkflows(`status = 'SUCCESS' and recovery_attempts > 2000`) === 1);
    expect(countWorkflows(`status = 'MAX_RECOVERY_ATTEMPTS_EXCEEDED'`)).toBe(0);
    await fleet.runs.cancel(run.id);
  });

  it('holds ids and nothing of what was submitted, said or done; a run that waits is a row that is done', async () => {
    await startWorker(settings);
    const words = 'look 1, ask 2';
    const ids: string[] = [];
    for (let nth = 0; nth < 20; nth += 1)
      ids.push((await fleet.runs.submit('desk', words, { owner: 'planted-owner', tenant: 'planted-tenant' })).run.id);
    for (const id of ids) await until(async () => (await fleet.runs.status(id))?.state === 'waiting');
    await until(() => countWorkflows(`status = 'SUCCESS'`) === 20);
    const dump = postgres().sql(
      `select row_to_json(w) from dbos.workflow_status w; select row_to_json(o) from dbos.operation_outputs o; select row_to_json(e) from dbos.workflow_events e; select row_to_json(n) from dbos.notifications n; select row_to_json(i) from dbos.workflow_input i; select row_to_json(o) from dbos.workflow_output o`,
      database,
    );
    expect(dump).toContain(ids[0]);
    for (const word of [words, 'look 1', 'worked', 'planted', 'done:']) expect(dump).not.toContain(word);
  });

  it('the same kick given many times is one workflow, and a kick that was lost is made up for', async () => {
    await startWorker(settings);
    const { store, engine } = fleet;
    const { run } = await store.runs.create({
      id: 'lost',
      session: 'lost',
      agent: 'desk',
      queue: 'default',
      priority: 100,
      dueAt: (await store.now()) + 3_600_000,
      submission: (await submissionOf('work 5')) as never,
      abandons: false,
    });
    await Promise.all([engine.kick(run), engine.kick(run), engine.kick(run)]);
    expect(countWorkflows(`workflow_uuid like 'guardloop:lost:%'`)).toBe(1);
    expect(countWorkflows(`workflow_uuid like 'guardloop:lost:%' and status = 'DELAYED'`)).toBe(1);
    await store.runs.update('lost', run.version, { dueAt: await store.now() });
    expect((await fleet.runs.result('lost')).status).toBe('completed');
  });

  /** A submission as `submit` writes it. */
  const submissionOf = async (input: string) => {
    const { run } = await fleet.runs.submit('desk', input, { delayMs: 3_600_000 });
    return (await fleet.store.runs.get(run.id))?.submission;
  };

  it('rows of kicks that are done go after `keepMs`', async () => {
    await startWorker({ ...settings, leaseMs: 300, dbos: { databaseUrl: settings.dbos?.databaseUrl ?? '', keepMs: 1_000 } });
    const { run } = await fleet.runs.submit('desk', 'work 5');
    expect((await fleet.runs.result(run.id)).status).toBe('completed');
    await until(() => countWorkflows('true') === 0);
  });

  it('a limit of a queue is kept over two workers, and what met it is taken when there is room', async () => {
    const limited = { ...settings, queues: { narrow: { concurrency: 1 } } };
    await startWorker(limited);
    await startWorker({ ...limited, name: 'two' });
    const ids: string[] = [];
    for (let nth = 0; nth < 6; nth += 1) ids.push((await fleet.runs.submit('desk', 'work 60', { queue: 'narrow' })).run.id);
    for (const id of ids) expect((await fleet.runs.result(id)).status).toBe('completed');
    let open = 0;
    for (const { word } of ledger.lines()) {
      open += word === 'start' ? 1 : -1;
      expect(open).toBeLessThanOrEqual(1);
    }
    expect(ledger.lines()).toHaveLength(12);
  });
});
