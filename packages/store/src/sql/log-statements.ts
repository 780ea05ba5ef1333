import type { CompiledQuery, RawBuilder } from 'kysely';
import { sql } from 'kysely';
import { Prepared } from './prepared.js';
import type { Db, Now, SqlContext } from './sql-context.js';
import { isLive, sessionIsLive } from './sql-sessions.js';

export interface EventRow {
  readonly seq: number;
  readonly content: string;
}

/** Events behind a number. */
export const tail = new Prepared<{ readonly session: string; readonly afterSeq: number }, EventRow>(({ db, slots, now }) =>
  db
    .selectFrom('events')
    .select(['seq', 'content'])
    .where('session', '=', slots.session)
    .where('seq', '>', slots.afterSeq)
    .where(sessionIsLive(now, 'events'))
    .orderBy('seq'),
);

export interface FenceValues {
  readonly session: string;
  /** How the session must stand. */
  readonly before: number;
  readonly born: number;
  /** How it stands then. */
  readonly events: number;
  readonly run: string | null;
  readonly agent: string | null;
  readonly status: string | null;
}

/** A session that a run needs for longer is not ended earlier by what is appended meanwhile. */
const laterExpiry = (ends: RawBuilder<unknown>) => sql<number | null>`case when expires_at > ${ends} then expires_at else ${ends} end`;

function fenceUpdate(db: Db, slots: FenceValues, now: Now) {
  const { session, before, born, events, run, agent, status } = slots;
  return db
    .updateTable('sessions')
    .set({ events, run, agent, status, updated_at: now, expires_at: laterExpiry(sql`${now} + ttl_ms`) })
    .where('id', '=', session)
    .where('events', '=', before)
    .where('created_at', '=', born)
    .where(isLive(now));
}

/** Moves the session on from where it must stand; changes no row where it stands elsewhere. */
export const fence = new Prepared<FenceValues, never>(({ db, slots, now }) => fenceUpdate(db, slots, now) as never);

interface FencedEvents extends FenceValues {
  readonly seqs: readonly number[];
  readonly texts: readonly string[];
}

/** {@link fence} and the events in one statement, for PostgreSQL: as many rows as there are events, or none. */
export const fencedEvents = new Prepared<FencedEvents, never>(
  ({ db, slots, now }) =>
    db
      .with('fence', (common) => fenceUpdate(common as Db, slots, now).returning('id'))
      .insertInto('events')
      .columns(['session', 'seq', 'content'])
      .expression(({ selectFrom }) =>
        selectFrom([
          'fence',
          sql<EventRow>`unnest(${slots.seqs}::bigint[], ${slots.texts}::text[])`.as<'added'>(sql`added(seq, content)`),
        ]).select(['fence.id', 'added.seq', 'added.content']),
      ) as never,
);

/** Rows in one statement: batches of a run have a few, imported logs many. */
const mostRows = 32;
const inserts = new Map<number, Prepared<{ readonly session: string; readonly [slot: string]: string | number }, never>>();

function insertOf(count: number) {
  const known = inserts.get(count);
  if (known) return known;
  const made = new Prepared<{ readonly session: string; readonly [slot: string]: string | number }, never>(
    ({ db, slots }) =>
      db.insertInto('events').values(
        Array.from({ length: count }, (_, index) => ({
          session: slots.session,
          seq: slots[`seq${index}`] as number,
          content: slots[`content${index}`] as string,
        })),
      ) as never,
  );
  inserts.set(count, made);
  return made;
}

/** Statements that add events, one a text, behind `afterSeq`. */
export function eventInserts(
  db: Db,
  context: SqlContext,
  { session, afterSeq, texts }: { readonly session: string; readonly afterSeq: number; readonly texts: readonly string[] },
): readonly CompiledQuery[] {
  const statements: CompiledQuery[] = [];
  for (let at = 0; at < texts.length; at += mostRows) {
    const some = texts.slice(at, at + mostRows);
    const values: Record<string, string | number> = {};
    for (const [index, content] of some.entries()) {
      values[`seq${index}`] = afterSeq + at + index + 1;
      values[`content${index}`] = content;
    }
    statements.push(insertOf(some.length).query(db, context, { ...values, session }));
  }
  return statements;
}
