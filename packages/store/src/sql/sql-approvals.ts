import type { Approval, Decision } from '@guardloop/core';
import type { Insertable, Selectable } from 'kysely';
import { sql } from 'kysely';
import { decideApproval, reopenApproval, scheduleApproval } from '../approval-records.js';
import { approvalTaken, pageSize, readPlace, writePlace } from '../check-arguments.js';
import type { Content, Encoded, Row } from '../codec.js';
import { placeOf, readName, writeName } from '../codec.js';
import type { ApprovalQuery, ApprovalRecord, ApprovalRecords, ApprovalState, DecideOutcome } from '../contract.js';
import { readApart } from '../read-apart.js';
import { leadOf, lookedAt } from './lead.js';
import { payloadReader, putPayloads } from './payloads.js';
import type { Db, SqlContext } from './sql-context.js';
import { nowOf, timeOf } from './sql-context.js';
import { belonging, lockSession, sessionIsLive, written } from './sql-sessions.js';
import type { ApprovalsTable } from './tables.js';
import { approvalColumns } from './tables.js';

type ApprovalRow = Pick<Selectable<ApprovalsTable>, (typeof approvalColumns)[number]>;

/** What is sealed as a decision. */
interface Given {
  readonly decision?: Decision;
  readonly by?: string;
}

const sealedRows = (row: ApprovalRow): readonly Row[] => [
  { place: placeOf('approval', row.id), text: row.approval },
  ...(row.decision === null ? [] : [{ place: placeOf('decision', row.id), text: row.decision }]),
];

/** Records of rows, in their order. Rejects where one cannot be read. */
async function readApprovals(db: Db, { codec }: SqlContext, rows: readonly ApprovalRow[]): Promise<readonly ApprovalRecord[]> {
  const values = await codec.decode(rows.flatMap(sealedRows), payloadReader(db));
  let from = 0;
  return rows.map((row) => {
    const { length } = sealedRows(row);
    from += length;
    return readApproval(row, values.slice(from - length, from));
  });
}

function readApproval(row: ApprovalRow, [approval, given]: readonly unknown[]): ApprovalRecord {
  const { decision, by } = (given ?? {}) as Given;
  return {
    id: readName(row.id),
    session: readName(row.session),
    run: readName(row.run),
    ...belonging(row),
    approval: approval as Approval,
    state: row.state as ApprovalState,
    requestedAt: row.requested_at,
    ...(decision === undefined ? {} : { decision }),
    ...(by === undefined ? {} : { decidedBy: by }),
    ...(row.decided_at === null ? {} : { decidedAt: row.decided_at }),
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
    ...(row.remind_at === null ? {} : { remindAt: row.remind_at }),
    reminders: row.reminders,
  };
}

/** Approvals of a session that the next batch may settle, kept from others in this transaction. */
export async function lockUnsettled(db: Db, context: SqlContext, session: string): Promise<readonly ApprovalRecord[]> {
  const rows = await db
    .selectFrom('approvals')
    .select(approvalColumns)
    .where('session', '=', session)
    .where('state', 'in', [sql.lit('open'), sql.lit('decided')])
    .orderBy('requested_at')
    .orderBy('id')
    .$if(context.database.dialect === 'postgres', (query) => query.forUpdate())
    .execute();
  return readApprovals(db, context, rows);
}

/** Writes records whole, whether they are new or not. */
export async function putApprovals(db: Db, context: SqlContext, records: readonly ApprovalRecord[]): Promise<void> {
  for (const record of records) {
    const { row, encoded } = await writeApproval(context, record);
    await putPayloads(db, { session: row.session, encoded });
    const { id: _, ...changes } = row;
    const put = () =>
      db
        .insertInto('approvals')
        .values(row)
        .onConflict((conflict) => conflict.column('id').doUpdateSet(changes).where('approvals.session', '=', row.session))
        .returning('id')
        .executeTakeFirst();
    if ((await put()) ?? ((await leavesFree(db, context, row)) && (await put()))) continue;
    throw approvalTaken(record.session, { id: record.id, other: await sessionOf(db, row.id) });
  }
}

const sessionOf = async (db: Db, id: string): Promise<string> => {
  const row = await db.selectFrom('approvals').select('session').where('id', '=', id).executeTakeFirst();
  return readName(row?.session ?? '');
};

/** Whether the session that has the approval's id is one whose time is over. It goes by that. */
async function leavesFree(db: Db, context: SqlContext, { id }: { readonly id: string }): Promise<boolean> {
  return (await lockSession(db, context, writeName(await sessionOf(db, id)))) === undefined;
}

async function writeApproval(
  { codec }: SqlContext,
  record: ApprovalRecord,
): Promise<{ readonly row: Insertable<ApprovalsTable>; readonly encoded: Encoded }> {
  const { approval, decision, decidedBy } = record;
  const given: Given = { ...(decision === undefined ? {} : { decision }), ...(decidedBy === undefined ? {} : { by: decidedBy }) };
  const id = writeName(record.id);
  const contents: Content[] = [{ place: placeOf('approval', id), value: approval }];
  if (Object.keys(given).length > 0) contents.push({ place: placeOf('decision', id), value: given });
  const encoded = await codec.encode(contents);
  const [approvalText, decisionText] = encoded.rows.map(({ text }) => text);
  const row = {
    id,
    session: writeName(record.session),
    run: writeName(record.run),
    owner: written(record.owner),
    tenant: written(record.tenant),
    tool: written(approval.tool),
    surface: approval.surface,
    agent: written(approval.agentPath.at(-1)),
    state: record.state,
    approval: approvalText ?? '',
    decision: decisionText ?? null,
    decided_at: record.decidedAt ?? null,
    requested_at: record.requestedAt,
    expires_at: record.expiresAt ?? null,
    remind_at: record.remindAt ?? null,
    due_at: earlier(record.expiresAt, record.remindAt),
    reminders: record.reminders,
  };
  return { row, encoded };
}

function earlier(one: number | undefined, other: number | undefined): number | null {
  return one === undefined || other === undefined ? (one ?? other ?? null) : Math.min(one, other);
}

export function sqlApprovals(context: SqlContext): ApprovalRecords {
  const { database } = context;
  const find = async (db: Db, id: string): Promise<ApprovalRecord | undefined> => {
    const rows = await db
      .selectFrom('approvals')
      .select(approvalColumns)
      .where('id', '=', writeName(id))
      .where(sessionIsLive(nowOf(context), 'approvals'))
      .execute();
    return (await readApprovals(db, context, rows))[0];
  };
  const lock = async (db: Db, id: string): Promise<ApprovalRecord | undefined> => {
    if (database.dialect === 'postgres')
      await db.selectFrom('approvals').select('id').where('id', '=', writeName(id)).forUpdate().execute();
    return find(db, id);
  };
  const change = async (id: string, make: (record: ApprovalRecord | undefined) => ApprovalRecord | undefined): Promise<boolean> => {
    const record = await database.write(async (db) => {
      const changed = make(await lock(db, id));
      if (changed) await putApprovals(db, context, [changed]);
      return changed;
    });
    if (record) database.watching.announce(record.session);
    return record !== undefined;
  };
  return {
    get: (id) => database.read((db) => find(db, id)),
    async list(query = {}) {
      const size = pageSize(query, 'approvals');
      return database.read(async (db) => {
        const rows = await listApprovals(db, context, query)
          .limit(size + 1)
          .execute();
        const shown = rows.slice(0, size);
        const read = await readApart(context.codec, shown.map(sealedRows), payloadReader(db));
        const last = shown.at(-1);
        const unreadable = shown.flatMap(({ id }, index) => ('error' in (read[index] ?? {}) ? [readName(id)] : []));
        return {
          items: shown.flatMap((row, index) => {
            const contents = read[index];
            return contents && 'values' in contents ? [readApproval(row, contents.values)] : [];
          }),
          ...(rows.length > size && last ? { next: writePlace([last.requested_at, readName(last.id)]) } : {}),
          ...(unreadable.length > 0 ? { unreadable } : {}),
        };
      });
    },
    async decide(id, decision, options) {
      const outcome = await database.write(async (db): Promise<DecideOutcome> => {
        const record = await lock(db, id);
        const made = decideApproval(record, { decision, options, now: await timeOf(db, context) });
        if (made.status === 'recorded') await putApprovals(db, context, [made.approval]);
        return made;
      });
      if (outcome.status === 'recorded') database.watching.announce(outcome.approval.session);
      return outcome;
    },
    schedule: (id, times) => change(id, (record) => scheduleApproval(record, times)),
    reopen: (id, decidedAt) => change(id, (record) => reopenApproval(record, decidedAt)),
  };
}

/** What is due is found by an index of its own. */
function leadOfApprovals(query: ApprovalQuery) {
  if (query.dueBefore !== undefined) return undefined;
  const isSettled = query.state === 'resolved' || query.state === 'void';
  const state = isSettled ? [] : ['state' as const];
  return leadOf(query, ['session', 'run', 'owner', ...state, 'tenant', 'tool', 'agent', 'surface', 'state']);
}

function listApprovals(db: Db, context: SqlContext, query: ApprovalQuery) {
  const [requestedAt, id] = readPlace(query.after, ['number', 'string']) ?? [];
  const { dueBefore } = query;
  let list = db
    .selectFrom('approvals')
    .select(approvalColumns)
    .where(sessionIsLive(nowOf(context), 'approvals'));
  const lead = leadOfApprovals(query);
  for (const field of ['session', 'run', 'state', 'owner', 'tenant', 'tool', 'surface', 'agent'] as const) {
    const wanted = query[field];
    if (wanted !== undefined) list = list.where(field === lead ? field : lookedAt(field), '=', writeName(wanted));
  }
  if (dueBefore !== undefined) list = list.where('due_at', '<=', dueBefore);
  if (requestedAt !== undefined)
    list = list
      .where('requested_at', '>=', Number(requestedAt))
      .where(({ eb, or }) => or([eb('requested_at', '>', Number(requestedAt)), eb('id', '>', writeName(String(id)))]));
  // What is due is little: no database should go through all in their order instead.
  return list.orderBy(dueBefore === undefined ? 'requested_at' : sql`requested_at + 0`).orderBy('id');
}
