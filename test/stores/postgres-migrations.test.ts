import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineAgent, defineTool, resume } from '@guardloop/core';
import type { Store } from '@guardloop/store';
import { postgresStore } from '@guardloop/store-postgres';
import { auditLog, say, scriptedModel } from '@guardloop/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { PostgresServer } from '../servers/postgres.js';
import { postgresMissing, skipsPostgres, startPostgres } from '../servers/postgres.js';
import { failureOf, inputEvent } from './sessions.js';

const fixture = (name: string): string => readFileSync(fileURLToPath(new URL(`fixtures/${name}`, import.meta.url)), 'utf8');

async function everythingIn(store: Store): Promise<unknown> {
  const { items: sessions } = await store.sessions.list();
  const logs = await Promise.all(sessions.map(async ({ id }) => [id, await store.load(id)] as const));
  return {
    sessions,
    approvals: (await store.approvals.list()).items,
    runs: (await store.runs.list()).items,
    live: await store.live.get('waiting'),
    logs: Object.fromEntries(logs),
  };
}

describe.skipIf(skipsPostgres)(postgresMissing ?? 'tables of PostgreSQL', () => {
  let server: PostgresServer;
  const opened: Store[] = [];
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(async () => {
    for (const store of opened) await store.close();
    await server?.remove();
  });
  const open = (connectionString: string): Store => {
    const store = postgresStore({ connectionString });
    opened.push(store);
    return store;
  };

  it('of version 1 are opened with everything that is in them, and gone on with', async () => {
    const connectionString = server.createDatabase('version1');
    server.sql(fixture('postgres-version-1.sql'), 'version1');
    const store = open(connectionString);
    expect(await everythingIn(store)).toEqual(JSON.parse(fixture('postgres-version-1.json')));
    const [asked] = (await store.approvals.list({ session: 'waiting' })).items;
    const pay = defineTool({
      name: 'pay',
      description: 'Pay.',
      input: z.object({ cents: z.number() }),
      approval: true,
      execute: () => 'paid',
    });
    const read = defineTool({ name: 'read', description: 'Read.', input: z.object({}), execute: () => 'never again' });
    const cashier = defineAgent({ name: 'cashier', instructions: '', model: scriptedModel(() => say('Paid.')), tools: [read, pay] });
    const result = await resume(cashier, { store, id: 'waiting' }, { decisions: { [asked?.id ?? '']: 'approve' } });
    expect(result).toMatchObject({ status: 'completed', text: 'Paid.' });
    expect(auditLog(result.log)).toEqual([]);
    const claim = (): Promise<unknown> => store.runs.claim({ owner: 'w', leaseMs: 60_000, queues: [{ queue: 'work' }] });
    expect(await claim()).toMatchObject({ id: 'cancelled', attempts: 1 });
    expect(await claim()).toMatchObject({ id: 'lapsed', attempts: 2, lease: { token: 2 } });
  });

  it('of version 1 have the columns and indexes of new ones then', async () => {
    const old = server.createDatabase('brought');
    server.sql(fixture('postgres-version-1.sql'), 'brought');
    await open(old).now();
    await open(server.createDatabase('fresh')).now();
    const of = (database: string): string =>
      server.sql(
        `select indexdef from pg_indexes where schemaname = 'guardloop' order by indexname;
         select table_name, column_name, data_type, collation_name, is_nullable from information_schema.columns
           where table_schema = 'guardloop' order by table_name, ordinal_position`,
        database,
      );
    expect(of('fresh')).toContain('runs_by_trouble');
    expect(of('brought')).toBe(of('fresh'));
  });

  it('of a later version are refused with what to do; a store that was open before goes on', async () => {
    const connectionString = server.createDatabase('later');
    const before = open(connectionString);
    await before.append('s', [inputEvent(1)], 0);
    server.sql('alter table guardloop.sessions add column title text; insert into guardloop.migrations values (99, 0)', 'later');
    const failure = await failureOf(open(connectionString).load('s'));
    expect(failure).toMatchObject({ code: 'STORE_FAILED', isRetryable: false, details: { found: 99 } });
    expect(String(failure)).toMatch(/tables of version 99.*update Guardloop here/);
    await before.append('s', [inputEvent(2)], 1);
    expect(await before.sessions.get('s')).toMatchObject({ events: 2 });
    expect(await before.load('s')).toHaveLength(2);
  });

  it('are made by a user who may make no schema, where the schema is there', async () => {
    const connectionString = server.createDatabase('narrow');
    server.sql('create role narrow login; create schema guardloop authorization narrow', 'narrow');
    const store = open(connectionString.replace('postgres@', 'narrow@'));
    await store.append('s', [inputEvent(1)], 0);
    expect(await store.load('s')).toHaveLength(1);
    const other = open(server.createDatabase('barred').replace('postgres@', 'narrow@'));
    expect(await failureOf(other.load('s'))).toMatchObject({
      code: 'STORE_FAILED',
      isRetryable: false,
      message: expect.stringContaining('may not do it'),
    });
  });
});
