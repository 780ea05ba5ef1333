// What a store of whole deployments does: logs, and the records that are kept beside them. Types only.
import type { Approval, Decision, JsonValue, RunStatus, SessionStore } from '@guardloop/core';

/**
 * A database that holds sessions, approvals and runs. `load` and `append` are core's contract ({@link SessionStore}); everything else is a
 * record that `append` keeps in step in the same transaction, or that durable workers write. The log is the truth: what is derived of it
 * can be made anew from it.
 *
 * One store object may be used by many runs at once, one database by many processes. All times are milliseconds since 1970, by the clock of
 * the database where it has one (PostgreSQL, Redis), else of the machine. Methods reject with a `GuardloopError`: `STORE_FAILED`
 * (`isRetryable` says whether trying again can help), `LOG_CONFLICT` (append alone), `CONFIG_INVALID` for arguments that make no sense.
 */
export interface Store extends SessionStore {
  readonly sessions: SessionRecords;
  readonly approvals: ApprovalRecords;
  readonly runs: RunRecords;
  readonly live: LiveTexts;
  /** The store's own clock. */
  now(): Promise<number>;
  /**
   * Calls `listener` soon after a session's log, run record, live text or one of its approvals may have changed, whoever changed it; never
   * with contents, and perhaps for nothing. Without `session`: for every session. Returns what ends it. Backed by notifications where the
   * database has them, else by looking again (`pollMs`, an option of each store); a listener that misses one is called by the next look.
   */
  watch(session: string | undefined, listener: (session: string | undefined) => void): () => void;
  /**
   * Deletes sessions whose time is over, and payloads that nothing refers to. Returns how many sessions went. Workers call it now and then.
   */
  sweep(): Promise<number>;
  /** Ends watching, timers and connections. Calls that are under way are let end. */
  close(): Promise<void>;
}

/** Some of a list, and where to go on. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Give it as `after` to get what follows; left out at the end. */
  readonly next?: string | undefined;
  /** Ids of those that belong here and cannot be read, since they are damaged or their key is not here. Left out where there are none. */
  readonly unreadable?: readonly string[] | undefined;
}
/** What all lists take. A filter that a list does not have is CONFIG_INVALID. */
export interface PageQuery {
  /** Default 100, at most 1,000. */
  readonly limit?: number | undefined;
  /** `next` of the page before. */
  readonly after?: string | undefined;
}

// ------------------------------------------------------------------------------------------------ sessions
/** Whom something belongs to. */
export interface Belonging {
  /** The user. */
  readonly owner?: string | undefined;
  /** The organisation, for limits. */
  readonly tenant?: string | undefined;
}
/**
 * Whose is listed. Left out: everybody's. Given and undefined is CONFIG_INVALID, so that a missing name shows nobody the rows of others.
 */
export interface BelongingQuery {
  readonly owner?: string;
  readonly tenant?: string;
}
/** A session as lists show it; derived from its log in the same transaction as each append, apart from `owner`, `tenant`, `expiresAt`. */
export interface SessionRecord extends Belonging {
  readonly id: string;
  /** Last `seq`. */
  readonly events: number;
  /** Id and agent of the last root run, and how it stands: `open` without `run.end`, and `waiting` if an approval is open in it. */
  readonly run?: string | undefined;
  readonly agent?: string | undefined;
  readonly status?: 'open' | 'waiting' | Exclude<RunStatus, 'interrupted'> | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** When it is deleted unless something is appended before, or a run of it needs it for longer; left out: never. */
  readonly expiresAt?: number | undefined;
}
export interface SessionQuery extends PageQuery, BelongingQuery {
  readonly status?: SessionRecord['status'] | undefined;
}
export interface SessionRecords {
  get(id: string): Promise<SessionRecord | undefined>;
  /** Latest change first. Expired ones are not in it. */
  list(query?: SessionQuery): Promise<Page<SessionRecord>>;
  /**
   * Claims the id for an owner, before anything is appended; `created: false` gives the record as it is, whoever it belongs to. The time to
   * live, milliseconds, counts anew from each append; left out: the store's `ttlMs`, or for ever.
   */
  create(
    id: string,
    options?: Belonging & { readonly ttlMs?: number | undefined },
  ): Promise<{ readonly created: boolean; readonly session: SessionRecord }>;
  /** Deletes the log, its payloads, approvals, run records and live text together. False: it was not there. */
  delete(id: string): Promise<boolean>;
}

// ------------------------------------------------------------------------------------------------ approvals
/**
 * A question to a person. `open`: nobody has answered. `decided`: answered, not yet taken up by the run. `resolved`: the run has taken it
 * up. `void`: the run ended, or asked anew, without it.
 */
export type ApprovalState = 'open' | 'decided' | 'resolved' | 'void';
export interface ApprovalRecord extends Belonging {
  /** As in the log. Unique over all sessions, since it begins with the run's id. */
  readonly id: string;
  readonly session: string;
  /** The root run; `approval.run` may be a child's. */
  readonly run: string;
  /** What the person is asked, as in the log: never what was refused or rewritten away. */
  readonly approval: Approval;
  readonly state: ApprovalState;
  readonly requestedAt: number;
  readonly decision?: Decision | undefined;
  readonly decidedBy?: string | undefined;
  readonly decidedAt?: number | undefined;
  /** When nobody may answer any more. */
  readonly expiresAt?: number | undefined;
  /** When somebody is to be reminded next, and how often that was done. */
  readonly remindAt?: number | undefined;
  readonly reminders: number;
}
export interface ApprovalQuery extends PageQuery, BelongingQuery {
  readonly session?: string | undefined;
  readonly run?: string | undefined;
  readonly state?: ApprovalState | undefined;
  readonly tool?: string | undefined;
  readonly surface?: Approval['surface'] | undefined;
  /** The agent that asks: last of its path. */
  readonly agent?: string | undefined;
  /** Reminder or expiry at or before this time. */
  readonly dueBefore?: number | undefined;
}
/** What came of a decision. */
export type DecideOutcome =
  | { readonly status: 'recorded'; readonly approval: ApprovalRecord }
  /** No such approval: the id is wrong, or the run has not asked yet. */
  | { readonly status: 'unknown' }
  /** Somebody was faster; `approval` says who and when. `same`: with the very same decision. */
  | { readonly status: 'already'; readonly same: boolean; readonly approval: ApprovalRecord }
  /** The run ended or asked anew, or the time is over. */
  | { readonly status: 'late'; readonly why: 'void' | 'expired'; readonly approval: ApprovalRecord }
  /** What was seen is not what is asked: the digest, or the revision, is another. */
  | { readonly status: 'altered'; readonly approval: ApprovalRecord };
export interface DecideOptions {
  /** A name or id, 1 to 200 characters; recorded in the log as `decidedBy`. */
  readonly by?: string | undefined;
  /** Of the approval as the person saw it: a decision on another form is `altered`. */
  readonly digest?: string | undefined;
  /** Decide although the time is over: for what expires them. */
  readonly evenIfExpired?: boolean | undefined;
}
export interface ApprovalRecords {
  /** Rejects with STORE_FAILED for one that cannot be read. */
  get(id: string): Promise<ApprovalRecord | undefined>;
  /** Oldest question first. One that cannot be read, or whose decision cannot, hides no other: `unreadable` names it. */
  list(query?: ApprovalQuery): Promise<Page<ApprovalRecord>>;
  /** Compare-and-set from `open` to `decided`, once. Of two at once one is `recorded`. */
  decide(id: string, decision: Decision, options?: DecideOptions): Promise<DecideOutcome>;
  /** Sets times while it is open. `reminders` counts up when `reminded`; compare-and-set on the old count, so that one worker reminds. */
  schedule(
    id: string,
    times: { readonly expiresAt?: number | undefined; readonly remindAt?: number | undefined; readonly reminded?: number | undefined },
  ): Promise<boolean>;
  /**
   * Compare-and-set from `decided` back to `open`, for a decision that the run cannot use: decision, `decidedBy` and `decidedAt` are taken
   * away, and a person is asked anew. `decidedAt` of the decision that is meant; false where it is not there any more.
   */
  reopen(id: string, decidedAt: number): Promise<boolean>;
}

// ------------------------------------------------------------------------------------------------ runs
/**
 * `queued`: due at `dueAt`, or to be taken up again; whatever the clock says later, if `dueAt` was not after the time of the writing.
 * `running`: a worker has the lease. `waiting`: for people. `ended`: see `status`.
 * A `running` record whose lease is over is taken like a queued one; over is also one that would last longer from now than a lease can (an
 * hour): the clock was set back since.
 */
export type RunState = 'queued' | 'running' | 'waiting' | 'ended';
/**
 * One submitted run: what is needed to begin it, and who has it. What happened in it stands in the log. Its session's time to live ends no
 * earlier than so long after a `queued` run is due, or the lease of a `running` one is over.
 */
export interface RunRecord extends Belonging {
  readonly id: string;
  readonly session: string;
  /** Name under which the agent is registered with workers. */
  readonly agent: string;
  readonly queue: string;
  /** 0 is taken first; default 100. */
  readonly priority: number;
  readonly state: RunState;
  /** Of an ended run. */
  readonly status?: Exclude<RunStatus, 'interrupted'> | undefined;
  /**
   * What was submitted: input, context data and options, plain JSON. Kept like the contents of logs (payloads, encryption). Undefined where
   * it cannot be read; `trouble` says why.
   */
  readonly submission: JsonValue | undefined;
  /** It may be taken although an earlier run of its session waits for people, and ends that one. */
  readonly abandons: boolean;
  /** Somebody wants it ended; the words are kept for the log. */
  readonly cancel?: { readonly reason: string } | undefined;
  /** Times it was claimed since it last got on (an event was appended between two claims). */
  readonly attempts: number;
  readonly dueAt: number;
  /** While `running`. `token` rises with each claim. */
  readonly lease?: { readonly owner: string; readonly token: number; readonly until: number } | undefined;
  /**
   * Why it is not getting on (a changed agent, a store that failed): for people; holds no content. `accept`: taking changes up would help.
   */
  readonly trouble?: { readonly code: string; readonly message: string; readonly accept?: true } | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Rises with every change: for compare-and-set. */
  readonly version: number;
}
export interface NewRun extends Belonging {
  readonly id: string;
  readonly session: string;
  readonly agent: string;
  readonly queue: string;
  readonly priority: number;
  readonly dueAt: number;
  readonly submission: JsonValue;
  readonly abandons: boolean;
}
export interface RunQuery extends PageQuery, BelongingQuery {
  readonly session?: string | undefined;
  readonly state?: RunState | undefined;
  readonly queue?: string | undefined;
  readonly agent?: string | undefined;
  /** `queued` and due, or `running` with a lease that is over, at the store's now. */
  readonly due?: boolean | undefined;
  /** With trouble, or without. */
  readonly trouble?: boolean | undefined;
}
/** What `update` changes. `null` takes a field away. */
export interface RunChange {
  readonly state?: RunState | undefined;
  /** Takes the place of what was submitted: of a run that has ended, which needs it no more. */
  readonly submission?: JsonValue | undefined;
  readonly status?: RunRecord['status'] | undefined;
  readonly dueAt?: number | undefined;
  readonly attempts?: number | undefined;
  readonly cancel?: RunRecord['cancel'] | null | undefined;
  readonly lease?: null | undefined;
  readonly trouble?: RunRecord['trouble'] | null | undefined;
}
/** How many may be `running` at once, with a lease that is not over. Left out: any number. */
export interface QueueLimits {
  readonly queue: string;
  readonly concurrency?: number | undefined;
  /** Runs without a tenant are one tenant. */
  readonly tenantConcurrency?: number | undefined;
}
export interface ClaimOptions {
  readonly owner: string;
  /** At most 3,600,000. */
  readonly leaseMs: number;
  /** Only runs of these queues, each under its limits. */
  readonly queues: readonly QueueLimits[];
  /** Only runs of these agents. Left out: any. */
  readonly agents?: readonly string[] | undefined;
  /** This run, if it is due or its lease is over; left out: the one that is due first by priority, then `dueAt`, then id. */
  readonly run?: string | undefined;
  /** Ids of runs that are left alone, whatever else is asked for. Left out: none. */
  readonly except?: readonly string[] | undefined;
}
export interface RunRecords {
  /**
   * `created: false`: there is a run of this id already; it is given as it is and nothing changed. Creates the session's record too. Rejects
   * with CONFIG_INVALID, before anything is changed, for a run with an owner or a tenant whose session belongs to another.
   */
  create(run: NewRun): Promise<{ readonly created: boolean; readonly run: RunRecord }>;
  get(id: string): Promise<RunRecord | undefined>;
  /** Latest first. */
  list(query?: RunQuery): Promise<Page<RunRecord>>;
  /**
   * Takes a due run and gives it a lease, in one step with counting: however many claim at once, no run is taken twice and no limit passed.
   * Of one session one run is `running` at a time, in the order of their creation; while one is `waiting`, only one that `abandons` is
   * taken. Undefined: nothing can be taken now.
   */
  claim(options: ClaimOptions): Promise<RunRecord | undefined>;
  /**
   * Prolongs the lease to `leaseMs` from now, if `token` still holds it. Gives the record, for its `cancel`; undefined: somebody else has
   * it.
   */
  renew(id: string, token: number, leaseMs: number): Promise<RunRecord | undefined>;
  /** Compare-and-set on `version`. Undefined: it was changed meanwhile; read it again. */
  update(id: string, version: number, change: RunChange): Promise<RunRecord | undefined>;
}

// ------------------------------------------------------------------------------------------------ live text
/**
 * What may be shown of an answer that is still being written, beside the log: the text so far of one model call. Only what was released is
 * in it. A cut loses at most the last piece; `model.end` in the log has the whole.
 */
export interface LiveText {
  /** The last `seq` of the log when this call began: the text belongs behind it. */
  readonly seq: number;
  readonly run: string;
  readonly agent: string;
  readonly turn: number;
  readonly text: string;
  /** Rises when text that was shown is taken back, and the text begins anew. */
  readonly epoch: number;
}
export interface LiveTexts {
  /** Replaces the session's live text; `undefined` takes it away. One writer: the run's. */
  put(session: string, live: LiveText | undefined): Promise<void>;
  get(session: string): Promise<LiveText | undefined>;
}
