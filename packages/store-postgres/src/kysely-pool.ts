import type { PostgresPool, PostgresPoolClient } from 'kysely';
import type { CustomTypesConfig, Pool, PoolClient } from 'pg';
import { types } from 'pg';

const int8 = 20;

/** Whole numbers come as numbers: all that the store keeps are exact. Other types as pg has them. */
const numbers: CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === int8 ? Number : types.getTypeParser(oid, format)) as CustomTypesConfig['getTypeParser'],
};

/** Statements beyond so many are parsed each time: those whose text depends on how many values there are. */
const mostNames = 200;
const statementNames = new Map<string, string>();

/** Other copies of this package may use the same connection. */
const copy = crypto.randomUUID().slice(0, 8);

function nameOf(text: string): string | undefined {
  const known = statementNames.get(text);
  if (known !== undefined || statementNames.size >= mostNames) return known;
  const name = `guardloop_${copy}_${statementNames.size}`;
  statementNames.set(text, name);
  return name;
}

/** How a pool is used. */
export interface PoolUse {
  readonly isPrepared: boolean;
  /** How long a transaction may stand still, milliseconds, where the connection itself does not say so. */
  readonly idleMs?: number | undefined;
}

/** A pool as Kysely wants it. Losing a connection never ends the process. */
export function kyselyPool(pool: Pool, { isPrepared, idleMs }: PoolUse): PostgresPool {
  const begin = idleMs === undefined ? 'begin' : `begin; set local idle_in_transaction_session_timeout = ${idleMs}`;
  const clients = new WeakMap<PoolClient, PostgresPoolClient>();
  const wrap = (client: PoolClient): PostgresPoolClient => {
    // The pool listens only while a client is idle; a query that is under way is told by itself.
    client.on('error', () => {});
    const query = async (text: string, values: readonly unknown[]) => {
      if (text !== 'begin') return client.query({ text, values: values as unknown[], types: numbers, ...(isPrepared ? named(text) : {}) });
      await client.query(begin);
      return { command: 'BEGIN', rowCount: null, rows: [] };
    };
    return {
      query: query as unknown as PostgresPoolClient['query'],
      release: (discard?: boolean) => client.release(discard),
    } as PostgresPoolClient;
  };
  return {
    async connect() {
      const client = await pool.connect();
      const known = clients.get(client);
      if (known) return known;
      const wrapped = wrap(client);
      clients.set(client, wrapped);
      return wrapped;
    },
    end: async () => {},
  };
}

function named(text: string): { readonly name?: string } {
  const name = nameOf(text);
  return name === undefined ? {} : { name };
}
