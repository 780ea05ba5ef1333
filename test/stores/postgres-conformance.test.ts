import { storeConformance } from '@guardloop/store/conformance';
import { postgresStore } from '@guardloop/store-postgres';
import { afterAll, beforeAll, describe } from 'vitest';
import type { PostgresServer } from '../servers/postgres.js';
import { postgresMissing, skipsPostgres, startPostgres } from '../servers/postgres.js';

describe.skipIf(skipsPostgres)(postgresMissing ?? 'PostgreSQL', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server?.remove());

  storeConformance(
    'postgresStore',
    ({ database, now: _, ...options }) =>
      postgresStore({ connectionString: server.connectionString, schema: `the ${database}`, ...options }),
    { isLasting: true, hasCodec: true, raw: () => server.dump() },
  );
});
