import type { LogEvent, SessionStore } from '@guardloop/core';
import { memorySession } from '@guardloop/core';
import { approvalTaken, checkBatch, checkId, checkSessionOf, logConflict } from './check-arguments.js';
import type { ApprovalRecord, Belonging, LiveText, RunRecord, SessionRecord } from './contract.js';
import { deriveRecords } from './derive.js';
import { neededUntil } from './run-records.js';
import { Watchers } from './watchers.js';

/** One session, with what belongs to it. */
export interface SessionRow {
  record: SessionRecord;
  readonly ttlMs: number | undefined;
  readonly log: SessionStore;
  readonly approvals: Set<string>;
  readonly runs: Set<string>;
  live: LiveText | undefined;
}
/** One run, with what its record does not show. */
export interface RunRow {
  record: RunRecord;
  readonly order: number;
  /** Of the last claim; 0 before the first. */
  token: number;
  /** The last `seq` of its session at the last claim. */
  eventsAtClaim: number;
}

/** The tables behind {@link memoryStore}. Every method is one step: it awaits nothing before it has changed all it changes. */
export class MemoryTables {
  readonly sessions = new Map<string, SessionRow>();
  readonly approvals = new Map<string, ApprovalRecord>();
  readonly runs = new Map<string, RunRow>();
  readonly watchers = new Watchers();
  #orders = 0;

  constructor(
    readonly now: () => number,
    readonly ttlMs: number | undefined,
  ) {}

  /** The session, unless it is not there or its time is over: then everything of it goes. */
  session(id: string): SessionRow | undefined {
    const row = this.sessions.get(id);
    if (row?.record.expiresAt === undefined || row.record.expiresAt > this.now()) return row;
    this.delete(id);
    return undefined;
  }

  create(id: string, { owner, tenant, ttlMs = this.ttlMs }: Belonging & { readonly ttlMs?: number | undefined }): SessionRow {
    checkId('session', id);
    const now = this.now();
    const record: SessionRecord = {
      id,
      ...(owner === undefined ? {} : { owner }),
      ...(tenant === undefined ? {} : { tenant }),
      events: 0,
      createdAt: now,
      updatedAt: now,
      ...(ttlMs === undefined ? {} : { expiresAt: now + ttlMs }),
    };
    const row = { record, ttlMs, log: memorySession(), approvals: new Set<string>(), runs: new Set<string>(), live: undefined };
    this.sessions.set(id, row);
    return row;
  }

  async append(id: string, events: readonly LogEvent[], afterSeq: number): Promise<void> {
    checkBatch(id, events, afterSeq);
    const found = this.session(id)?.record.events ?? 0;
    if (found !== afterSeq) throw logConflict(id, { expected: afterSeq, found });
    if (events.length === 0) return;
    const row = this.session(id) ?? this.create(id, {});
    const { createdAt } = row.record;
    const { events: last, run, agent, status, approvals } = deriveRecords(row.record, this.#unsettled(row), events);
    for (const approval of approvals) this.#checkFree(approval);
    const appending = row.log.append(id, events, afterSeq);
    for (const approval of approvals) {
      this.approvals.set(approval.id, approval);
      row.approvals.add(approval.id);
    }
    const { owner, tenant } = row.record;
    const now = this.now();
    row.record = {
      id,
      ...(owner === undefined ? {} : { owner }),
      ...(tenant === undefined ? {} : { tenant }),
      events: last,
      ...(run === undefined ? {} : { run }),
      ...(agent === undefined ? {} : { agent }),
      ...(status === undefined ? {} : { status }),
      createdAt,
      updatedAt: now,
      ...(row.record.expiresAt === undefined ? {} : { expiresAt: row.record.expiresAt }),
    };
    this.keep(row, now);
    this.watchers.tell(id);
    await appending;
  }

  /**
   * A run of a session that is there, or is made for it. Throws CONFIG_INVALID for a session of another.
   */
  addRun(record: RunRecord): void {
    const { session, owner, tenant } = record;
    const before = this.session(session);
    checkSessionOf(before?.record, record);
    const row = before ?? this.create(session, { owner, tenant });
    this.#orders += 1;
    this.runs.set(record.id, { record, order: this.#orders, token: 0, eventsAtClaim: 0 });
    row.runs.add(record.id);
    this.keep(row, neededUntil(record, this.now()));
    this.watchers.tell(session);
  }

  /** The session's time to live counts from then on, unless it ends later already. */
  keep(row: SessionRow, until: number | undefined): void {
    const { ttlMs, record } = row;
    if (ttlMs === undefined || until === undefined || (record.expiresAt ?? 0) >= until + ttlMs) return;
    row.record = { ...record, expiresAt: until + ttlMs };
  }

  delete(id: string): boolean {
    const row = this.sessions.get(id);
    if (row === undefined) return false;
    for (const approval of row.approvals) this.approvals.delete(approval);
    for (const run of row.runs) this.runs.delete(run);
    this.sessions.delete(id);
    this.watchers.tell(id);
    return true;
  }

  /** Deletes sessions whose time is over. */
  sweep(): number {
    const ids = [...this.sessions.keys()];
    return ids.filter((id) => this.session(id) === undefined).length;
  }

  /** Throws CONFIG_INVALID where the approval is another session's. */
  #checkFree({ id, session }: ApprovalRecord): void {
    const other = this.approvals.get(id)?.session;
    if (other !== undefined && other !== session && this.session(other)) throw approvalTaken(session, { id, other });
  }

  #unsettled(row: SessionRow): readonly ApprovalRecord[] {
    if (row.record.status !== 'waiting') return [];
    const records = [...row.approvals].map((approval) => this.approvals.get(approval));
    return records.filter((record) => record?.state === 'open' || record?.state === 'decided') as readonly ApprovalRecord[];
  }
}
