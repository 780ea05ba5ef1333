import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '@guardloop/store';
import { memoryStore } from '@guardloop/store';
import { postgresStore } from '@guardloop/store-postgres';
import { redisStore } from '@guardloop/store-redis';
import { sqliteStore } from '@guardloop/store-sqlite';
import { Redis } from 'ioredis';
import { startPostgres } from '../servers/postgres.js';
import { startRedis } from '../servers/redis.js';

/** A store that is measured. */
export interface Measured {
  readonly name: string;
  readonly store: Store;
  /** Bytes on the disk, or in the server's memory where that is its store; 0 in this process. */
  bytes(): Promise<number>;
  close(): Promise<void>;
}

/** Ways to open an empty store, by name; each opens its own server where it needs one. */
export const openers: Readonly<Record<string, () => Promise<Measured> | Measured>> = {
  memory: () => {
    const store = memoryStore();
    return { name: 'memory', store, bytes: async () => 0, close: () => store.close() };
  },
  'sqlite in memory': () => {
    const store = sqliteStore({ file: ':memory:' });
    return { name: 'sqlite in memory', store, bytes: async () => 0, close: () => store.close() };
  },
  sqlite: () => openSqlite('full'),
  'sqlite, synchronous normal': () => openSqlite('normal'),
  postgres: openPostgres,
  redis: openRedis,
};

function openSqlite(synchronous: 'full' | 'normal'): Measured {
  const folder = mkdtempSync(join(tmpdir(), 'guardloop-bench-'));
  const file = join(folder, 'store.db');
  const store = sqliteStore({ file, synchronous });
  return {
    name: synchronous === 'full' ? 'sqlite' : 'sqlite, synchronous normal',
    store,
    bytes: async () => statSync(file).size + statSync(`${file}-wal`).size,
    async close() {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function openPostgres(): Promise<Measured> {
  const server = await startPostgres({ isDurable: true });
  const store = postgresStore({ connectionString: server.connectionString });
  return {
    name: 'postgres',
    store,
    bytes: async () =>
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

async function openRedis(): Promise<Measured> {
  const server = await startRedis({ isDurable: true });
  const store = redisStore({ url: server.url });
  const client = new Redis(server.url);
  return {
    name: 'redis',
    store,
    bytes: async () => Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]),
    async close() {
      client.disconnect();
      await store.close();
      await server.remove();
    },
  };
}
