import { sql } from 'kysely';
import { checkLease, checkSessionOf, maxLeaseMs, pageSize, readPlace, writePlace } from '../check-arguments.js';
import type { Content, Encoded } from '../codec.js';
import { placeOf, writeName } from '../codec.js';
import type { NewRun, RunChange, RunQuery, RunRecord, RunRecords } from '../contract.js';
import { changedRun, neededUntil, newRunRecord } from '../run-records.js';
import { claimRun } from './claim-run.js';
import { leadOf, lookedAt } from './lead.js';
import { putPayloads } from './payloads.js';
import type { LockedRun } from './run-rows.js';
import { lockRun, readRuns, runChanges } from './run-rows.js';
import type { Db, SqlContext } from './sql-context.js';
import { nowOf, timeOf } from './sql-context.js';
import { belonging, insertSession, keepSession, lockSession, sessionIsLive, written } from './sql-sessions.js';
import { runColumns } from './tables.js';

export function sqlRuns(context: SqlContext): RunRecords {
  const { database, codec } = context;
  return {
    async create(run) {
      // Checks it before anything is encoded.
      newRunRecord(run, 0);
      const encoded = await codec.encode([{ place: placeOf('run', writeName(run.id)), value: run.submission }]);
      const made = await database.write((db) => createRun(db, context, { run, encoded }));
      if (made.created) database.watching.announce(run.session);
      return made;
    },
    get: (id) =>
      database.read(async (db) => {
        const rows = await db
          .selectFrom('runs')
          .select(runColumns)
          .where('id', '=', writeName(id))
          .where(sessionIsLive(nowOf(context), 'runs'))
          .execute();
        return (await readRuns(db, context, rows))[0];
      }),
    async list(query = {}) {
      const size = pageSize(query, 'runs');
      return database.read(async (db) => {
        const rows = await listRuns(db, context, query)
          .limit(size + 1)
          .execute();
        const shown = rows.slice(0, size);
        const last = shown.at(-1);
        const items = await readRuns(db, context, shown);
        return { items, ...(rows.length > size && last ? { next: writePlace([last.position]) } : {}) };
      });
    },
    async claim(options) {
      const run = await database.write((db) => claimRun(db, context, options));
      if (run) database.watching.announce(run.session);
      return run;
    },
    async renew(id, token, leaseMs) {
      checkLease(leaseMs);
      return database.write(async (db) => {
        const found = await lockRun(db, context, id);
        const lease = found?.record.lease;
        if (found === undefined || lease === undefined || lease.token !== token) return undefined;
        const now = await timeOf(db, context);
        const renewed: RunRecord = { ...changedRun(found.record, {}, now), lease: { ...lease, until: now + leaseMs } };
        await putRun(db, renewed, { found, cancel: found.row.cancel });
        return renewed;
      });
    },
    async update(id, version, change) {
      const changed = await database.write((db) => updateRun(db, context, { id, version, change }));
      if (changed) database.watching.announce(changed.session);
      return changed;
    },
  };
}

async function createRun(
  db: Db,
  context: SqlContext,
  { run, encoded }: { readonly run: NewRun; readonly encoded: Encoded },
): ReturnType<RunRecords['create']> {
  const session = writeName(run.session);
  for (;;) {
    const before = await lockRun(db, context, run.id);
    if (before) return { created: false, run: before.record };
    const there = await lockSession(db, context, session);
    checkSessionOf(there && belonging(there), run);
    const row = there ?? (await insertSession(db, context, { ...run, session }));
    if (row === undefined) continue;
    const now = await timeOf(db, context);
    const record = newRunRecord(run, now);
    const inserted = await db
      .insertInto('runs')
      .values({
        id: writeName(run.id),
        session,
        agent: writeName(run.agent),
        queue: writeName(run.queue),
        priority: run.priority,
        owner: written(run.owner),
        tenant: written(run.tenant),
        submission: encoded.rows[0]?.text ?? 'null',
        abandons: run.abandons ? 1 : 0,
        token: 0,
        events_at_claim: 0,
        created_at: now,
        ...runChanges(record, null),
      })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .returning('position')
      .executeTakeFirst();
    if (inserted === undefined) {
      await dropStray(db, context, run.id);
      continue;
    }
    await keepSession(db, { session, ttlMs: row.ttl_ms, until: neededUntil(record, now) });
    await putPayloads(db, { session, encoded });
    return { created: true, run: record };
  }
}

/** A run of this id whose session's time is over goes with its session. */
async function dropStray(db: Db, context: SqlContext, id: string): Promise<void> {
  const row = await db.selectFrom('runs').select('session').where('id', '=', writeName(id)).executeTakeFirst();
  if (row) await lockSession(db, context, row.session);
}

async function updateRun(
  db: Db,
  context: SqlContext,
  { id, version, change }: { readonly id: string; readonly version: number; readonly change: RunChange },
): Promise<RunRecord | undefined> {
  const found = await lockRun(db, context, id);
  if (found === undefined || found.record.version !== version) return undefined;
  const changed = changedRun(found.record, change, await timeOf(db, context));
  const write = async (kind: 'cancel' | 'run', value: Content['value']): Promise<string | undefined> => {
    const encoded = await context.codec.encode([{ place: placeOf(kind, found.row.id), value }]);
    await putPayloads(db, { session: found.row.session, encoded });
    return encoded.rows[0]?.text;
  };
  const kept = changed.cancel === undefined ? null : found.row.cancel;
  const cancel = change.cancel ? ((await write('cancel', change.cancel)) ?? null) : kept;
  const submission = change.submission === undefined ? undefined : await write('run', change.submission);
  await putRun(db, changed, { found, cancel, ...(submission === undefined ? {} : { submission }) });
  return changed;
}

/** `cancel` and `submission`: sealed texts; a submission that is left out stays. */
async function putRun(
  db: Db,
  record: RunRecord,
  { found, cancel, ...submission }: { readonly found: LockedRun; readonly cancel: string | null; readonly submission?: string },
): Promise<void> {
  await db
    .updateTable('runs')
    .set({ ...runChanges(record, cancel), ...submission })
    .where('id', '=', writeName(record.id))
    .execute();
  await keepSession(db, { session: found.row.session, ttlMs: found.ttlMs, until: neededUntil(record, record.updatedAt) });
}

/** What is due and what has trouble is found by an index of its own. */
function leadOfRuns(query: RunQuery) {
  if (query.due === true || query.trouble === true) return undefined;
  return leadOf(query, ['session', 'owner', ...(query.state === 'ended' ? [] : ['state' as const]), 'tenant', 'agent', 'queue', 'state']);
}

function listRuns(db: Db, context: SqlContext, query: RunQuery) {
  const [position] = readPlace(query.after, ['number']) ?? [];
  const { due } = query;
  const now = nowOf(context);
  let list = db
    .selectFrom('runs')
    .select(runColumns)
    .where(sessionIsLive(nowOf(context), 'runs'));
  const lead = leadOfRuns(query);
  for (const field of ['session', 'state', 'queue', 'agent', 'owner', 'tenant'] as const) {
    const wanted = query[field];
    // The index for lists of a queue is of another form than the column, so that claims keep theirs.
    const isPlain = (field === lead) !== (field === 'queue');
    if (wanted !== undefined) list = list.where(isPlain ? field : lookedAt(field), '=', writeName(wanted));
  }
  const latest = sql<number>`${now} + ${maxLeaseMs}`;
  if (due === true)
    list = list.where(({ eb, or, and }) => or([eb('free_at', '<=', now), and([eb('state', '=', 'running'), eb('free_at', '>', latest)])]));
  if (due === false)
    list = list.where(({ eb, or, and }) =>
      or([eb('free_at', 'is', null), and([eb('free_at', '>', now), or([eb('state', '=', 'queued'), eb('free_at', '<=', latest)])])]),
    );
  if (query.trouble !== undefined) list = list.where('trouble', query.trouble ? 'is not' : 'is', null);
  if (position !== undefined) list = list.where('position', '<', Number(position));
  // What is due is little: no database should go through all runs in their order instead.
  return list.orderBy(due === true ? sql`position + 0` : 'position', 'desc');
}
