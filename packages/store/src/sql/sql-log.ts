import type { LogEvent } from '@guardloop/core';
import { checkBatch, logConflict } from '../check-arguments.js';
import type { Encoded } from '../codec.js';
import { placeOf, readName, writeName } from '../codec.js';
import type { SessionStand } from '../derive.js';
import { deriveRecords } from '../derive.js';
import { payloadReader, putPayloads } from './payloads.js';
import { lockUnsettled, putApprovals } from './sql-approvals.js';
import type { Db, SqlContext } from './sql-context.js';
import type { SessionRow } from './sql-sessions.js';
import { insertSession, lockSession, readSession, sessionIsLive, written } from './sql-sessions.js';

/** Rows in one statement: batches of a run have a few, imported logs many. */
const mostRows = 32;

export async function loadEvents(context: SqlContext, id: string, afterSeq = 0): Promise<readonly LogEvent[]> {
  const session = writeName(id);
  return context.database.read(async (db) => {
    const rows = await db
      .selectFrom('events')
      .select(['seq', 'content'])
      .where('session', '=', session)
      .where('seq', '>', afterSeq)
      .where(sessionIsLive(context, 'events'))
      .orderBy('seq')
      .execute();
    const sealed = rows.map(({ seq, content }) => ({ place: placeOf('event', session, seq), text: content }));
    return (await context.codec.decode(sealed, payloadReader(db))) as readonly LogEvent[];
  });
}

export async function appendEvents(
  context: SqlContext,
  id: string,
  { events, afterSeq }: { events: readonly LogEvent[]; afterSeq: number },
): Promise<void> {
  checkBatch(id, events, afterSeq);
  if (events.length === 0) return;
  const session = writeName(id);
  const encoded = await context.codec.encode(events.map((event) => ({ place: placeOf('event', session, event.seq), value: event })));
  await context.database.write(async (db) => {
    const before = await lockAt(db, context, { session, afterSeq });
    await putRecords(db, context, { before, events });
    await putPayloads(db, { session, encoded });
    await putEvents(db, { session, encoded, afterSeq });
  });
  context.database.watching.announce(id);
}

/** The session as it stood after `afterSeq`, kept from all others; made where it is not there. Throws LOG_CONFLICT. */
async function lockAt(
  db: Db,
  context: SqlContext,
  { session, afterSeq }: { readonly session: string; readonly afterSeq: number },
): Promise<SessionRow> {
  for (;;) {
    const row = await lockSession(db, context, session);
    const found = row?.events ?? 0;
    if (found !== afterSeq) throw logConflict(readName(session), { expected: afterSeq, found });
    const made = row ?? (await insertSession(db, context, { session }));
    if (made) return made;
  }
}

async function putRecords(
  db: Db,
  context: SqlContext,
  { before, events }: { readonly before: SessionRow; readonly events: readonly LogEvent[] },
): Promise<void> {
  const stand: SessionStand = readSession(before);
  const unsettled = stand.status === 'waiting' ? await lockUnsettled(db, context, before.id) : [];
  const derived = deriveRecords(stand, unsettled, events);
  const now = context.database.now();
  await db
    .updateTable('sessions')
    .set(({ eb }) => ({
      events: derived.events,
      run: written(derived.run),
      agent: written(derived.agent),
      status: derived.status ?? null,
      updated_at: now,
      ...(before.ttl_ms === null ? {} : { expires_at: eb(now, '+', before.ttl_ms) }),
    }))
    .where('id', '=', before.id)
    .execute();
  await putApprovals(db, context, derived.approvals);
}

async function putEvents(
  db: Db,
  { session, encoded, afterSeq }: { readonly session: string; readonly encoded: Encoded; readonly afterSeq: number },
): Promise<void> {
  const rows = encoded.rows.map(({ text }, index) => ({ session, seq: afterSeq + 1 + index, content: text }));
  for (let at = 0; at < rows.length; at += mostRows)
    await db
      .insertInto('events')
      .values(rows.slice(at, at + mostRows))
      .execute();
}
