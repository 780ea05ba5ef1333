import { embeddedEngine } from '@guardloop/durable';
import { durableConformance } from '@guardloop/durable/conformance';
import { postgresStore } from '@guardloop/store-postgres';
import { afterAll, beforeAll, describe } from 'vitest';
import type { PostgresServer } from '../servers/postgres.js';
import { postgresMissing, skipsPostgres, startPostgres } from '../servers/postgres.js';

describe.skipIf(skipsPostgres)(postgresMissing ?? 'PostgreSQL', () => {
  let server: PostgresServer;
  let count = 0;
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server?.remove());

  durableConformance('embedded, PostgreSQL', () => {
    count += 1;
    const schema = `durable_${count}`;
    return {
      openStore: () => postgresStore({ connectionString: server.connectionString, schema }),
      openEngine: () => embeddedEngine({ pollMs: 100 }),
    };
  });
});
