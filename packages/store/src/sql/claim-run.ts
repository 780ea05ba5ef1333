import type { ExpressionBuilder } from 'kysely';
import { expressionBuilder, sql } from 'kysely';
import { checkClaim, maxLeaseMs } from '../check-arguments.js';
import { writeName } from '../codec.js';
import type { ClaimOptions, QueueLimits, RunRecord } from '../contract.js';
import { changedRun, neededUntil } from '../run-records.js';
import { lookedAt } from './lead.js';
import type { RunRow } from './run-rows.js';
import { readRuns, runChanges } from './run-rows.js';
import type { Db, SqlContext } from './sql-context.js';
import { nowOf, timeOf } from './sql-context.js';
import { keepSession, lockSession, sessionIsLive } from './sql-sessions.js';
import type { SessionRow, Tables } from './tables.js';
import { runColumns } from './tables.js';

/** A queue that has room, and the tenants that have none in it. */
interface Room {
  readonly queue: string;
  /** As they are written; null: runs without a tenant. */
  readonly fullTenants: readonly (string | null)[];
}

/** As `RunRecords.claim`. */
export async function claimRun(db: Db, context: SqlContext, options: ClaimOptions): Promise<RunRecord | undefined> {
  checkClaim(options);
  if (options.queues.length === 0 || options.agents?.length === 0) return undefined;
  const rooms = await findRooms(db, context, options.queues);
  if (rooms.length === 0) return undefined;
  const passed = (options.except ?? []).map(writeName);
  for (;;) {
    const now = await timeOf(db, context);
    const row = await candidates(db, context, { options, rooms, now })
      .$if(passed.length > 0, (query) => query.where('runs.id', 'not in', passed))
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const session = await lockNext(db, context, { row, now });
    if (session !== undefined) return take(db, context, { row, session, now, options });
    passed.push(row.id);
  }
}

/**
 * Which queues have room. Who claims from a queue with limits keeps all others that do from it until the end of the transaction, so that
 * what is counted here still holds then.
 */
async function findRooms(db: Db, context: SqlContext, queues: readonly QueueLimits[]): Promise<readonly Room[]> {
  const { dialect } = context.database;
  const rooms: Room[] = [];
  const inOrder = [...queues].sort((left, right) => (left.queue < right.queue ? -1 : 1));
  for (const { queue, concurrency = Number.POSITIVE_INFINITY, tenantConcurrency = Number.POSITIVE_INFINITY } of inOrder) {
    const name = writeName(queue);
    if (concurrency === Number.POSITIVE_INFINITY && tenantConcurrency === Number.POSITIVE_INFINITY) {
      rooms.push({ queue: name, fullTenants: [] });
      continue;
    }
    if (dialect === 'postgres') await sql`select pg_advisory_xact_lock(hashtextextended(${`guardloop queue ${name}`}, 0))`.execute(db);
    const live = await db
      .selectFrom('runs')
      .select(['tenant', ({ fn }) => fn.countAll<number>().as('count')])
      .where('queue', '=', name)
      .where('lease_until', '>', nowOf(context))
      .where('lease_until', '<=', sql<number>`${nowOf(context)} + ${maxLeaseMs}`)
      .groupBy('tenant')
      .execute();
    if (live.reduce((sum, { count }) => sum + count, 0) >= concurrency || tenantConcurrency === 0) continue;
    rooms.push({ queue: name, fullTenants: live.filter(({ count }) => count >= tenantConcurrency).map(({ tenant }) => tenant) });
  }
  return rooms;
}

interface Search {
  readonly options: ClaimOptions;
  readonly rooms: readonly Room[];
  readonly now: number;
}

/** The run that is first by priority, then `dueAt`, then id, of those that may be taken; kept from others. */
function candidates(db: Db, context: SqlContext, { options: { agents, run }, rooms, now }: Search) {
  return (
    db
      .selectFrom('runs')
      .select(runColumns)
      // In this form the index that has runs in their order is used, and the first that fits ends the search.
      .where('runs.free_at', 'is not', null)
      .where(({ or, and, eb }) => {
        const freeAt = sql<number>`${sql.ref('runs.free_at')} + 0`;
        return or([
          eb(freeAt, '<=', now),
          and([eb(sql<string>`${sql.ref('runs.state')} || ''`, '=', 'running'), eb(freeAt, '>', now + maxLeaseMs)]),
        ]);
      })
      .where(({ or }) => or(rooms.map((room) => hasRoom(room))))
      .where(sessionIsLive(nowOf(context), 'runs'))
      // SQLite finds the question soon by itself.
      .$if(context.database.dialect === 'postgres', (query) => query.where(isHeldUpByNoQuestion))
      .where(isNext(now))
      .$if(agents !== undefined, (query) => query.where(lookedAt('runs.agent'), 'in', (agents ?? []).map(writeName)))
      .$if(run !== undefined, (query) => query.where('runs.id', '=', writeName(run ?? '')))
      .orderBy('runs.priority')
      .orderBy('runs.due_at')
      .orderBy('runs.id')
      .limit(1)
      .$if(context.database.dialect === 'postgres', (query) => (run === undefined ? query.forUpdate().skipLocked() : query.forUpdate()))
  );
}

function hasRoom({ queue, fullTenants }: Room) {
  const eb = expressionBuilder<Tables, 'runs'>();
  const names = fullTenants.filter((tenant) => tenant !== null);
  const isInQueue = eb('runs.queue', '=', queue);
  if (fullTenants.length === 0) return isInQueue;
  const isNamed = eb('runs.tenant', 'is not', null);
  const isRoomForNamed = names.length > 0 ? eb.and([isNamed, eb('runs.tenant', 'not in', names)]) : isNamed;
  const isRoom = fullTenants.includes(null) ? isRoomForNamed : eb.or([eb('runs.tenant', 'is', null), isRoomForNamed]);
  return eb.and([isInQueue, isRoom]);
}

/** A part of `isNext` by itself, so that of many that wait behind one question each is one look at that. */
function isHeldUpByNoQuestion({ eb, or, not, exists, selectFrom }: ExpressionBuilder<Tables, 'runs'>) {
  const waiting = selectFrom('runs as waiting')
    .select('waiting.id')
    .whereRef('waiting.session', '=', 'runs.session')
    .where('waiting.state', '=', 'waiting')
    .where('waiting.state', '<>', sql.lit('ended'));
  return or([eb('runs.abandons', '=', 1), not(exists(waiting))]);
}

/** The rule of `isNext` in `../memory-runs.ts`: no other run of the session goes before it. */
function isNext(now: number) {
  return ({ not, exists, selectFrom }: ExpressionBuilder<Tables, 'runs'>) =>
    not(
      exists(
        selectFrom('runs as other')
          .select('other.id')
          .whereRef('other.session', '=', 'runs.session')
          .whereRef('other.id', '<>', 'runs.id')
          .where('other.state', '<>', sql.lit('ended'))
          .where(({ eb, and, or, ref }) => {
            const isWaiting = eb('other.state', '=', 'waiting');
            const isHeld = and([
              eb('other.state', '=', 'running'),
              or([
                eb('other.lease_until', 'is', null),
                and([eb('other.lease_until', '>', now), eb('other.lease_until', '<=', now + maxLeaseMs)]),
              ]),
            ]);
            const hasBegun = eb('other.token', '>', 0);
            const isOlder = eb('other.position', '<', ref('runs.position'));
            const isAnyWaiting = exists(
              selectFrom('runs as waiting')
                .select('waiting.id')
                .whereRef('waiting.session', '=', 'runs.session')
                .where('waiting.state', '=', 'waiting')
                .where('waiting.state', '<>', sql.lit('ended')),
            );
            const isTakeable = or([eb('other.abandons', '=', 1), not(isAnyWaiting)]);
            const isBefore = or([
              and([hasBegun, eb('runs.token', '=', 0)]),
              and([hasBegun, isOlder]),
              and([eb('other.token', '=', 0), eb('runs.token', '=', 0), isOlder, eb('other.free_at', '<=', now), isTakeable]),
            ]);
            return or([and([isWaiting, eb('runs.abandons', '=', 0)]), isHeld, and([eb('other.state', '<>', 'waiting'), isBefore])]);
          }),
      ),
    );
}

/**
 * The run's session, which is kept from all others that claim; undefined where one of them was faster. Where one transaction has the whole
 * database there is nobody to be kept out.
 */
async function lockNext(
  db: Db,
  context: SqlContext,
  { row, now }: { readonly row: RunRow; readonly now: number },
): Promise<SessionRow | undefined> {
  const session = await lockSession(db, context, row.session);
  if (session === undefined || context.database.dialect === 'sqlite') return session;
  const stillNext = await db.selectFrom('runs').select('id').where('id', '=', row.id).where(isNext(now)).executeTakeFirst();
  return stillNext && session;
}

async function take(
  db: Db,
  context: SqlContext,
  {
    row,
    session,
    now,
    options,
  }: { readonly row: RunRow; readonly session: SessionRow; readonly now: number; readonly options: ClaimOptions },
): Promise<RunRecord | undefined> {
  const { events, ttl_ms: ttlMs } = session;
  const [record] = await readRuns(db, context, [row]);
  if (record === undefined) return undefined;
  const attempts = row.token > 0 && events > row.events_at_claim ? 1 : record.attempts + 1;
  const token = row.token + 1;
  const lease = { owner: options.owner, token, until: now + options.leaseMs };
  const claimed: RunRecord = { ...changedRun(record, { state: 'running', attempts }, now), lease };
  await db
    .updateTable('runs')
    .set({ ...runChanges(claimed, row.cancel), token, events_at_claim: events })
    .where('id', '=', row.id)
    .execute();
  await keepSession(db, { session: row.session, ttlMs, until: neededUntil(claimed, now) });
  return claimed;
}
