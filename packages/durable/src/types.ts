// What durable runs take and give. Types only.
import type {
  Decision,
  JsonValue,
  LimitName,
  Log,
  LogEvent,
  RecordedError,
  RunInput,
  RunStatus,
  SafeCause,
  Surface,
  TextDeltaEvent,
  TextRetractEvent,
} from '@guardloop/core';
import type {
  ApprovalRecord,
  ApprovalRecords,
  Belonging,
  DecideOptions,
  DecideOutcome,
  Page,
  RunQuery,
  RunState,
  Store,
} from '@guardloop/store';
import type { Engine } from './engine.js';

// ------------------------------------------------------------------------------------------------ runs
/** Why a run is not getting on, and what can be done. Holds no content. */
export interface Trouble {
  /** A code of `GuardloopError`. */
  readonly code: string;
  readonly message: string;
  /**
   * `wait`: it is tried again by itself. `deploy`: start a worker that has what is missing. `accept`: register the agent with `accept:
   * 'changed'`; only where that helps. `cancel`: give the run up.
   */
  readonly choices: readonly ('wait' | 'deploy' | 'accept' | 'cancel')[];
}
/** How a run stands, from its record; times are milliseconds since 1970, by the clock of the store. */
export interface RunInfo extends Belonging {
  readonly id: string;
  readonly session: string;
  /** Name under which its agent is registered. */
  readonly agent: string;
  readonly queue: string;
  readonly priority: number;
  /** `queued`: due at `dueAt`. `running`: `worker` has it. `waiting`: for people. `ended`: see `status`. */
  readonly state: RunState;
  readonly status?: Exclude<RunStatus, 'interrupted'> | undefined;
  readonly dueAt: number;
  readonly worker?: string | undefined;
  /** Somebody has asked for its end, and it has not ended yet. */
  readonly cancelling?: { readonly reason: string } | undefined;
  readonly trouble?: Trouble | undefined;
  /** Times that it was taken up since it last got on. */
  readonly attempts: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What `submit` takes for every run. */
export interface SubmitOptions<Q extends string = string> extends Belonging {
  /** Submitting the same id again submits nothing. Default: a new one. A text without / and control characters. */
  readonly id?: string | undefined;
  /**
   * The conversation that the run belongs to. Runs of one session go one after another. Default: the run's own, of the run's id. With `owner`
   * or `tenant` one that belongs to others is CONFIG_INVALID.
   */
  readonly session?: string | undefined;
  /** Default `default`. */
  readonly queue?: Q | undefined;
  /** 0 is taken first. A whole number from 0; default 100. */
  readonly priority?: number | undefined;
  /** Not before so many milliseconds from now. */
  readonly delayMs?: number | undefined;
  /** Not before this time, in milliseconds since 1970 or as a Date. */
  readonly at?: number | Date | undefined;
  /** As for `run`; they are in the log and survive restarts. */
  readonly limits?: { readonly [K in LimitName]?: number | undefined } | undefined;
  /** As for `run`. */
  readonly onLimit?: 'stop' | 'finalize' | undefined;
  /** `abandon`: a run of the session that waits for people is ended first. Default: this one waits for it. */
  readonly unfinished?: 'abandon' | undefined;
  /** W3C `traceparent` of the request that submits, for what traces the run: handed to the agent's `options`. */
  readonly traceparent?: string | undefined;
}
/** With the data that the agent's context is made of. */
export type SubmitArguments<D, Q extends string = string> = [D] extends [undefined]
  ? [options?: SubmitOptions<Q> & { readonly data?: undefined }]
  : undefined extends D
    ? [options?: SubmitOptions<Q> & { readonly data?: D }]
    : [options: SubmitOptions<Q> & { readonly data: D }];
/** What `submit` gives. `created: false`: there was a run of this id already; it is given as it stands, and nothing was changed. */
export interface Submitted {
  readonly created: boolean;
  /**
   * False: the run of this id was submitted for another agent, session, owner or tenant, or with another input, other data or limits, which
   * is not told otherwise.
   */
  readonly same: boolean;
  readonly run: RunInfo;
}
/** What a worker knows of a run when it makes its context and options. `D` is the data that was submitted. */
export interface SubmittedRun<D = unknown> extends Belonging {
  readonly id: string;
  readonly session: string;
  readonly agent: string;
  readonly queue: string;
  readonly data: D;
  readonly traceparent?: string | undefined;
  /** The worker's name. */
  readonly worker: string;
}

// ------------------------------------------------------------------------------------------------ cancel, result
/** What came of a wish to cancel. */
export type CancelOutcome =
  /** It had not begun, and will not. */
  | { readonly status: 'cancelled'; readonly run: RunInfo }
  /** A worker ends it: at once where one has it, or as soon as one takes it up. */
  | { readonly status: 'cancelling'; readonly run: RunInfo }
  /** It had ended before. */
  | { readonly status: 'ended'; readonly run: RunInfo }
  | { readonly status: 'unknown' };

interface Outcome<S extends string> {
  readonly status: S;
  readonly run: RunInfo;
}
interface OutcomeWithLog<S extends string> extends Outcome<S> {
  /** The whole log of the session. */
  readonly log: Log;
  /** This run's events, and those of its child runs. */
  readonly events: readonly LogEvent[];
}
/** How a run ended or stands, made of its log. Look at `status` first. */
export type DurableResult =
  /** `agent` has answered. `value`: of a structured answer, as the model gave it; parse it with the agent's schema. */
  | (OutcomeWithLog<'completed'> & { readonly agent: string; readonly text: string; readonly value?: JsonValue | undefined })
  /** It waits for people. */
  | (OutcomeWithLog<'interrupted'> & { readonly approvals: readonly ApprovalRecord[] })
  | (OutcomeWithLog<'blocked'> & {
      readonly surface: Surface;
      readonly by: string;
      readonly reason: string;
      readonly reply?: string | undefined;
      readonly failed?: true | undefined;
    })
  | (OutcomeWithLog<'exhausted'> & {
      readonly limit: LimitName;
      readonly text?: string | undefined;
      readonly value?: JsonValue | undefined;
    })
  | (OutcomeWithLog<'cancelled'> & { readonly reason?: string | undefined; readonly cause?: SafeCause | undefined })
  | (OutcomeWithLog<'failed'> & { readonly error: RecordedError })
  /** Not ended when the time to wait was over. `run.trouble` says whether something keeps it. */
  | Outcome<'queued'>
  | Outcome<'running'>
  /** There is no run of this id. */
  | { readonly status: 'unknown'; readonly run?: undefined };

/** Until when `result` and `events` go on: `wait` ends them when the run waits for people too. */
export type Until = 'end' | 'wait';
export interface ResultOptions {
  /** How long to wait at most, milliseconds. Default `Infinity`; 0 gives how it stands now. */
  readonly waitMs?: number | undefined;
  /** Default `wait`. */
  readonly until?: Until | undefined;
  /** Aborting it rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

// ------------------------------------------------------------------------------------------------ events
/** What a watcher of a durable run sees: the log, and text that may be shown before the log has it. */
export type DurableEvent = LogEvent | TextDeltaEvent | TextRetractEvent;
/**
 * One event and where it stands. `number` goes into `events` as `after`, in any process: of an event of the log it is its `seq`; of text it
 * is `seq:characters:check`, the event behind which the text stands, how much of it was shown, and a check of that.
 */
export interface NumberedEvent {
  readonly number: string;
  readonly event: DurableEvent;
}
export interface EventsOptions {
  /** The last number that was seen. Left out: from the run's beginning. */
  readonly after?: string | undefined;
  /** Default `end`: goes on over a wait for people. */
  readonly until?: Until | undefined;
  /** Aborting it ends the iteration. The run goes on. */
  readonly signal?: AbortSignal | undefined;
}

// ------------------------------------------------------------------------------------------------ approvals
/** The store's records, read as they are there, and decided so that the run is told. */
export interface DurableApprovals extends Pick<ApprovalRecords, 'get' | 'list'> {
  /**
   * Records a person's decision, once, and makes the run due. Rejects with CONFIG_INVALID for a decision that has no form that the approval
   * takes, before anything is recorded.
   */
  decide(id: string, decision: Decision, options?: DecideOptions): Promise<DecideOutcome>;
}
/** When people are reminded, and what happens when nobody answers. Workers do it, whoever they are, once. */
export interface ApprovalTimes {
  /** Milliseconds after the question, and again after each reminder; with `onReminder`. Left out: nobody is reminded. */
  readonly remindAfterMs?: number | undefined;
  /** Called by one worker. What it throws is told to `onError`; the next reminder comes all the same. */
  readonly onReminder?: ((approval: ApprovalRecord) => unknown) | undefined;
  /** Milliseconds after the question. Left out: it stays open. */
  readonly expireAfterMs?: number | undefined;
  /** Default: rejected, with words that say that nobody has decided. `cancel` ends the run. */
  readonly atExpiry?: { readonly reject: string } | 'cancel' | undefined;
}

// ------------------------------------------------------------------------------------------------ durable
/** How many runs of a queue are under way at once, over all workers. Left out: any number. Whole numbers from 1. */
export interface QueueOptions {
  readonly concurrency?: number | undefined;
  /** For each tenant; runs without one are one tenant. */
  readonly tenantConcurrency?: number | undefined;
}
/** Options of a process that submits and watches. */
export interface ClientOptions {
  /** Default: an SQLite file, `guardloop.db` in the working directory. A store that is given is not closed by `close`. */
  readonly store?: Store | undefined;
  /** Default: the embedded engine, which needs nothing but the store. */
  readonly engine?: Engine | undefined;
}
/** What a process tells of an agent that it knows. */
export interface KnownAgent {
  /** Whether a submission without `data` is refused: its schema is asked. False where it answers only later. */
  needsData(): boolean;
}
/** What every process can do with durable runs. */
export interface DurableClient<Q extends string = string> {
  readonly store: Store;
  /** The agents by the names under which runs are submitted for them. Undefined: this process knows none. */
  readonly agents: ReadonlyMap<string, KnownAgent> | undefined;
  /** Writes a run to the store, where a worker finds it. Rejects with CONFIG_INVALID and STORE_FAILED; then nothing was submitted. */
  submit(agent: string, input: RunInput, options?: SubmitOptions<Q> & { readonly data?: unknown }): Promise<Submitted>;
  status(id: string): Promise<RunInfo | undefined>;
  /** Whether the run was submitted with this input, also once it has ended. Undefined: there is none, or its record cannot be read. */
  hasInput(id: string, input: RunInput): Promise<boolean | undefined>;
  /** Ends a run wherever it stands. The reason, up to 1,000 characters, is kept with the run. Doing it twice is doing it once. */
  cancel(id: string, options?: { readonly reason?: string | undefined }): Promise<CancelOutcome>;
  /** How a run ended, or how it stands once `waitMs` are over. Needs no agent. */
  result(id: string, options?: ResultOptions): Promise<DurableResult>;
  /** A run's events: those that were missed, then live. Leaving the iteration changes nothing. Throws CONFIG_INVALID for an unknown run. */
  events(id: string, options?: EventsOptions): AsyncIterableIterator<NumberedEvent>;
  readonly approvals: DurableApprovals;
  /** Latest first. */
  list(query?: RunQuery): Promise<Page<RunInfo>>;
  /** Stops this object's workers, as their `stop` does, then the engine; closes the store that it opened itself. */
  close(options?: { readonly graceMs?: number | undefined }): Promise<void>;
}

/** Options of a worker. */
export interface WorkerOptions<Q extends string = string> {
  /** Unique among all workers that live. Default: a new one. */
  readonly name?: string | undefined;
  /** Takes runs of these alone. Default: all queues of `durable`. */
  readonly queues?: readonly Q[] | undefined;
  /** Runs that it advances at the same time. Default 10. */
  readonly concurrency?: number | undefined;
  /** After so many milliseconds without a sign a worker counts as dead, and others take its runs over. From 200; default 5,000. */
  readonly leaseMs?: number | undefined;
}
/** Takes runs on, until it is stopped. */
export interface DurableWorker {
  readonly name: string;
  /** Ids of the runs that it has now. */
  readonly runs: readonly string[];
  /**
   * Takes no more. Its runs stop before their next model call and are handed back at once; what is still in a tool or a model call after
   * `graceMs` is left where it is, and handed back too: the log tells the next worker. Default 10,000; `Infinity` waits for them. Called
   * again, it waits no longer than the shorter of both.
   */
  stop(options?: { readonly graceMs?: number | undefined }): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
