import { GuardloopError } from '@guardloop/core';
import type { SqlDatabase, Tables } from '@guardloop/store/sql';
import { migrate, migrations, patiently } from '@guardloop/store/sql';
import { Kysely, PostgresDialect, sql } from 'kysely';
import type { Pool } from 'pg';
import { kyselyPool } from './kysely-pool.js';
import { isAway, isUndone, isUnreached, postgresFailure } from './postgres-failures.js';
import { PostgresWatching } from './postgres-watching.js';

/** How a database is used. */
export interface PostgresDatabaseOptions {
  readonly pool: Pool;
  /** Ended with the store. */
  readonly ownsPool: boolean;
  readonly schema: string;
  readonly isPrepared: boolean;
  /** As of `PoolUse`. */
  readonly idleMs: number | undefined;
  /** How long a server that is away is waited for, milliseconds in all. */
  readonly patienceMs: number;
  readonly pollMs: number;
}

const pauses = { firstMs: 5, growth: 1.5, longestMs: 250 };

/** The server's clock; `now()` would stand still within a transaction. */
const now = sql<number>`(extract(epoch from clock_timestamp()) * 1000)::bigint`;

/** The database of one store. */
export function postgresDatabase(options: PostgresDatabaseOptions): SqlDatabase {
  const { pool, schema, isPrepared, idleMs, pollMs } = options;
  // An idle connection that is lost is told here; nobody waits for it.
  const ignore = (): void => {};
  pool.on('error', ignore);
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: kyselyPool(pool, { isPrepared, idleMs }) }) }).withSchema(schema);
  const transactions = new Transactions(db, options);
  const watching = new PostgresWatching(pool, { schema, pollMs });
  return {
    dialect: 'postgres',
    read: (work) => transactions.read(work),
    write: (work) => transactions.write(work),
    once: (work) => transactions.once(work),
    writeNow: undefined,
    clock: now,
    watching,
    async close() {
      await watching.close();
      if (options.ownsPool) await pool.end();
      pool.removeListener('error', ignore);
    },
  };
}

type Work<T> = (db: Kysely<Tables>) => Promise<T>;

class Transactions {
  #opening: Promise<void> | undefined;

  constructor(
    private readonly db: Kysely<Tables>,
    private readonly options: PostgresDatabaseOptions,
  ) {}

  read<T>(work: Work<T>): Promise<T> {
    return this.#told(async () => {
      await this.#open();
      return this.#patiently(() => work(this.db));
    });
  }

  write<T>(work: Work<T>): Promise<T> {
    return this.#told(async () => {
      await this.#open();
      return this.#patiently(() => this.#transact(work));
    });
  }

  once<T>(work: Work<T>): Promise<T> {
    return this.#told(async () => {
      await this.#open();
      return this.#patiently(async () => {
        try {
          return await work(this.db);
        } catch (thrown) {
          // What was sent may have been done.
          throw isAway(thrown) && !isUnreached(thrown) ? new OpenOutcome(thrown) : thrown;
        }
      });
    });
  }

  /** Whatever is lost before the commit is undone by the server; what is lost in it may be stored. */
  async #transact<T>(work: Work<T>): Promise<T> {
    let isCommitting = false;
    let failure: unknown;
    try {
      return await this.db.transaction().execute(async (trx) => {
        try {
          const result = await work(trx);
          isCommitting = true;
          return result;
        } catch (thrown) {
          failure = thrown;
          throw thrown;
        }
      });
    } catch (thrown) {
      // A rollback over a lost connection fails too; what came before tells more.
      if (isCommitting && isAway(thrown)) throw new OpenOutcome(thrown);
      throw failure ?? thrown;
    }
  }

  #patiently<T>(work: () => Promise<T>): Promise<T> {
    const isPassing = (thrown: unknown): boolean => isAway(thrown) || isUndone(thrown);
    return patiently(work, { patienceMs: this.options.patienceMs, isPassing, pauses });
  }

  async #told<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      if (GuardloopError.is(thrown)) throw thrown;
      const isOpen = thrown instanceof OpenOutcome;
      throw postgresFailure(isOpen ? thrown.cause : thrown, { isOpen, patienceMs: this.options.patienceMs });
    }
  }

  #open(): Promise<void> {
    this.#opening ??= this.#patiently(() => this.#makeTables()).catch((thrown: unknown) => {
      this.#opening = undefined;
      throw thrown;
    });
    return this.#opening;
  }

  async #makeTables(): Promise<void> {
    if (await this.#isMigrated()) return;
    const { schema } = this.options;
    await this.db.transaction().execute(async (trx) => {
      // Until the transaction ends nobody else migrates.
      await sql`select pg_advisory_xact_lock(hashtextextended(${`guardloop migrations ${schema}`}, 0))`.execute(trx);
      const found = await sql`select 1 from pg_namespace where nspname = ${schema}`.execute(trx);
      if (found.rows.length === 0) await trx.schema.createSchema(schema).execute();
      await migrate(trx, { dialect: 'postgres', now });
    });
  }

  async #isMigrated(): Promise<boolean> {
    const { rows } = await sql<{
      readonly there: boolean;
    }>`select to_regclass(${`${quoted(this.options.schema)}.migrations`}) is not null as there`.execute(this.db);
    if (!rows[0]?.there) return false;
    const { version } = await this.db
      .selectFrom('migrations')
      .select(({ fn }) => fn.max('version').as('version'))
      .executeTakeFirstOrThrow();
    return version === migrations.length;
  }
}

/** The connection was lost in a commit. */
class OpenOutcome extends Error {
  constructor(override readonly cause: unknown) {
    super('the outcome of a commit is not known');
  }
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
