// What a pooler that gives each transaction another connection lets through.
import type { Store } from '@guardloop/store';
import { storeConformance } from '@guardloop/store/conformance';
import type { PostgresStoreOptions } from '@guardloop/store-postgres';
import { postgresStore } from '@guardloop/store-postgres';
import { Pool } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { PgbouncerServer } from '../servers/pgbouncer.js';
import { pgbouncerMissing, skipsPgbouncer, startPgbouncer } from '../servers/pgbouncer.js';
import type { PostgresServer } from '../servers/postgres.js';
import { postgresMissing, skipsPostgres, startPostgres } from '../servers/postgres.js';
import { failureOf, inputEvent, until } from './sessions.js';

describe.skipIf(skipsPostgres || skipsPgbouncer)(postgresMissing ?? pgbouncerMissing ?? 'PgBouncer in transaction mode', () => {
  let server: PostgresServer;
  let pooler: PgbouncerServer;
  const opened: Store[] = [];
  beforeAll(async () => {
    server = await startPostgres({ settings: { log_statement: 'all' } });
    pooler = await startPgbouncer(server);
  }, 60_000);
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
  });
  afterAll(async () => {
    await pooler?.remove();
    await server?.remove();
  });
  const open = (options: Partial<Extract<PostgresStoreOptions, { readonly connectionString: string }>> = {}): Store => {
    const store = postgresStore({ connectionString: pooler.connectionString, prepared: false, ...options });
    opened.push(store);
    return store;
  };

  storeConformance(
    'postgresStore behind PgBouncer',
    ({ database, now: _, ...options }) =>
      postgresStore({ connectionString: pooler.connectionString, schema: `the ${database}`, prepared: false, ...options }),
    { isLasting: true, hasCodec: true, raw: () => server.dump() },
  );

  it('is told of at once where statements are prepared, with what to do', async () => {
    const store = open({ prepared: true, patienceMs: 3_600_000 });
    expect(await failureOf(store.append('s', [inputEvent(1, 'private')], 0))).toMatchObject({
      code: 'STORE_FAILED',
      isRetryable: false,
      message: expect.stringContaining('Give postgresStore `prepared: false`'),
    });
  });

  it('is told of where a pool of the caller meets a statement that another connection has prepared', async () => {
    const pool = new Pool({ connectionString: pooler.connectionString, max: 20 });
    const store = postgresStore({ pool, schema: 'callers', patienceMs: 3_600_000 });
    const failures: unknown[] = [];
    await until(async () => {
      const work = Array.from({ length: 20 }, (_, index) => failureOf(store.load(`s${index}`)));
      failures.push(...(await Promise.all(work)).filter((failure) => failure !== undefined));
      return failures.length > 0;
    });
    for (const failure of failures)
      expect(failure).toMatchObject({ code: 'STORE_FAILED', message: expect.stringContaining('Give postgresStore `prepared: false`') });
    await store.close();
    await pool.end();
  });

  it('lets a transaction stand still no longer than a connection of its own would', async () => {
    await open().sessions.create('still');
    const log = "pg_read_file(current_setting('data_directory') || '/../log')";
    expect(server.sql(`select ${log} like '%begin; set local idle_in_transaction_session_timeout = 5000%'`).trim()).toBe('t');
  });

  it('passes no notifications on: who watches looks as often as where none come', async () => {
    const [one, two] = [open({ pollMs: 50 }), open({ pollMs: 50 })];
    await one.append('watched', [inputEvent(1)], 0);
    let told = 0;
    two.watch('watched', () => {
      told += 1;
    });
    // Long enough for what connecting itself tells; then looks alone are left.
    await until(() => told > 0);
    const count = (ms: number) =>
      new Promise<number>((resolve) => {
        const before = told;
        setTimeout(() => resolve(told - before), ms);
      });
    await until(async () => (await count(500)) >= 4);
    await one.append('watched', [inputEvent(2)], 1);
    expect(await two.load('watched')).toHaveLength(2);
  });
});
