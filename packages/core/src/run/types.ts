// What `run`, `stream` and `resume` take and give. Types only.
import type { Agent, Answer, Awaitable, Guardrail, Projection } from '../define/types.js';
import type { GuardloopError, SafeCause } from '../errors.js';
import type { Clock } from '../model/clock.js';
import type { FilePart, ImagePart, JsonValue, Message, Model, ModelSettings, TextPart, Usage } from '../model/types.js';
import type { ModelShare } from '../model/usage.js';
import type { SessionStore } from '../session/session.js';
import type {
  Approval,
  Decisions,
  LimitName,
  Limits,
  Log,
  LogEvent,
  RunEvent,
  RunStatus,
  SignedDecisions,
  Surface,
} from '../state/events.js';
import type { ApprovalKey } from './approval-keys.js';

// ------------------------------------------------------------------------------------------------ input
/** A piece of what the user says. Trusted, unless its `label` says otherwise. */
export type UserPart = TextPart | ImagePart | FilePart;
/** What the user says: a text, or parts. Roles, tool calls and results have no place in it. */
export type RunInput = string | readonly UserPart[];
/** A message of a history that was kept elsewhere. Text of a user or an assistant, always untrusted. */
export interface HistoryItem {
  readonly role: 'user' | 'assistant';
  readonly text: string;
}

// ------------------------------------------------------------------------------------------------ options
/** Where a run's log is kept, with the runs before it. */
export type SessionReference = FailingSession | QueueingSession;
interface SessionPlace {
  readonly store: SessionStore;
  readonly id: string;
}
/** A run that meets another one on its session is refused at once: `LOG_CONFLICT` when both start, `RESUME_MISMATCH` when one is under way. */
interface FailingSession extends SessionPlace {
  /** What becomes of a run that meets another one on its session. Default `fail`. */
  readonly onConflict?: 'fail' | undefined;
  readonly waitMs?: undefined;
}
/**
 * A run that meets another one on its session waits until that is over: in this process, over one store object, in the order in which
 * they came; on another process's run by trying again, in no order. Waiting is no active time. Aborted while it waits, a run ends
 * `cancelled` and the session stays as it is.
 */
interface QueueingSession extends SessionPlace {
  readonly onConflict: 'queue';
  /** How long to wait at most, milliseconds, from the call on; then it is refused as with `fail`. Default 60,000. */
  readonly waitMs?: number | undefined;
}
/** Holds answers that wait for a person, outside the log. Values are plain JSON. */
export interface QuarantineStore {
  put(key: string, value: JsonValue): Promise<void>;
  /** Undefined for a key that is not there. */
  get(key: string): Promise<JsonValue | undefined>;
  /** A key that is not there is no error. */
  delete(key: string): Promise<void>;
}
/** How approvals are signed, so that only what the run asked can be decided. The key is written nowhere. */
export interface ApprovalSigning {
  /** Of several the first signs, and all are taken: so keys can be changed. */
  readonly key: ApprovalKey | readonly ApprovalKey[];
  /** How long a token holds, milliseconds from when the result is given. Default: as long as the approval is open. */
  readonly forMs?: number | undefined;
}
/** Watches a run, cannot change it. What it throws is shown as `observer.error`; it is not waited for. */
export type Observer =
  | ((event: RunEvent) => unknown)
  | { readonly [T in RunEvent['type']]?: ((event: Extract<RunEvent, { readonly type: T }>) => unknown) | undefined };
/** Text that a view writes itself, for example a summary: checked as an `input` item with `via: 'view'`. */
export interface ViewText {
  readonly text: string;
  /** What writing it took, where a model was asked. Counts with the run's usage and limits, each time it is given: give it once. */
  readonly used?: ModelShare | undefined;
}
/** The second argument of a view. */
export interface ViewInfo<out C = unknown> {
  readonly context: C;
  readonly agent: string;
  readonly turn: number;
  readonly signal: AbortSignal;
}
/**
 * Makes what the model sees of the transcript, before each model call: messages it was given, in their order, and texts of its own. It may
 * leave messages out, but may not part a call from its result. Nothing recorded changes.
 */
export type View<C = unknown> = (messages: readonly Message[], info: ViewInfo<C>) => Awaitable<readonly (Message | ViewText)[]>;

/** Options that `run`, `stream` and `resume` share. `C` is the agent's context. */
export interface SharedOptions<C> {
  /** Bounds of the run. `resume` may change them. */
  readonly limits?: { readonly [K in keyof Limits]?: number | undefined } | undefined;
  /** `finalize`: at a limit of `turns`, `toolCalls`, `handoffs` or `repeats`, one last answer without tools. Default `stop`. */
  readonly onLimit?: 'stop' | 'finalize' | undefined;
  /** Stand before every agent's own, in child runs too. */
  readonly guardrails?: readonly Guardrail<C>[] | undefined;
  /** Refuse to start where a surface has no guardrail, or a tool runs at the provider. Default false. */
  readonly strict?: boolean | undefined;
  /** `live`: show text before output guardrails have passed it, and take it back if they refuse. Default `checked`. */
  readonly release?: 'checked' | 'live' | undefined;
  /** Default `hide`. */
  readonly reasoning?: 'hide' | 'show' | undefined;
  /** Where answers wait for a person when an output guardrail asks. Without it such an `ask` refuses. */
  readonly quarantine?: QuarantineStore | undefined;
  /** Sign approvals: each in the result has a `token`, and `resume` takes decisions only with theirs. */
  readonly approvals?: ApprovalSigning | undefined;
  /** `ignore`: standing decisions of the session answer nothing here; people are asked. Default `use`. */
  readonly standing?: 'use' | 'ignore' | undefined;
  /** For tools without a `project` of their own. */
  readonly project?: Projection<unknown, never, C> | undefined;
  /** What the model sees of the transcript. Default: everything. */
  readonly view?: View<C> | undefined;
  readonly observers?: readonly Observer[] | undefined;
  /** Aborting it cancels the run. */
  readonly signal?: AbortSignal | undefined;
  /** Calls that run at the same time. Default 8. */
  readonly concurrency?: number | undefined;
  /** Used in place of every agent's model. */
  readonly model?: Model | undefined;
  /** Laid over every agent's settings; `metadata`, `headers` and `extra` are merged by name. */
  readonly settings?: ModelSettings | undefined;
  /** Time, for tests. */
  readonly clock?: Clock | undefined;
}
/** Options of `run` and `stream`. */
export interface RunOptions<C = unknown> extends SharedOptions<C> {
  /** Keep the log there, and go on from what it holds. */
  readonly session?: SessionReference | undefined;
  /** What was said before, from elsewhere, oldest first. Untrusted; guarded on `input`. */
  readonly history?: readonly HistoryItem[] | undefined;
  /**
   * `abandon`: end an unfinished run of the session first. Default: refuse with `RESUME_MISMATCH`. With `onConflict: 'queue'`, one that may
   * still be under way is waited for first, and ended when `waitMs` are over.
   */
  readonly unfinished?: 'abandon' | undefined;
  /** Default: a new one. */
  readonly runId?: string | undefined;
}
/** Options of `resume`. Where approvals are signed, decisions are given with their tokens. */
export type ResumeOptions<C = unknown> = UnsignedResume<C> | SignedResume<C>;
interface UnsignedResume<C> extends ResumeBase<C> {
  readonly approvals?: undefined;
  /** By approval id. Approvals without one stay open. */
  readonly decisions?: Decisions | undefined;
}
interface SignedResume<C> extends ResumeBase<C> {
  readonly approvals: ApprovalSigning;
  /** By approval id, each with the approval's token. Approvals without one stay open. */
  readonly decisions?: SignedDecisions | undefined;
}
interface ResumeBase<C> extends Omit<SharedOptions<C>, 'approvals'> {
  /**
   * What to do where agents, tools or guardrails are not as they were when the run was left. Left out: a guardrail that is missing or stands
   * on less, and a tool with an open call whose effect is declared otherwise, are refused with RESUME_MISMATCH; other changes are taken up
   * (inputs are parsed anew, a new guardrail is asked about what it has not passed). `changed`: go on in any case but a missing agent or
   * called tool. `same`: refuse any change, also in instructions, schemas and versions.
   */
  readonly accept?: 'same' | 'changed' | undefined;
  /** For a run that was cut before its input was accepted: the input again. */
  readonly input?: RunInput | undefined;
  /** As `history` was given to `run`; goes with `input`. */
  readonly history?: readonly HistoryItem[] | undefined;
}
/** `O` with the context that the agent needs; an agent without a context takes none. */
type WithContext<C, O> = unknown extends C
  ? [options?: O & { readonly context?: undefined }]
  : [options: O & { readonly context: NoInfer<C> }];
/** The options argument of `run` and `stream`: required, with `context`, exactly when the agent has a context type. */
export type RunArguments<C> = WithContext<C, RunOptions<C>>;
/** The options argument of `resume`. */
export type ResumeArguments<C> = WithContext<C, ResumeOptions<C>>;
/** What to resume: a stored session's last run, or a bare log (unfenced: only where one resumer is guaranteed). */
export type ResumeTarget = Log | SessionReference;

// ------------------------------------------------------------------------------------------------ results
interface Ended<S extends RunStatus> {
  readonly status: S;
  readonly runId: string;
  /** The agent that was active at the end. */
  readonly agent: string;
  /** The whole log, of a session with all its runs. Plain JSON. */
  readonly log: Log;
  /** This run's events, and those of its child runs. */
  readonly events: readonly LogEvent[];
  /** The transcript. */
  readonly messages: readonly Message[];
  /** Of all model calls of this run, failed attempts and child runs included. */
  readonly usage: Usage;
}
/** The answer is complete. `agent` names who answered, and narrows `output`. */
export type Completed<A extends Answer = Answer> = CompletedRun & A;
interface CompletedRun extends Ended<'completed'> {
  /** The answer's text; of a structured answer, its JSON. */
  readonly text: string;
}
/** What a person is asked, in a result. `token`: where the run signs its approvals; it is in no log. */
export type OpenApproval = Approval & { readonly token?: string | undefined };
/** People are asked. Hand their decisions to `resume`. */
export interface Interrupted extends Ended<'interrupted'> {
  readonly approvals: readonly OpenApproval[];
}
/** Refused by a guardrail, or by the model. */
export interface Blocked extends Ended<'blocked'> {
  readonly surface: Surface;
  /** The guardrail's name, or `model`. */
  readonly by: string;
  readonly reason: string;
  /** What the person is told: the guardrail's reply, else the agent's refusal. */
  readonly reply?: string | undefined;
  /** The guardrail did not refuse but fail; `resume` reopens the run. */
  readonly failed?: true | undefined;
}
/** A limit was reached. */
export interface Exhausted<A extends Answer = Answer> extends Ended<'exhausted'> {
  readonly limit: LimitName;
  /** The last answer, with `onLimit: 'finalize'`. */
  readonly output?: A['output'] | undefined;
  readonly text?: string | undefined;
}
/** The signal was aborted, or the reader left. */
export interface Cancelled extends Ended<'cancelled'> {
  /** Of the signal's reason. */
  readonly cause?: SafeCause | undefined;
}
/** Something broke; `resume` reopens the run. */
export interface Failed extends Ended<'failed'> {
  readonly error: GuardloopError;
}
/** How a run ended. Look at `status` first. */
export type RunResult<A extends Answer = Answer> = Completed<A> | Interrupted | Blocked | Exhausted<A> | Cancelled | Failed;

/**
 * A run to watch. One iterator; leaving it cancels the run. Awaiting it, or its `result`, gives the result, and lets the model go on
 * whether or not anyone reads.
 */
export interface RunStream<A extends Answer = Answer> extends AsyncIterable<RunEvent>, PromiseLike<RunResult<A>> {
  /** Never rejects once the run was entered. */
  readonly result: Promise<RunResult<A>>;
  /**
   * Says something to the run while it is under way: a text, or parts. Guardrails on `input` judge it, and the next model call sees it; a run
   * that has just answered goes on. Resolves to whether it was taken: false where the run ended, waits or was refused before. Rejects with
   * CONFIG_INVALID for what is no input.
   */
  steer(input: RunInput): Promise<boolean>;
  /** Stops before the next model call: the run ends `interrupted`, without approvals of its own, and `resume` goes on with it. */
  pause(): void;
}

// ------------------------------------------------------------------------------------------------ doors
/** Runs an agent until it ends or asks. Rejects only before the run is entered; outcomes are values. */
export type RunFunction = <C, A extends Answer>(agent: Agent<C, A>, input: RunInput, ...options: RunArguments<C>) => Promise<RunResult<A>>;
/** As `run`, to be watched while it goes on. */
export type StreamFunction = <C, A extends Answer>(agent: Agent<C, A>, input: RunInput, ...options: RunArguments<C>) => RunStream<A>;
/** Goes on with a run from its log, with people's decisions; where approvals are signed, with their tokens. */
export interface ResumeFunction {
  <C, A extends Answer>(agent: Agent<C, A>, target: ResumeTarget, ...options: WithContext<C, UnsignedResume<C>>): RunStream<A>;
  <C, A extends Answer>(agent: Agent<C, A>, target: ResumeTarget, ...options: WithContext<C, SignedResume<C>>): RunStream<A>;
  <C, A extends Answer>(agent: Agent<C, A>, target: ResumeTarget, ...options: ResumeArguments<C>): RunStream<A>;
}
