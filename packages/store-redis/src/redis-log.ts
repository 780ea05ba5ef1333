import type { LogEvent } from '@guardloop/core';
import type { ApprovalRecord } from '@guardloop/store';
import type { Encoded } from '@guardloop/store/kit';
import { approvalTaken, checkBatch, deriveRecords, logConflict, placeOf, readName, writeName } from '@guardloop/store/kit';
import type { StoredApproval } from './redis-approvals.js';
import { findUnsettled, writeApproval } from './redis-approvals.js';
import type { RedisContext } from './redis-context.js';
import { damaged, newIncarnation, payloadParameters, payloadReader } from './redis-context.js';
import type { Stand } from './redis-sessions.js';
import { findStand } from './redis-sessions.js';

/** How sessions stood after this store's last append, so that the next one need not look. The script says where that does not hold. */
export class Stands {
  readonly #stands = new Map<string, Stand>();

  get(session: string, afterSeq: number): Stand | undefined {
    const stand = this.#stands.get(session);
    // While it waits, others may decide.
    return stand?.record.events === afterSeq && stand.record.status !== 'waiting' ? stand : undefined;
  }

  keep(session: string, stand: Stand | undefined): void {
    this.#stands.delete(session);
    if (stand === undefined) return;
    this.#stands.set(session, stand);
    const [oldest] = this.#stands.keys();
    if (this.#stands.size > 10_000 && oldest !== undefined) this.#stands.delete(oldest);
  }
}

export async function loadEvents(context: RedisContext, id: string, afterSeq = 0): Promise<readonly LogEvent[]> {
  const session = writeName(id);
  const [status, texts = []] = (await context.connection.script('load', [session, afterSeq])) as readonly [string, (readonly string[])?];
  if (status !== 'ok') throw damaged(session);
  const rows = texts.map((text, index) => ({ place: placeOf('event', session, afterSeq + 1 + index), text }));
  const decoded = context.codec.decode(rows, payloadReader(context, session));
  return (decoded instanceof Promise ? await decoded : decoded) as readonly LogEvent[];
}

interface Batch {
  readonly id: string;
  readonly session: string;
  readonly events: readonly LogEvent[];
  readonly afterSeq: number;
  readonly encoded: Encoded;
}

export async function appendEvents(
  context: RedisContext,
  stands: Stands,
  { id, events, afterSeq }: { readonly id: string; readonly events: readonly LogEvent[]; readonly afterSeq: number },
): Promise<void> {
  checkBatch(id, events, afterSeq);
  if (events.length === 0) return;
  const session = writeName(id);
  const encoding = context.codec.encode(events.map((event) => ({ place: placeOf('event', session, event.seq), value: event })));
  const batch: Batch = { id, session, events, afterSeq, encoded: encoding instanceof Promise ? await encoding : encoding };
  let known = stands.get(session, afterSeq);
  stands.keep(session, undefined);
  for (;;) {
    const stand = known ?? (await findStand(context, session));
    known = undefined;
    const found = stand?.record.events ?? 0;
    if (found !== afterSeq) throw logConflict(id, { expected: afterSeq, found });
    const after = await tryAppend(context, batch, stand);
    // A session that is not there is not known to be the one that was made.
    if (after === undefined) continue;
    stands.keep(session, after);
    return;
  }
}

/** The session as it stands then; undefined where it, or one of its approvals, was changed since it was read. Throws LOG_CONFLICT. */
async function tryAppend(context: RedisContext, batch: Batch, stand: Stand | undefined): Promise<Stand | undefined> {
  const { id, session, events, afterSeq, encoded } = batch;
  const before = stand?.record ?? { id };
  const unsettled = stand?.record.status === 'waiting' ? await findUnsettled(context, session) : [];
  const derived = deriveRecords(
    before,
    unsettled.map(({ record }) => record),
    events,
  );
  const stored = new Map(unsettled.map((each) => [each.record.id, each]));
  const written = await Promise.all(derived.approvals.map((record) => approvalParameters(context, record, stored)));
  const payloads = [...encoded.payloads, ...written.flatMap((each) => each.payloads)];
  const texts = encoded.rows.map(({ text }) => text);
  const { run, agent, status } = derived;
  const reply = await context.connection.script('append', [
    ...[session, afterSeq, stand?.incarnation ?? '', newIncarnation(), context.ttl],
    ...[writeName(run ?? ''), writeName(agent ?? ''), status ?? ''],
    ...[texts.length, payloads.length, written.length],
    ...texts,
    ...payloadParameters({ payloads }),
    ...written.flatMap(({ parameters }) => parameters),
  ]);
  const [outcome, value, other] = reply as readonly [string, string?, string?];
  if (outcome === 'conflict') throw logConflict(readName(session), { expected: afterSeq, found: Number(value) });
  if (outcome === 'taken') throw approvalTaken(readName(session), { id: readName(value ?? ''), other: readName(other ?? '') });
  if (outcome === 'damaged') throw damaged(session);
  if (outcome === 'again' || value === undefined) return undefined;
  const now = Date.now();
  const record = { createdAt: now, updatedAt: now, ...before, events: derived.events, run, agent, status };
  return { record, incarnation: value };
}

async function approvalParameters(context: RedisContext, record: ApprovalRecord, stored: ReadonlyMap<string, StoredApproval>) {
  const { text, payloads } = await writeApproval(context, record);
  return {
    parameters: [writeName(record.id), stored.get(record.id)?.text ?? '', text, record.state, String(record.requestedAt)],
    payloads,
  };
}
