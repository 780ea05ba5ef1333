import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '@guardloop/store';
import { memoryStore } from '@guardloop/store';
import { postgresStore } from '@guardloop/store-postgres';
import { sqliteStore } from '@guardloop/store-sqlite';
import { postgresMissing, startPostgres } from '../servers/postgres.js';

/** A store that is measured. */
export interface Measured {
  readonly name: string;
  readonly store: Store;
  /** Bytes on the disk, once everything is written out. Undefined where there is no disk. */
  bytes(): number | undefined;
  close(): Promise<void>;
}

/** Ways to open an empty store, by name; each opens its own server where it needs one. */
export const openers: Readonly<Record<string, () => Promise<Measured> | Measured>> = {
  memory: () => {
    const store = memoryStore();
    return { name: 'memory', store, bytes: () => undefined, close: () => store.close() };
  },
  'sqlite in memory': () => {
    const store = sqliteStore({ file: ':memory:' });
    return { name: 'sqlite in memory', store, bytes: () => undefined, close: () => store.close() };
  },
  sqlite: () => openSqlite('full'),
  'sqlite, synchronous normal': () => openSqlite('normal'),
  postgres: openPostgres,
};

function openSqlite(synchronous: 'full' | 'normal'): Measured {
  const folder = mkdtempSync(join(tmpdir(), 'guardloop-bench-'));
  const file = join(folder, 'store.db');
  const store = sqliteStore({ file, synchronous });
  return {
    name: synchronous === 'full' ? 'sqlite' : 'sqlite, synchronous normal',
    store,
    bytes: () => statSync(file).size + statSync(`${file}-wal`).size,
    async close() {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function openPostgres(): Promise<Measured> {
  if (postgresMissing !== undefined) throw new Error(postgresMissing);
  const server = await startPostgres({ isDurable: true });
  const store = postgresStore({ connectionString: server.connectionString });
  return {
    name: 'postgres',
    store,
    bytes: () =>
      Number(
        server.sql(
          "select sum(pg_total_relation_size(oid)) from pg_class where relnamespace = 'guardloop'::regnamespace and relkind = 'r'",
        ),
      ),
    async close() {
      await store.close();
      await server.remove();
    },
  };
}
