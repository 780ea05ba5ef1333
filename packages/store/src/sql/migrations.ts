import { GuardloopError } from '@guardloop/core';
import type { Kysely, RawBuilder } from 'kysely';
import { sql } from 'kysely';
import type { SqlDatabase } from './database.js';
import { lookedAt } from './lead.js';
import type { Tables } from './tables.js';

type Dialect = SqlDatabase['dialect'];

/** One step from a version of the tables to the next. Runs in a transaction, once in the life of a database. */
export interface Migration {
  up(db: Kysely<Tables>, dialect: Dialect): Promise<void>;
}

/** In order: the first makes version 1. A step that was published is never changed. */
export const migrations: readonly Migration[] = [{ up: makeTables }, { up: indexLists }];

/** What {@link migrate} works with. */
export interface MigrationSetting {
  readonly dialect: Dialect;
  readonly now: RawBuilder<number>;
  /** Default: all that there are. */
  readonly steps?: readonly Migration[] | undefined;
}

/**
 * Brings the tables to the newest version; does nothing when they are there. `db` is a transaction that keeps all others that migrate out.
 * Rejects with `STORE_FAILED` when they are of a newer version than this package knows.
 */
export async function migrate(db: Kysely<Tables>, { dialect, now, steps = migrations }: MigrationSetting): Promise<void> {
  await db.schema
    .createTable('migrations')
    .ifNotExists()
    .addColumn('version', 'integer', (column) => column.primaryKey())
    .addColumn('migrated_at', 'bigint', (column) => column.notNull())
    .execute();
  const { version } = await db
    .selectFrom('migrations')
    .select(({ fn }) => fn.coalesce(fn.max('version'), sql<number>`0`).as('version'))
    .executeTakeFirstOrThrow();
  if (version > steps.length)
    throw new GuardloopError(
      'STORE_FAILED',
      `The database has tables of version ${version}, but this release of Guardloop knows versions up to ${steps.length}. It was written by a newer release: update Guardloop here, or give this release a database of its own. Nothing was changed.`,
      { details: { found: version, known: steps.length } },
    );
  for (const [index, step] of steps.entries()) {
    if (index < version) continue;
    await step.up(db, dialect);
    await db
      .insertInto('migrations')
      .values({ version: index + 1, migrated_at: now })
      .execute();
  }
}

/** Texts are compared byte by byte, whatever the database's own order is. */
const textOf = (dialect: Dialect): RawBuilder<unknown> => (dialect === 'postgres' ? sql`text collate "C"` : sql`text`);

async function makeTables(db: Kysely<Tables>, dialect: Dialect): Promise<void> {
  const text = textOf(dialect);
  const { schema } = db;
  // SQLite keeps rows of such tables in the order of their key, without a second tree.
  const inKeyOrder = dialect === 'sqlite' ? sql`without rowid` : sql``;
  await schema
    .createTable('sessions')
    .addColumn('id', text, (column) => column.primaryKey().notNull())
    .addColumn('events', 'bigint', (column) => column.notNull())
    .addColumn('run', text)
    .addColumn('agent', text)
    .addColumn('status', text)
    .addColumn('owner', text)
    .addColumn('tenant', text)
    .addColumn('ttl_ms', 'bigint')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint')
    .execute();
  await schema.createIndex('sessions_by_change').on('sessions').columns(['updated_at', 'id']).execute();
  await schema.createIndex('sessions_by_owner').on('sessions').columns(['owner', 'updated_at']).where('owner', 'is not', null).execute();
  await schema.createIndex('sessions_by_expiry').on('sessions').column('expires_at').where('expires_at', 'is not', null).execute();
  await schema
    .createTable('events')
    .addColumn('session', text, (column) => column.notNull())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('content', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('events_key', ['session', 'seq'])
    .modifyEnd(inKeyOrder)
    .execute();
  await schema
    .createTable('payloads')
    .addColumn('digest', text, (column) => column.primaryKey().notNull())
    .addColumn('content', 'text', (column) => column.notNull())
    .execute();
  await schema
    .createTable('payload_uses')
    .addColumn('session', text, (column) => column.notNull())
    .addColumn('digest', text, (column) => column.notNull().references('payloads.digest'))
    .addPrimaryKeyConstraint('payload_uses_key', ['session', 'digest'])
    .modifyEnd(inKeyOrder)
    .execute();
  await schema.createIndex('payload_uses_by_digest').on('payload_uses').column('digest').execute();
  await makeApprovals(db, text);
  await makeRuns(db, dialect);
  await schema
    .createTable('lives')
    .addColumn('session', text, (column) => column.primaryKey().notNull())
    .addColumn('content', 'text', (column) => column.notNull())
    .execute();
}

async function makeApprovals({ schema }: Kysely<Tables>, text: RawBuilder<unknown>): Promise<void> {
  await schema
    .createTable('approvals')
    .addColumn('id', text, (column) => column.primaryKey().notNull())
    .addColumn('session', text, (column) => column.notNull())
    .addColumn('run', text, (column) => column.notNull())
    .addColumn('owner', text)
    .addColumn('tenant', text)
    .addColumn('tool', text)
    .addColumn('surface', text, (column) => column.notNull())
    .addColumn('agent', text)
    .addColumn('state', text, (column) => column.notNull())
    .addColumn('approval', 'text', (column) => column.notNull())
    .addColumn('decision', 'text')
    .addColumn('decided_at', 'bigint')
    .addColumn('requested_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint')
    .addColumn('remind_at', 'bigint')
    .addColumn('due_at', 'bigint')
    .addColumn('reminders', 'integer', (column) => column.notNull())
    .execute();
  await schema.createIndex('approvals_by_session').on('approvals').column('session').execute();
  await schema
    .createIndex('approvals_unsettled')
    .on('approvals')
    .column('session')
    .where(sql.ref('state'), 'in', [sql.lit('open'), sql.lit('decided')])
    .execute();
  await schema.createIndex('approvals_by_request').on('approvals').columns(['state', 'requested_at', 'id']).execute();
  await schema.createIndex('approvals_by_due').on('approvals').column('due_at').where('due_at', 'is not', null).execute();
}

async function makeRuns({ schema }: Kysely<Tables>, dialect: Dialect): Promise<void> {
  const text = textOf(dialect);
  const isSqlite = dialect === 'sqlite';
  await schema
    .createTable('runs')
    .addColumn('position', isSqlite ? 'integer' : 'bigint', (column) =>
      isSqlite ? column.primaryKey().autoIncrement() : column.generatedAlwaysAsIdentity().primaryKey(),
    )
    .addColumn('id', text, (column) => column.notNull().unique())
    .addColumn('session', text, (column) => column.notNull())
    .addColumn('agent', text, (column) => column.notNull())
    .addColumn('queue', text, (column) => column.notNull())
    .addColumn('priority', 'bigint', (column) => column.notNull())
    .addColumn('state', text, (column) => column.notNull())
    .addColumn('status', text)
    .addColumn('owner', text)
    .addColumn('tenant', text)
    .addColumn('submission', 'text', (column) => column.notNull())
    .addColumn('abandons', 'integer', (column) => column.notNull())
    .addColumn('cancel', 'text')
    .addColumn('attempts', 'bigint', (column) => column.notNull())
    .addColumn('due_at', 'bigint', (column) => column.notNull())
    .addColumn('lease_owner', text)
    .addColumn('lease_until', 'bigint')
    .addColumn('free_at', 'bigint')
    .addColumn('token', 'bigint', (column) => column.notNull())
    .addColumn('events_at_claim', 'bigint', (column) => column.notNull())
    .addColumn('trouble', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addColumn('version', 'bigint', (column) => column.notNull())
    .execute();
  await schema.createIndex('runs_by_session').on('runs').columns(['session', 'position']).execute();
  await schema.createIndex('runs_by_state').on('runs').columns(['state', 'position']).execute();
  await schema.createIndex('runs_by_free').on('runs').column('free_at').where(sql.ref('free_at'), 'is not', null).execute();
  await schema.createIndex('runs_under_way').on('runs').column('session').where(sql.ref('state'), '<>', sql.lit('ended')).execute();
  await schema
    .createIndex('runs_by_turn')
    .on('runs')
    .columns(['queue', 'priority', 'due_at', 'id'])
    .where(sql.ref('free_at'), 'is not', null)
    .execute();
  await schema.createIndex('runs_by_lease').on('runs').columns(['queue', 'lease_until']).where('lease_until', 'is not', null).execute();
}

/** Version 2: each list by each of its filters reads what it shows, however much there is beside it. */
async function indexLists({ schema }: Kysely<Tables>): Promise<void> {
  const index = (table: keyof Tables & string, name: string, columns: readonly string[]) =>
    schema
      .createIndex(`${table}_by_${name}`)
      .ifNotExists()
      .on(table)
      .columns([...columns]);
  await index('sessions', 'tenant', ['tenant', 'updated_at']).where(sql.ref('tenant'), 'is not', null).execute();
  await index('sessions', 'status', ['status', 'updated_at']).where(sql.ref('status'), 'is not', null).execute();
  await index('approvals', 'time', ['requested_at', 'id']).execute();
  await index('approvals', 'run', ['run', 'requested_at', 'id']).execute();
  await index('approvals', 'surface', ['surface', 'requested_at', 'id']).execute();
  for (const column of ['owner', 'tenant', 'tool', 'agent'])
    await index('approvals', column, [column, 'requested_at', 'id']).where(sql.ref(column), 'is not', null).execute();
  await index('runs', 'agent', ['agent', 'position']).execute();
  await index('runs', 'queue', []).expression(lookedAt('queue')).column('position').execute();
  for (const column of ['owner', 'tenant'])
    await index('runs', column, [column, 'position']).where(sql.ref(column), 'is not', null).execute();
  await index('runs', 'trouble', ['position']).where(sql.ref('trouble'), 'is not', null).execute();
}
