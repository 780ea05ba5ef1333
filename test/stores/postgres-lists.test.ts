import type { Store } from '@guardloop/store';
import { postgresStore } from '@guardloop/store-postgres';
import type { PoolClient } from 'pg';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PostgresServer } from '../servers/postgres.js';
import { postgresMissing, skipsPostgres, startPostgres } from '../servers/postgres.js';
import { asked, common, many, none, placeOfEnd, rare, seed } from './seeded-lists.js';

interface Sent {
  readonly text: string;
  readonly values: readonly unknown[];
}
interface Plan {
  readonly 'Node Type': string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
}

/** Rows that were read to come to a result, those that were left out too. */
function rowsRead({ Plans = [], ...plan }: Plan): number {
  const own = plan['Node Type'].endsWith('Scan') ? plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0) : 0;
  return own * plan['Actual Loops'] + Plans.reduce((sum, below) => sum + rowsRead(below), 0);
}

describe.skipIf(skipsPostgres)(postgresMissing ?? `a page of one of ${many} records in PostgreSQL`, () => {
  let server: PostgresServer;
  let pool: Pool;
  let store: Store;
  let sent: Sent[] = [];
  beforeAll(async () => {
    server = await startPostgres();
    pool = new Pool({ connectionString: server.connectionString });
    pool.on('connect', (client: PoolClient) => {
      const query = client.query.bind(client) as (given: unknown, ...rest: readonly unknown[]) => unknown;
      client.query = ((given: Sent, ...rest: readonly unknown[]) => {
        if (typeof given === 'object') sent.push(given);
        return query(given, ...rest);
      }) as typeof client.query;
    });
    store = postgresStore({ pool, prepared: false });
    await store.now();
    for (const statement of seed(`select i from generate_series(1, ${many}) as i`, 'guardloop.')) server.sql(statement);
    server.sql('analyze');
  }, 60_000);
  afterAll(async () => {
    await store?.close();
    await pool?.end();
    await server?.remove();
  });

  async function readFor(act: () => Promise<unknown>): Promise<number> {
    sent = [];
    await act();
    const [{ text, values } = { text: '', values: [] }] = sent.filter((each) => / limit /.test(each.text));
    const { rows } = await pool.query(`explain (analyze, format json) ${text}`, [...values]);
    return rowsRead(rows[0]['QUERY PLAN'][0].Plan);
  }

  it.each(asked(rare))('$name reads what it shows', async ({ ask }) => {
    expect((await ask(store, { limit: 50 })).items).toHaveLength(1);
    expect(await readFor(() => ask(store, { limit: 50 }))).toBeLessThan(10);
  });
  it.each(asked(none))('$name reads next to nothing', async ({ ask }) => {
    expect((await ask(store, { limit: 50 })).items).toEqual([]);
    expect(await readFor(() => ask(store, { limit: 50 }))).toBeLessThan(10);
  });
  it.each(asked(common))('$name reads a page', async (list) => {
    expect(await readFor(() => list.ask(store, { limit: 50 }))).toBeLessThan(500);
    const after = await placeOfEnd(list, store);
    expect(await readFor(() => list.ask(store, { limit: 50, after }))).toBeLessThan(500);
  });
  it('a claim reads what is due', async () => {
    const queues = [{ queue: 'common' }, { queue: 'rare' }];
    const claim = () => store.runs.claim({ owner: 'w', leaseMs: 60_000, queues, agents: ['common', 'rare'] });
    expect(await readFor(async () => expect(await claim()).toMatchObject({ id: 'r1' }))).toBeLessThan(10);
  });
});
