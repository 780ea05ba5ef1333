import type { Selectable, Updateable } from 'kysely';
import { placeOf, readName, writeName } from '../codec.js';
import type { RunRecord, RunState } from '../contract.js';
import type { RunContents } from '../run-contents.js';
import { readRunContents } from '../run-contents.js';
import { isTimeCome } from '../run-records.js';
import { payloadReader } from './payloads.js';
import type { Db, SqlContext } from './sql-context.js';
import { nowOf } from './sql-context.js';
import { belonging, sessionIsLive, written } from './sql-sessions.js';
import type { RunsTable } from './tables.js';
import { runColumns } from './tables.js';

export type RunRow = Selectable<RunsTable>;

/** Records of rows, in their order. */
export async function readRuns(db: Db, { codec }: SqlContext, rows: readonly RunRow[]): Promise<readonly RunRecord[]> {
  const sealed = rows.map((row) => ({
    submission: { place: placeOf('run', row.id), text: row.submission },
    ...(row.cancel === null ? {} : { cancel: { place: placeOf('cancel', row.id), text: row.cancel } }),
  }));
  const contents = await readRunContents(codec, sealed, payloadReader(db));
  return rows.map((row, index) => readRun(row, contents[index] ?? { submission: undefined }));
}

function readRun(row: RunRow, { submission, cancel, trouble }: RunContents): RunRecord {
  const { lease_owner: owner, lease_until: until, token } = row;
  return {
    id: readName(row.id),
    session: readName(row.session),
    ...belonging(row),
    agent: readName(row.agent),
    queue: readName(row.queue),
    priority: row.priority,
    state: row.state as RunState,
    ...(row.status === null ? {} : { status: row.status as RunRecord['status'] }),
    submission,
    abandons: row.abandons === 1,
    ...(cancel === undefined ? {} : { cancel }),
    attempts: row.attempts,
    dueAt: row.due_at,
    ...(owner === null || until === null ? {} : { lease: { owner: readName(owner), token, until } }),
    ...(row.trouble === null ? {} : { trouble: JSON.parse(row.trouble) as RunRecord['trouble'] }),
    ...(trouble === undefined ? {} : { trouble }),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    version: row.version,
  };
}

/** A run that is kept from others. */
export interface LockedRun {
  readonly row: RunRow;
  readonly record: RunRecord;
  /** Of its session. */
  readonly ttlMs: number | null;
}

/** The record with its row, kept from others in this transaction. */
export async function lockRun(db: Db, context: SqlContext, id: string): Promise<LockedRun | undefined> {
  const row = await db
    .selectFrom('runs')
    .select(runColumns)
    .select(({ selectFrom }) => selectFrom('sessions').select('ttl_ms').whereRef('sessions.id', '=', 'runs.session').as('ttl_ms'))
    .where('id', '=', writeName(id))
    .where(sessionIsLive(nowOf(context), 'runs'))
    .$if(context.database.dialect === 'postgres', (query) => query.forUpdate())
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const [record] = await readRuns(db, context, [row]);
  return record && { row, record, ttlMs: row.ttl_ms };
}

/** The columns that change in a run's life, from its record; `cancel` is the sealed text of it. */
export function runChanges(record: RunRecord, cancel: string | null) {
  const { state, status, lease, trouble } = record;
  const free = { queued: isTimeCome(record, 0) ? 0 : record.dueAt, running: lease?.until ?? null, waiting: null, ended: null } as const;
  return {
    state,
    status: status ?? null,
    cancel,
    attempts: record.attempts,
    due_at: record.dueAt,
    lease_owner: written(lease?.owner),
    lease_until: lease?.until ?? null,
    free_at: free[state],
    trouble: trouble === undefined ? null : JSON.stringify(trouble),
    updated_at: record.updatedAt,
    version: record.version,
  } satisfies Updateable<RunsTable>;
}
