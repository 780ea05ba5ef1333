import { checkOptionNames, optionFault } from '@guardloop/core/model';
import { decideApproval, reopenApproval, scheduleApproval } from './approval-records.js';
import { checkNewSession, checkTtl, pageSize, readPlace, writePlace } from './check-arguments.js';
import type { ApprovalQuery, ApprovalRecord, ApprovalRecords, Page, SessionRecords, Store } from './contract.js';
import { fitsQuery } from './fits-query.js';
import { memoryRuns } from './memory-runs.js';
import { MemoryTables } from './memory-tables.js';

/** Options of {@link memoryStore}. */
export interface MemoryStoreOptions {
  /** How long a session stays after its last event, milliseconds. Default: for ever. */
  readonly ttlMs?: number | undefined;
  /** The clock, milliseconds since 1970. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/**
 * A whole store in memory: for tests, examples, and programs whose runs may end with the process. It is the reference that the suite
 * `storeConformance` holds all others against. Throws CONFIG_INVALID.
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  checkOptionNames('memoryStore', options, { ttlMs: true, now: true });
  const { ttlMs, now = Date.now } = options;
  checkTtl(ttlMs);
  if (typeof now !== 'function') throw optionFault('memoryStore', '`now` is no function. Give one that returns milliseconds since 1970.');
  const tables = new MemoryTables(now, ttlMs);
  return {
    async load(id, afterSeq) {
      return (await tables.session(id)?.log.load(id, afterSeq)) ?? [];
    },
    append: (id, events, afterSeq) => tables.append(id, events, afterSeq),
    sessions: memorySessions(tables),
    approvals: memoryApprovals(tables),
    runs: memoryRuns(tables),
    live: {
      async put(session, live) {
        const row = tables.session(session);
        if (row === undefined) return;
        row.live = live && structuredClone(live);
        tables.watchers.tell(session);
      },
      async get(session) {
        return structuredClone(tables.session(session)?.live);
      },
    },
    now: async () => tables.now(),
    watch: (session, listener) => tables.watchers.add(session, listener),
    sweep: async () => tables.sweep(),
    close: async () => tables.watchers.clear(),
  };
}

function memorySessions(tables: MemoryTables): SessionRecords {
  return {
    async get(id) {
      const row = tables.session(id);
      return row && { ...row.record };
    },
    async list(query = {}) {
      const size = pageSize(query, 'sessions');
      const [updatedAt = Number.POSITIVE_INFINITY, id = ''] = readPlace(query.after, ['number', 'string']) ?? [];
      const records = [...tables.sessions.keys()]
        .flatMap((each) => tables.session(each)?.record ?? [])
        .filter((record) => fitsQuery(record, query, ['owner', 'tenant', 'status']))
        .filter((record) => record.updatedAt < Number(updatedAt) || (record.updatedAt === updatedAt && record.id > String(id)))
        .sort((left, right) => right.updatedAt - left.updatedAt || (left.id < right.id ? -1 : 1));
      return page(records, { size, keysOf: (record) => [record.updatedAt, record.id] });
    },
    async create(id, options = {}) {
      checkNewSession(id, options);
      const before = tables.session(id);
      const row = before ?? tables.create(id, options);
      return { created: before === undefined, session: { ...row.record } };
    },
    async delete(id) {
      return tables.session(id) !== undefined && tables.delete(id);
    },
  };
}

function memoryApprovals(tables: MemoryTables): ApprovalRecords {
  const get = (id: string): ApprovalRecord | undefined => {
    const record = tables.approvals.get(id);
    return record && tables.session(record.session) && record;
  };
  const put = (record: ApprovalRecord): void => {
    tables.approvals.set(record.id, record);
    tables.watchers.tell(record.session);
  };
  return {
    async get(id) {
      return structuredClone(get(id));
    },
    async list(query = {}) {
      const size = pageSize(query, 'approvals');
      const [requestedAt = -1, id = ''] = readPlace(query.after, ['number', 'string']) ?? [];
      const records = [...tables.approvals.keys()]
        .flatMap((each) => get(each) ?? [])
        .filter((record) => fitsApproval(record, query))
        .filter((record) => record.requestedAt > Number(requestedAt) || (record.requestedAt === requestedAt && record.id > String(id)))
        .sort((left, right) => left.requestedAt - right.requestedAt || (left.id < right.id ? -1 : 1));
      return page(records, { size, keysOf: (record) => [record.requestedAt, record.id] });
    },
    async decide(id, decision, options) {
      const outcome = decideApproval(get(id), { decision, options, now: tables.now() });
      if (outcome.status === 'recorded') put(outcome.approval);
      return structuredClone(outcome);
    },
    async schedule(id, times) {
      const record = scheduleApproval(get(id), times);
      if (record) put(record);
      return record !== undefined;
    },
    async reopen(id, decidedAt) {
      const record = reopenApproval(get(id), decidedAt);
      if (record) put(record);
      return record !== undefined;
    },
  };
}

/** Whether an approval is one that a query asks for. */
function fitsApproval(record: ApprovalRecord, query: ApprovalQuery): boolean {
  const { approval, remindAt, expiresAt } = record;
  const { tool, surface, agentPath } = approval;
  const { dueBefore } = query;
  return (
    fitsQuery(record, query, ['session', 'run', 'state', 'owner', 'tenant']) &&
    fitsQuery({ tool, surface, agent: agentPath.at(-1) }, query, ['tool', 'surface', 'agent']) &&
    (dueBefore === undefined || [remindAt, expiresAt].some((time) => time !== undefined && time <= dueBefore))
  );
}

function page<T>(
  found: readonly T[],
  { size, keysOf }: { readonly size: number; keysOf(record: T): readonly (string | number)[] },
): Page<T> {
  const items = structuredClone(found.slice(0, size));
  const last = items.at(-1);
  return { items, ...(found.length > size && last ? { next: writePlace(keysOf(last)) } : {}) };
}
