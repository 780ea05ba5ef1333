import type { LogEvent } from '@guardloop/core';
import { checkBatch, logConflict } from '../check-arguments.js';
import type { Encoded } from '../codec.js';
import { placeOf, readName, writeName } from '../codec.js';
import type { Derived } from '../derive.js';
import { deriveRecords } from '../derive.js';
import type { FenceValues } from './log-statements.js';
import { eventInserts, fence, fencedEvents, tail } from './log-statements.js';
import { payloadReader, putPayloads } from './payloads.js';
import { lockUnsettled, putApprovals } from './sql-approvals.js';
import type { Db, SqlContext } from './sql-context.js';
import { insertSession, lockSession, readSession, written } from './sql-sessions.js';
import type { SessionRow } from './tables.js';

export async function loadEvents(context: SqlContext, id: string, afterSeq = 0): Promise<readonly LogEvent[]> {
  const session = writeName(id);
  return context.database.read(async (db) => {
    const { rows } = await tail.run(db, context, { session, afterSeq });
    const sealed = rows.map(({ seq, content }) => ({ place: placeOf('event', session, seq), text: content }));
    return (await context.codec.decode(sealed, payloadReader(db))) as readonly LogEvent[];
  });
}

/** A batch on its way. */
interface Batch {
  /** As it is written. */
  readonly session: string;
  readonly events: readonly LogEvent[];
  readonly afterSeq: number;
  readonly encoded: Encoded;
}

export async function appendEvents(
  context: SqlContext,
  id: string,
  { events, afterSeq }: { events: readonly LogEvent[]; afterSeq: number },
): Promise<void> {
  checkBatch(id, events, afterSeq);
  if (events.length === 0) return;
  const { database, stands, codec } = context;
  const session = writeName(id);
  const encoded = await codec.encode(events.map((event) => ({ place: placeOf('event', session, event.seq), value: event })));
  const batch: Batch = { session, events, afterSeq, encoded };
  try {
    stands.keep((await appendToKnown(context, batch)) ?? (await database.write((db) => appendToAny(db, context, batch))));
  } catch (thrown) {
    stands.forget(session);
    throw thrown;
  }
  database.watching.announce(id);
}

/** Takes a lock on the session and looks at it: right for every batch. Gives how the session stands then. Throws LOG_CONFLICT. */
async function appendToAny(db: Db, context: SqlContext, batch: Batch): Promise<SessionRow> {
  const before = await lockAt(db, context, batch);
  const stand = readSession(before);
  const unsettled = stand.status === 'waiting' ? await lockUnsettled(db, context, before.id) : [];
  const derived = deriveRecords(stand, unsettled, batch.events);
  const { session, encoded, afterSeq } = batch;
  await fence.run(db, context, fenceValues(before, derived));
  await putApprovals(db, context, derived.approvals);
  await putPayloads(db, { session, encoded });
  const texts = encoded.rows.map(({ text }) => text);
  for (const insert of eventInserts(db, context, { session, afterSeq, texts })) await db.executeQuery(insert);
  return standAfter(before, derived);
}

/** The session as it stood after `afterSeq`, kept from all others; made where it is not there. Throws LOG_CONFLICT. */
async function lockAt(db: Db, context: SqlContext, { session, afterSeq }: Batch): Promise<SessionRow> {
  for (;;) {
    const row = await lockSession(db, context, session);
    const found = row?.events ?? 0;
    if (found !== afterSeq) throw logConflict(readName(session), { expected: afterSeq, found });
    const made = row ?? (await insertSession(db, context, { session }));
    if (made) return made;
  }
}

/**
 * The same in fewer steps, for most batches: the session stands as this store left it, and nothing beside its log and record changes.
 * Undefined where it does not, or where another has written meanwhile: then nothing was stored.
 */
async function appendToKnown(context: SqlContext, batch: Batch): Promise<SessionRow | undefined> {
  const { database } = context;
  const before = context.stands.at(batch.session, batch.afterSeq);
  if (before === undefined || before.status === 'waiting' || batch.encoded.payloads.length > 0) return undefined;
  const derived = deriveRecords(readSession(before), [], batch.events);
  if (derived.approvals.length > 0) return undefined;
  const { session, afterSeq } = batch;
  const texts = batch.encoded.rows.map(({ text }) => text);
  const values = fenceValues(before, derived);
  const isStored = database.writeNow
    ? await database.writeNow((run, db) => {
        if (run(fence.query(db, context, values)) !== 1) return false;
        for (const insert of eventInserts(db, context, { session, afterSeq, texts })) run(insert);
        return true;
      })
    : await database.once(async (db) => {
        const seqs = texts.map((_, index) => afterSeq + 1 + index);
        return (await fencedEvents.run(db, context, { ...values, seqs, texts })).numAffectedRows === BigInt(texts.length);
      });
  return isStored ? standAfter(before, derived) : undefined;
}

function standAfter(before: SessionRow, { events, run, agent, status }: Derived): SessionRow {
  return { ...before, events, run: written(run), agent: written(agent), status: status ?? null };
}

function fenceValues({ id, events, created_at }: SessionRow, derived: Derived): FenceValues {
  const { run, agent, status } = derived;
  return {
    session: id,
    before: events,
    born: created_at,
    events: derived.events,
    run: written(run),
    agent: written(agent),
    status: status ?? null,
  };
}
