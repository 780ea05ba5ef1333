import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineAgent, defineTool, resume } from '@guardloop/core';
import type { Store } from '@guardloop/store';
import type { Tables } from '@guardloop/store/sql';
import { migrate, migrations } from '@guardloop/store/sql';
import { auditLog, say, scriptedModel } from '@guardloop/testing';
import { Kysely, sql } from 'kysely';
import Database from 'libsql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { sqliteStore } from './index.js';
import { sqliteDialect } from './sqlite-dialect.js';
import { SqliteFile } from './sqlite-file.js';

const fixture = (name: string): string => readFileSync(fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url)), 'utf8');
let folder = '';
let file = '';
const opened: Store[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'guardloop-sqlite-'));
  file = join(folder, 'store.db');
});
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
  rmSync(folder, { recursive: true, force: true });
});

function open(): Store {
  const store = sqliteStore({ file });
  opened.push(store);
  return store;
}

function makeVersion1(): void {
  const connection = new Database(file);
  connection.exec(fixture('version-1.sql'));
  connection.close();
}

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

/** Does one thing with the tables, as a later release would. */
async function withTables<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
  const connection = new SqliteFile({ file, synchronous: 'full', maxBytes: undefined });
  const db = new Kysely<Tables>({ dialect: sqliteDialect(connection) });
  try {
    return await db.transaction().execute(work);
  } finally {
    connection.close();
  }
}

const later = {
  up: async (db: Kysely<Tables>) => {
    await db.schema.alterTable('sessions').addColumn('title', 'text').execute();
  },
};
const setting = { dialect: 'sqlite', now: sql<number>`5` } as const;

describe('a database of version 1', () => {
  it('is opened with everything that is in it', async () => {
    makeVersion1();
    expect(await everythingIn(open())).toEqual(JSON.parse(fixture('version-1.json')));
  });

  it('is gone on with: a run that waited in it is resumed to its end, and runs are claimed', async () => {
    makeVersion1();
    const store = open();
    const [asked] = (await store.approvals.list({ session: 'waiting' })).items;
    const paid: number[] = [];
    const execute = ({ cents }: { cents: number }): string => {
      paid.push(cents);
      return 'paid';
    };
    const pay = defineTool({ name: 'pay', description: 'Pay.', input: z.object({ cents: z.number() }), approval: true, execute });
    const read = defineTool({ name: 'read', description: 'Read.', input: z.object({}), execute: () => 'never again' });
    const cashier = defineAgent({ name: 'cashier', instructions: '', model: scriptedModel(() => say('Paid.')), tools: [read, pay] });
    const result = await resume(cashier, { store, id: 'waiting' }, { decisions: { [asked?.id ?? '']: 'approve' } });
    expect(result).toMatchObject({ status: 'completed', text: 'Paid.' });
    expect(paid).toEqual([4_900]);
    expect(auditLog(result.log)).toEqual([]);
    const claim = (): Promise<unknown> => store.runs.claim({ owner: 'w', leaseMs: 60_000, queues: [{ queue: 'work' }] });
    expect(await claim()).toMatchObject({ id: 'cancelled', attempts: 1 });
    expect(await claim()).toMatchObject({ id: 'lapsed', attempts: 2, lease: { token: 2 } });
    expect(await claim()).toBeUndefined();
  });

  it('is brought to a later version with its data, once, however often that is tried', async () => {
    makeVersion1();
    const steps = [...migrations, later];
    for (let time = 0; time < 3; time += 1) await withTables((db) => migrate(db, { ...setting, steps }));
    const found = await withTables(async (db) => ({
      versions: await db.selectFrom('migrations').select(['version']).orderBy('version').execute(),
      sessions: await db.selectFrom('sessions').select('id').execute(),
    }));
    expect(found.versions).toEqual(steps.map((_, index) => ({ version: index + 1 })));
    expect(found.sessions.length).toBe((JSON.parse(fixture('version-1.json')) as { sessions: unknown[] }).sessions.length);
  });

  it('has the tables and indexes of a new one then, also where a step is done twice', async () => {
    makeVersion1();
    const objects = (): Promise<unknown> =>
      withTables(async (db) => {
        const { rows } = await sql`select type, name, tbl_name, sql from sqlite_master where sql is not null order by name`.execute(db);
        return rows;
      });
    await withTables((db) => migrate(db, setting));
    for (const step of migrations.slice(1)) await withTables((db) => step.up(db, 'sqlite'));
    const brought = await objects();
    rmSync(file);
    await withTables((db) => migrate(db, setting));
    expect(brought).toEqual(await objects());
  });

  it('stays as it was where a step fails, and is brought on by the next try', async () => {
    makeVersion1();
    const broken = {
      up: async (db: Kysely<Tables>) => {
        await later.up(db);
        throw new Error('the machine was switched off');
      },
    };
    await expect(withTables((db) => migrate(db, { ...setting, steps: [...migrations, broken] }))).rejects.toThrow('switched off');
    expect(await everythingIn(open())).toEqual(JSON.parse(fixture('version-1.json')));
    await withTables((db) => migrate(db, { ...setting, steps: [...migrations, later] }));
  });
});

describe('a database of a later version', () => {
  it('is refused with what to do, and left as it is', async () => {
    const before = open();
    await before.now();
    await before.close();
    await withTables((db) => migrate(db, { ...setting, steps: [...migrations, later] }));
    const failure = await open()
      .load('s')
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'STORE_FAILED',
      isRetryable: false,
      details: { found: migrations.length + 1, known: migrations.length },
    });
    expect(String(failure)).toMatch(/tables of version \d+.*update Guardloop here/);
  });

  it('goes on being used by a store that was open before', async () => {
    const store = open();
    await store.now();
    await withTables((db) => migrate(db, { ...setting, steps: [...migrations, later] }));
    await store.sessions.create('s', { owner: 'ann' });
    expect(await store.sessions.get('s')).toMatchObject({ id: 's', owner: 'ann' });
  });
});
