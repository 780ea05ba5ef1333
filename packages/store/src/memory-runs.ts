import { checkClaim, checkLease, pageSize, readPlace, writePlace } from './check-arguments.js';
import type { ClaimOptions, Page, QueueLimits, RunQuery, RunRecord, RunRecords } from './contract.js';
import { fitsQuery } from './fits-query.js';
import type { MemoryTables, RunRow } from './memory-tables.js';
import { changedRun, isDue, isHeld, isTimeCome, neededUntil, newRunRecord } from './run-records.js';

const fields = ['session', 'state', 'queue', 'agent', 'owner', 'tenant'] as const;

/** The runs of {@link memoryStore}. */
export function memoryRuns(tables: MemoryTables): RunRecords {
  const copy = (row: RunRow): RunRecord => structuredClone(row.record);
  const rowOf = (id: string): RunRow | undefined => {
    const row = tables.runs.get(id);
    return row && tables.session(row.record.session) && row;
  };
  const put = (row: RunRow, record: RunRecord): void => {
    row.record = record;
    const session = tables.session(record.session);
    if (session) tables.keep(session, neededUntil(record, tables.now()));
  };
  const change = (row: RunRow, record: RunRecord): RunRecord => {
    put(row, structuredClone(record));
    tables.watchers.tell(record.session);
    return copy(row);
  };
  return {
    async create(run) {
      const record = newRunRecord(run, tables.now());
      const before = rowOf(run.id);
      if (before) return { created: false, run: copy(before) };
      tables.addRun(JSON.parse(JSON.stringify(record)) as RunRecord);
      return { created: true, run: structuredClone(record) };
    },
    async get(id) {
      const row = rowOf(id);
      return row && copy(row);
    },
    async list(query = {}) {
      return listRuns(tables, query);
    },
    async claim(options) {
      checkClaim(options);
      const row = claimable(tables, options);
      if (row === undefined) return undefined;
      const now = tables.now();
      const events = tables.session(row.record.session)?.record.events ?? 0;
      const attempts = row.token > 0 && events > row.eventsAtClaim ? 1 : row.record.attempts + 1;
      row.token += 1;
      row.eventsAtClaim = events;
      const { owner, leaseMs } = options;
      const claimed = changedRun(row.record, { state: 'running', attempts }, now);
      return change(row, { ...claimed, lease: { owner, token: row.token, until: now + leaseMs } });
    },
    async renew(id, token, leaseMs) {
      checkLease(leaseMs);
      const row = rowOf(id);
      const lease = row?.record.lease;
      if (row === undefined || lease === undefined || lease.token !== token) return undefined;
      const now = tables.now();
      put(row, { ...changedRun(row.record, {}, now), lease: { ...lease, until: now + leaseMs } });
      return copy(row);
    },
    async update(id, version, changes) {
      const row = rowOf(id);
      if (row === undefined || row.record.version !== version) return undefined;
      return change(row, changedRun(row.record, changes, tables.now()));
    },
  };
}

function listRuns(tables: MemoryTables, query: RunQuery): Page<RunRecord> {
  const size = pageSize(query, 'runs');
  const [before = Number.POSITIVE_INFINITY] = readPlace(query.after, ['number']) ?? [];
  const now = tables.now();
  const rows = [...tables.runs.values()]
    .filter(({ record, order }) => order < Number(before) && fitsQuery(record, query, fields))
    .filter(({ record }) => query.due === undefined || isDue(record, now) === query.due)
    .filter(({ record }) => query.trouble === undefined || (record.trouble !== undefined) === query.trouble)
    .filter(({ record }) => tables.session(record.session) !== undefined)
    .sort((left, right) => right.order - left.order);
  const shown = rows.slice(0, size);
  const last = shown.at(-1);
  return {
    items: shown.map(({ record }) => structuredClone(record)),
    ...(rows.length > size && last ? { next: writePlace([last.order]) } : {}),
  };
}

/** The run that is first by priority, then `dueAt`, then id, of those that may be taken. */
function claimable(tables: MemoryTables, { queues, agents, run, except = [] }: ClaimOptions): RunRow | undefined {
  const now = tables.now();
  const limits = new Map(queues.map((queue) => [queue.queue, queue]));
  const rows = run === undefined ? [...tables.runs.values()] : [tables.runs.get(run)].filter((row) => row !== undefined);
  const stands = new Map<string, SessionStand>();
  const standIn = (session: string): SessionStand => {
    const stand = stands.get(session) ?? standOf(tables, session, now);
    stands.set(session, stand);
    return stand;
  };
  const live = [...tables.runs.values()].filter(({ record }) => record.lease !== undefined && isHeld(record, now));
  return rows
    .filter(({ record }) => isDue(record, now) && (agents === undefined || agents.includes(record.agent)) && !except.includes(record.id))
    .filter(({ record }) => hasRoom(limits.get(record.queue), live, record))
    .filter((row) => tables.session(row.record.session) !== undefined && isNext(standIn(row.record.session), row))
    .sort((left, right) => {
      const [a, b] = [left.record, right.record];
      return a.priority - b.priority || a.dueAt - b.dueAt || (a.id < b.id ? -1 : 1);
    })[0];
}

function hasRoom(limits: QueueLimits | undefined, live: readonly RunRow[], { queue, tenant }: RunRecord): boolean {
  if (limits === undefined) return false;
  const { concurrency = Number.POSITIVE_INFINITY, tenantConcurrency = Number.POSITIVE_INFINITY } = limits;
  const inQueue = live.filter(({ record }) => record.queue === queue);
  return inQueue.length < concurrency && inQueue.filter(({ record }) => record.tenant === tenant).length < tenantConcurrency;
}

/** What of a session's runs goes before others: orders, `Infinity` for none. */
interface SessionStand {
  readonly isHeld: boolean;
  readonly isWaiting: boolean;
  /** The first that has begun, waiting ones left out. */
  readonly begun: number;
  /** The first that has not begun and whose time has come. */
  readonly due: number;
  /** The first of these that `abandons`. */
  readonly abandoning: number;
}

function standOf(tables: MemoryTables, session: string, now: number): SessionStand {
  const open = [...(tables.session(session)?.runs ?? [])]
    .flatMap((id) => tables.runs.get(id) ?? [])
    .filter(({ record }) => record.state !== 'ended');
  const first = (rows: readonly RunRow[]): number => rows.reduce((least, { order }) => Math.min(least, order), Number.POSITIVE_INFINITY);
  const free = open.filter(({ record }) => record.state !== 'waiting' && !isHeld(record, now));
  const due = free.filter(({ token, record }) => token === 0 && isTimeCome(record, now));
  return {
    isHeld: open.some(({ record }) => isHeld(record, now)),
    isWaiting: open.some(({ record }) => record.state === 'waiting'),
    begun: first(free.filter(({ token }) => token > 0)),
    due: first(due),
    abandoning: first(due.filter(({ record }) => record.abandons)),
  };
}

/**
 * Whether no other run of its session goes before it. One that has begun goes before one that has not; else the order of creation counts. A
 * run that nobody has begun and that is not due yet holds nobody up, nor, while one waits, does a run that cannot be taken for that.
 */
function isNext({ isHeld, isWaiting, begun, due, abandoning }: SessionStand, { token, order, record }: RunRow): boolean {
  if (isHeld || (isWaiting && !record.abandons)) return false;
  if (token > 0) return begun >= order;
  return begun === Number.POSITIVE_INFINITY && (isWaiting ? abandoning : due) >= order;
}
