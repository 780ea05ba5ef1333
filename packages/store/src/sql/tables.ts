// The tables as Kysely sees them. Times are milliseconds since 1970; truth is 0 or 1; contents are sealed texts (`../codec.ts`).
import type { GeneratedAlways, Selectable } from 'kysely';

export interface SessionsTable {
  readonly id: string;
  /** The last `seq`: the fence. */
  readonly events: number;
  readonly run: string | null;
  readonly agent: string | null;
  readonly status: string | null;
  readonly owner: string | null;
  readonly tenant: string | null;
  readonly ttl_ms: number | null;
  readonly created_at: number;
  readonly updated_at: number;
  readonly expires_at: number | null;
}
export type SessionRow = Selectable<SessionsTable>;

export interface EventsTable {
  readonly session: string;
  readonly seq: number;
  readonly content: string;
}
/** Large contents, once for all that hold them. */
export interface PayloadsTable {
  readonly digest: string;
  readonly content: string;
}
export interface PayloadUsesTable {
  readonly session: string;
  readonly digest: string;
}
export interface ApprovalsTable {
  readonly id: string;
  readonly session: string;
  readonly run: string;
  readonly owner: string | null;
  readonly tenant: string | null;
  readonly tool: string | null;
  readonly surface: string;
  /** The one that asks: last of its path. */
  readonly agent: string | null;
  readonly state: string;
  /** Sealed. */
  readonly approval: string;
  /** Sealed, with whose it is. */
  readonly decision: string | null;
  readonly decided_at: number | null;
  readonly requested_at: number;
  readonly expires_at: number | null;
  readonly remind_at: number | null;
  /** The earlier of both. */
  readonly due_at: number | null;
  readonly reminders: number;
}
export interface RunsTable {
  /** Order of creation. */
  readonly position: GeneratedAlways<number>;
  readonly id: string;
  readonly session: string;
  readonly agent: string;
  readonly queue: string;
  readonly priority: number;
  readonly state: string;
  readonly status: string | null;
  readonly owner: string | null;
  readonly tenant: string | null;
  /** Sealed. */
  readonly submission: string;
  readonly abandons: number;
  /** Sealed. */
  readonly cancel: string | null;
  readonly attempts: number;
  readonly due_at: number;
  readonly lease_owner: string | null;
  readonly lease_until: number | null;
  /** When a worker may take it: while queued `due_at`, 0 where that was not after the writing; while running `lease_until`; else null. */
  readonly free_at: number | null;
  /** Of the last claim; 0 before the first. */
  readonly token: number;
  /** The session's last `seq` at the last claim. */
  readonly events_at_claim: number;
  /** JSON. */
  readonly trouble: string | null;
  readonly created_at: number;
  readonly updated_at: number;
  readonly version: number;
}
export interface LivesTable {
  readonly session: string;
  /** Sealed. */
  readonly content: string;
}
export interface MigrationsTable {
  readonly version: number;
  readonly migrated_at: number;
}

export interface Tables {
  readonly sessions: SessionsTable;
  readonly events: EventsTable;
  readonly payloads: PayloadsTable;
  readonly payload_uses: PayloadUsesTable;
  readonly approvals: ApprovalsTable;
  readonly runs: RunsTable;
  readonly lives: LivesTable;
  readonly migrations: MigrationsTable;
}

// Selected by name: a column that a later version adds must not change what a statement gives.

export const sessionColumns = [
  'id',
  'events',
  'run',
  'agent',
  'status',
  'owner',
  'tenant',
  'ttl_ms',
  'created_at',
  'updated_at',
  'expires_at',
] as const satisfies readonly (keyof SessionsTable)[];

export const approvalColumns = [
  'id',
  'session',
  'run',
  'owner',
  'tenant',
  'tool',
  'surface',
  'agent',
  'state',
  'approval',
  'decision',
  'decided_at',
  'requested_at',
  'expires_at',
  'remind_at',
  'reminders',
] as const satisfies readonly (keyof ApprovalsTable)[];

export const runColumns = [
  'position',
  'id',
  'session',
  'agent',
  'queue',
  'priority',
  'state',
  'status',
  'owner',
  'tenant',
  'submission',
  'abandons',
  'cancel',
  'attempts',
  'due_at',
  'lease_owner',
  'lease_until',
  'free_at',
  'token',
  'events_at_claim',
  'trouble',
  'created_at',
  'updated_at',
  'version',
] as const satisfies readonly (keyof RunsTable)[];
