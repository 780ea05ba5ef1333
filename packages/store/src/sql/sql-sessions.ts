import type { Expression, SqlBool } from 'kysely';
import { expressionBuilder, sql } from 'kysely';
import { checkNewSession, pageSize, readPlace, writePlace } from '../check-arguments.js';
import { readName, writeName } from '../codec.js';
import type { Belonging, SessionQuery, SessionRecord, SessionRecords } from '../contract.js';
import { leadOf, lookedAt } from './lead.js';
import { dropPayloads } from './payloads.js';
import type { Db, Now, SqlContext } from './sql-context.js';
import { nowOf, timeOf } from './sql-context.js';
import type { SessionRow, Tables } from './tables.js';
import { sessionColumns } from './tables.js';

const nameOf = (name: string | null): string | undefined => (name === null ? undefined : readName(name));
export const written = (name: string | undefined): string | null => (name === undefined ? null : writeName(name));

/** Fields that are not null. */
export function belonging({ owner, tenant }: { readonly owner: string | null; readonly tenant: string | null }): Belonging {
  return {
    ...(owner === null ? {} : { owner: readName(owner) }),
    ...(tenant === null ? {} : { tenant: readName(tenant) }),
  };
}

export function readSession(row: SessionRow): SessionRecord {
  const run = nameOf(row.run);
  const agent = nameOf(row.agent);
  return {
    id: readName(row.id),
    ...belonging(row),
    events: row.events,
    ...(run === undefined ? {} : { run }),
    ...(agent === undefined ? {} : { agent }),
    ...(row.status === null ? {} : { status: row.status as SessionRecord['status'] }),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
  };
}

/** The time of the session is not over. For queries in which `sessions` stands. */
export function isLive(now: Now): Expression<SqlBool> {
  const eb = expressionBuilder<Tables, 'sessions'>();
  return eb.or([eb('sessions.expires_at', 'is', null), eb('sessions.expires_at', '>', now)]);
}

/** The session that a row of another table belongs to is there, and its time is not over. */
export function sessionIsLive(now: Now, table: 'approvals' | 'runs' | 'lives' | 'events'): Expression<SqlBool> {
  const { exists, selectFrom } = expressionBuilder<Tables, never>();
  return exists(
    selectFrom('sessions')
      .select('sessions.id')
      .where('sessions.id', '=', sql.ref<string>(`${table}.session`))
      .where(isLive(now)),
  );
}

/** The session for a change in this transaction, which keeps all others from it. One whose time is over goes here, with all of it. */
export async function lockSession(
  db: Db,
  context: SqlContext,
  session: string,
): Promise<(SessionRow & { readonly now: number }) | undefined> {
  const { database } = context;
  const row = await db
    .selectFrom('sessions')
    .select(sessionColumns)
    .select(nowOf(context).as('now'))
    .where('id', '=', session)
    .$if(database.dialect === 'postgres', (query) => query.forUpdate())
    .executeTakeFirst();
  if (row === undefined || row.expires_at === null || row.expires_at > row.now) return row;
  await deleteSession(db, session);
  return undefined;
}

/** Makes the session unless it is there; undefined where another made it meanwhile. */
export async function insertSession(
  db: Db,
  context: SqlContext,
  made: Belonging & { readonly session: string; readonly ttlMs?: number | undefined; readonly lastsUntil?: number | undefined },
): Promise<SessionRow | undefined> {
  const ttlMs = made.ttlMs ?? context.ttlMs;
  const now = await timeOf(db, context);
  const row: SessionRow = {
    id: made.session,
    events: 0,
    run: null,
    agent: null,
    status: null,
    owner: written(made.owner),
    tenant: written(made.tenant),
    ttl_ms: ttlMs ?? null,
    created_at: now,
    updated_at: now,
    expires_at: ttlMs === undefined ? null : now + ttlMs,
  };
  const inserted = await db
    .insertInto('sessions')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id')
    .executeTakeFirst();
  return inserted && row;
}

/** The session's time to live counts from then on, unless it ends later already. */
export async function keepSession(
  db: Db,
  { session, ttlMs, until }: { readonly session: string; readonly ttlMs: number | null; readonly until: number | undefined },
): Promise<void> {
  if (ttlMs === null || until === undefined) return;
  const ends = until + ttlMs;
  await db.updateTable('sessions').set({ expires_at: ends }).where('id', '=', session).where('expires_at', '<', ends).execute();
}

/** Deletes a session and everything of it. */
export async function deleteSession(db: Db, session: string): Promise<void> {
  for (const table of ['events', 'approvals', 'runs', 'lives'] as const)
    await db.deleteFrom(table).where('session', '=', session).execute();
  await dropPayloads(db, session);
  await db.deleteFrom('sessions').where('id', '=', session).execute();
}

export function sqlSessions(context: SqlContext): SessionRecords {
  const { database } = context;
  return {
    async get(id) {
      const find = (db: Db) =>
        db
          .selectFrom('sessions')
          .select(sessionColumns)
          .where('id', '=', writeName(id))
          .where(isLive(nowOf(context)))
          .executeTakeFirst();
      const row = await database.read(find);
      return row && readSession(row);
    },
    async list(query = {}) {
      const size = pageSize(query, 'sessions');
      const rows = await database.read((db) =>
        listSessions(db, context, query)
          .limit(size + 1)
          .execute(),
      );
      const items = rows.slice(0, size).map(readSession);
      const last = items.at(-1);
      return { items, ...(rows.length > size && last ? { next: writePlace([last.updatedAt, last.id]) } : {}) };
    },
    async create(id, options = {}) {
      checkNewSession(id, options);
      const made = await database.write(async (db) => {
        for (;;) {
          const before = await lockSession(db, context, writeName(id));
          if (before) return { created: false, session: readSession(before) };
          const row = await insertSession(db, context, { ...options, session: writeName(id) });
          if (row) return { created: true, session: readSession(row) };
        }
      });
      if (made.created) database.watching.announce(id);
      return made;
    },
    async delete(id) {
      const session = writeName(id);
      const wasThere = await database.write(async (db) => {
        if ((await lockSession(db, context, session)) === undefined) return false;
        await deleteSession(db, session);
        return true;
      });
      if (wasThere) database.watching.announce(id);
      return wasThere;
    },
  };
}

function listSessions(db: Db, context: SqlContext, query: SessionQuery) {
  const [updatedAt, id] = readPlace(query.after, ['number', 'string']) ?? [];
  const { owner, tenant, status } = query;
  const lead = leadOf(query, ['owner', ...(status === 'completed' ? [] : ['status' as const]), 'tenant', 'status']);
  const by = (field: 'owner' | 'tenant' | 'status') => (field === lead ? field : lookedAt(field));
  return db
    .selectFrom('sessions')
    .select(sessionColumns)
    .where(isLive(nowOf(context)))
    .$if(owner !== undefined, (sessions) => sessions.where(by('owner'), '=', writeName(owner ?? '')))
    .$if(tenant !== undefined, (sessions) => sessions.where(by('tenant'), '=', writeName(tenant ?? '')))
    .$if(status !== undefined, (sessions) => sessions.where(by('status'), '=', status ?? ''))
    .$if(updatedAt !== undefined, (sessions) =>
      sessions
        // By itself, so that an index is read from there.
        .where('updated_at', '<=', Number(updatedAt))
        .where(({ eb, or }) => or([eb('updated_at', '<', Number(updatedAt)), eb('id', '>', writeName(String(id)))])),
    )
    .orderBy('updated_at', 'desc')
    .orderBy('id');
}

/** Deletes sessions whose time is over, some at a time. Returns how many. */
export async function sweepSessions(context: SqlContext): Promise<number> {
  const { database } = context;
  let count = 0;
  for (;;) {
    const gone = await database.write(async (db) => {
      const now = await timeOf(db, context);
      const rows = await db
        .selectFrom('sessions')
        .select('id')
        .where('expires_at', '<=', now)
        .limit(100)
        .$if(database.dialect === 'postgres', (query) => query.forUpdate().skipLocked())
        .execute();
      for (const { id } of rows) await deleteSession(db, id);
      return rows;
    });
    for (const { id } of gone) database.watching.announce(readName(id));
    count += gone.length;
    if (gone.length < 100) return count;
  }
}
