import { checkOptionNames, checkWholeNumber, optionFault } from '@guardloop/core/model';
import type { Store } from '@guardloop/store';
import { checkTimers } from '@guardloop/store/kit';
import type { SqlStoreOptions } from '@guardloop/store/sql';
import { sqlStore } from '@guardloop/store/sql';
import { Pool } from 'pg';
import { postgresDatabase } from './postgres-database.js';

interface SharedOptions extends SqlStoreOptions {
  /** Schema of the tables; made if it is not there. 1 to 63 characters. Default `guardloop`. */
  readonly schema?: string | undefined;
  /** How long a server that is away is waited for in all, milliseconds, before `STORE_FAILED`. Default 10,000. */
  readonly patienceMs?: number | undefined;
  /**
   * How often `watch` looks whether something has changed while notifications do not come, milliseconds; while they do, a tenth as often.
   * Default 1,000.
   */
  readonly pollMs?: number | undefined;
  /**
   * Whether statements are prepared. Default true; false behind a pooler that gives each transaction another connection (PgBouncer in
   * transaction mode). Notifications do not come through one: who watches looks each `pollMs`.
   */
  readonly prepared?: boolean | undefined;
}
/** Options of {@link postgresStore}. */
export type PostgresStoreOptions = SharedOptions &
  (
    | {
        /** `postgresql://user:password@host:port/database`. */
        readonly connectionString: string;
        /** Most connections of the store's own pool, beside one that listens while somebody watches. Default 10. */
        readonly connections?: number | undefined;
        readonly pool?: undefined;
      }
    | {
        /** A pool of `pg`, which stays yours: `close` leaves it open. The store listens to its `error` events. */
        readonly pool: Pool;
        readonly connectionString?: undefined;
        readonly connections?: undefined;
      }
  );

const names: { readonly [K in keyof PostgresStoreOptions | 'connections']-?: true } = {
  connectionString: true,
  connections: true,
  pool: true,
  schema: true,
  patienceMs: true,
  pollMs: true,
  prepared: true,
  ttlMs: true,
  blobChars: true,
  encryption: true,
};

/**
 * Sessions, approvals and runs in PostgreSQL (tested with 15). Any number of store objects, processes and machines may use it at the same
 * time; times are by the server's clock. Connects at the first call, which makes and migrates the tables. Throws CONFIG_INVALID.
 *
 * ```ts
 * const store = postgresStore({ connectionString: 'postgresql://guardloop@localhost/guardloop' });
 * ```
 */
export function postgresStore(options: PostgresStoreOptions): Store {
  const where = 'postgresStore';
  checkOptionNames(where, options, names);
  const { connectionString, connections = 10, pool: given, schema = 'guardloop', ...others } = options;
  const { patienceMs = 10_000, pollMs = 1_000, prepared = true, ...rest } = others;
  if ((connectionString === undefined) === (given === undefined))
    throw optionFault(where, 'give either `connectionString` or `pool`, and not both.');
  if (connectionString !== undefined && (typeof connectionString !== 'string' || !/^postgres(ql)?:\/\//.test(connectionString)))
    throw optionFault(where, '`connectionString` must begin with postgresql://.');
  if (given !== undefined && (typeof given.connect !== 'function' || typeof given.query !== 'function'))
    throw optionFault(where, '`pool` is no Pool of pg. Give `new Pool({ … })`, or a connectionString.');
  if (typeof schema !== 'string' || !/^[^\0"]{1,63}$/.test(schema))
    throw optionFault(where, '`schema` must be a name of 1 to 63 characters, without quotes.');
  if (typeof prepared !== 'boolean') throw optionFault(where, '`prepared` must be true or false.');
  checkTimers(where, { patienceMs }, 0);
  checkTimers(where, { pollMs }, 1);
  checkWholeNumber(where, { connections }, 1);
  const ownsPool = given === undefined;
  const pool = given ?? ownPool({ connectionString, connections, patienceMs, isPrepared: prepared });
  const use = { isPrepared: prepared, idleMs: ownsPool && !prepared ? idleMs : undefined };
  return sqlStore(postgresDatabase({ pool, ownsPool, schema, ...use, patienceMs, pollMs }), rest);
}

/** How long a transaction may stand still: a process that was frozen in one must not hold up those who take its runs over. */
const idleMs = 5_000;

function ownPool({
  connectionString,
  connections,
  patienceMs,
  isPrepared,
}: {
  readonly connectionString: string | undefined;
  readonly connections: number;
  readonly patienceMs: number;
  readonly isPrepared: boolean;
}): Pool {
  return new Pool({
    connectionString,
    max: connections,
    connectionTimeoutMillis: Math.max(1_000, patienceMs),
    keepAlive: true,
    // A pooler refuses connections with a parameter that it does not know: behind one each transaction says it for itself.
    ...(isPrepared ? { idle_in_transaction_session_timeout: idleMs } : {}),
    keepAliveInitialDelayMillis: 10_000,
    allowExitOnIdle: true,
    fallback_application_name: 'guardloop',
  });
}
