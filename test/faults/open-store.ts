import type { Engine } from '@guardloop/durable';
import { embeddedEngine } from '@guardloop/durable';
import type { Store } from '@guardloop/store';
import type { EngineAddress, StoreAddress } from './child-config.js';

/** Opens the store at an address. Its package is loaded then, so that a process loads no other. */
export async function openStore(address: StoreAddress, now?: () => number): Promise<Store> {
  switch (address.kind) {
    case 'sqlite': {
      const { sqliteStore } = await import('@guardloop/store-sqlite');
      return sqliteStore({ file: address.file, maxBytes: address.maxBytes, now, pollMs: 50 });
    }
    case 'postgres': {
      const { postgresStore } = await import('@guardloop/store-postgres');
      const { connectionString, schema, patienceMs } = address;
      return postgresStore({ connectionString, schema, patienceMs });
    }
    case 'redis': {
      const { redisStore } = await import('@guardloop/store-redis');
      return redisStore({ url: address.url, prefix: address.prefix });
    }
    default:
      return address satisfies never;
  }
}

/** Opens an engine for workers or clients. */
export async function openEngine(address: EngineAddress): Promise<Engine> {
  switch (address.kind) {
    case 'embedded':
      return embeddedEngine({ pollMs: 100 });
    case 'dbos': {
      const { dbosEngine } = await import('@guardloop/durable/dbos');
      const { databaseUrl, application } = address;
      return dbosEngine({ databaseUrl, application, pollMs: 50, lookMs: 150 });
    }
    case 'restate': {
      const { restateEngine } = await import('@guardloop/durable/restate');
      const { ingressUrl, adminUrl, service } = address;
      return restateEngine({ ingressUrl, adminUrl, service, lookMs: 150 });
    }
    default:
      return address satisfies never;
  }
}
