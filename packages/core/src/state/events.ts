// The durable events of a run's log, and the events that are only watched. Plain JSON, no behaviour.
import type { ErrorCode, SafeCause } from '../errors.js';
import type {
  AssistantMessage,
  JsonObject,
  JsonValue,
  Label,
  NativeMessage,
  Part,
  StopReason,
  ToolCall,
  Usage,
  UserMessage,
} from '../model/types.js';
import type { ModelShare } from '../model/usage.js';

/** Where a guardrail looks. */
export type Surface = 'input' | 'toolInput' | 'toolOutput' | 'handoff' | 'output';
/** What a guardrail answers. */
export type Action = 'allow' | 'rewrite' | 'ask' | 'deny' | 'halt';
/** Who declared a guardrail. */
export type GuardLevel = 'run' | 'agent' | 'tool';
/** How a guardrail failed. `misfit`: it gave no verdict that the surface takes, or a value that does not fit. `unasked`: its breaker was open. */
export type GuardFailure = 'threw' | 'late' | 'misfit' | 'unasked';

/** Bounds of a run. Counts, except `ms` (active milliseconds; waiting for people does not count), `tokens` and `cost`. */
export interface Limits {
  /** Model calls. Default 8. */
  readonly turns: number;
  /** Calls of tools. Default `Infinity`. */
  readonly toolCalls: number;
  /** Input plus output tokens. Default `Infinity`. */
  readonly tokens: number;
  /** In the currency of the adapters' prices. Default `Infinity`. */
  readonly cost: number;
  /** Active time. Default `Infinity`. */
  readonly ms: number;
  /** Default 8. */
  readonly handoffs: number;
  /** Refusals and misfits of the answer in a row that are repaired. Default 1. */
  readonly repairs: number;
  /** Equal calls with equal results before a notice; twice that ends the run. Default 3. */
  readonly repeats: number;
}
/** The name of a limit. */
export type LimitName = keyof Limits;
/** Limits as JSON: `null` stands for `Infinity`. */
export type RecordedLimits = { readonly [K in LimitName]: number | null };

/** One guardrail as it stood. */
export interface GuardEntry {
  readonly name: string;
  readonly version?: string | undefined;
  readonly surfaces: readonly Surface[];
  readonly phases: readonly ('rewrite' | 'check')[];
  /** Patterns of tool names; only for the tool surfaces. */
  readonly tools?: readonly string[] | undefined;
  readonly beside?: true | undefined;
  readonly shadow?: true | undefined;
  readonly onError?: 'halt' | 'allow' | undefined;
}
/** Which guardrails stood where, so that an audit knows which verdicts were due. */
export interface Manifest {
  readonly run: readonly GuardEntry[];
  readonly agent: readonly GuardEntry[];
  /** By tool name; only tools that have their own. */
  readonly tools: { readonly [tool: string]: readonly GuardEntry[] };
  /** By agent: what the agents that this one can hand over to have on `handoff` and `input`, since they are asked before the swap. */
  readonly targets?: { readonly [agent: string]: readonly GuardEntry[] } | undefined;
  /** What the agent and its tools were like, so that a later process can tell what has changed. Left out of logs of 0.1.0. */
  readonly definitions?: Definitions | undefined;
}
/** Digests of an agent and its tools, 64 bits in hex: they tell changes, and protect nothing. */
export interface Definitions {
  /** The agent's name. */
  readonly name: string;
  /** Of its instructions (where they are a text) and its output schema. */
  readonly agent: string;
  /** By tool name: of what it does (flow, approval, who runs it, whether it may run twice), a point, and of its description and schema. */
  readonly tools: { readonly [tool: string]: string };
}

interface Durable<T extends string> {
  readonly type: T;
  /** Numbers the log, from 1, without gaps. */
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly run: string;
  /** The active agent of that run. */
  readonly agent: string;
  /** In child runs: the parent's run id. */
  readonly parent?: string | undefined;
  /**
   * On an event that commits what guardrails have judged: one letter for each of their verdicts that counts for it, in log order.
   * `a` allow, `r` rewrite, `k` ask, `d` deny, `h` halt. So no verdict can be taken out or turned unseen.
   */
  readonly answers?: string | undefined;
}

/** A run begins. Nothing of its input is in the log before `input.accept`. */
export interface RunStartEvent extends Durable<'run.start'> {
  /** Who writes; a new one for each process that enters the run. */
  readonly writer: string;
  readonly limits: RecordedLimits;
  readonly manifest: Manifest;
  /** What to do at a limit; left out: stop. */
  readonly onLimit?: 'finalize' | undefined;
  /** In child runs: the call of the parent that started it. */
  readonly call?: string | undefined;
}
/** A process enters a run that is in the log already. */
export interface RunResumeEvent extends Durable<'run.resume'> {
  readonly writer: string;
  readonly manifest: Manifest;
  /** Only if resume changed them. */
  readonly limits?: RecordedLimits | undefined;
  readonly onLimit?: 'stop' | 'finalize' | undefined;
  /** Present when an ended run (exhausted, cancelled, failed, blocked by a failed guardrail) was reopened. */
  readonly reopens?: true | undefined;
}
/**
 * One answer of one guardrail on one subject. Message ids are `<run>/i<n>` (input items), `<run>/<turn>` (answers), `<run>/<call id>` (results),
 * `<run>/<call id>/brief` and `<run>/<turn>/v<n>` (what a view wrote). Subjects:
 * an item's message id for its rewrites on `input`; `<run>/input` the checks of an entry (`<run>/<call id>/input` at a handoff);
 * `<run>/<turn>` an answer on `output`, `<run>/<turn>/reasoning` shown reasoning; `<run>/<call id>` a call on `toolInput` and `toolOutput`;
 * `<run>/<call id>/details` a result's details, `<run>/<call id>/projected` a projection, on `toolOutput`;
 * `<run>/<call id>` on `handoff`, asked before `model.end`, and again before the `handoff` event unless nothing that the target will see
 * can have changed since (its view is `'all'`, it was the only call of its answer, and no person was asked);
 * `<run>/<turn>/view` the checks of what a view wrote, committed by `model.start`.
 * `revision` is the one looked at; a `rewrite` makes the next.
 */
export interface GuardVerdictEvent extends Durable<'guard.verdict'> {
  readonly guardrail: string;
  readonly version?: string | undefined;
  readonly level: GuardLevel;
  readonly surface: Surface;
  readonly subject: string;
  readonly revision: number;
  readonly phase: 'rewrite' | 'check';
  readonly action: Action;
  readonly reason?: string | undefined;
  /** The guardrail threw, hung, or answered nonsense. */
  readonly failed?: true | undefined;
  /** How it failed. Left out of logs of 0.1.0. */
  readonly failure?: GuardFailure | undefined;
  /** Logged, not obeyed. */
  readonly shadow?: true | undefined;
  readonly beside?: true | undefined;
  readonly projected?: true | undefined;
  /** Of a rewrite that gave spans: how many. Left out where it gave the whole anew. */
  readonly places?: number | undefined;
  /** Of a shadow's rewrite: characters of the content, and what it would have left of them. */
  readonly size?: { readonly before: number; readonly after: number } | undefined;
  /** Milliseconds that the answer took. */
  readonly ms: number;
}
/** The input has passed and is recorded; history that was judged with it is named. */
export interface InputAcceptEvent extends Durable<'input.accept'> {
  readonly subject: string;
  /** How many rewrites the entry took. */
  readonly revision: number;
  /** New items, in the form that passed: the user's, and before them history given from elsewhere. */
  readonly items: readonly (UserMessage | AssistantMessage)[];
  /** Items of the history that were new to this agent's view and were rewritten for it. */
  readonly changed?: readonly ViewText[] | undefined;
  /** Ids of the history items that were judged in this entry. */
  readonly judged?: readonly string[] | undefined;
  /** The item revisions, where above 0. */
  readonly revisions?: { readonly [item: string]: number } | undefined;
}
/** A recorded message with other text. */
export interface ViewText {
  readonly id: string;
  readonly text: string;
  /** Of an answer: a rewrite touched the inputs of its calls, which are shown as `{}`. */
  readonly dropsInputs?: true | undefined;
}
/** What an agent sees: references to recorded messages, with text where it was changed, or whole items that a view or brief made. */
export type ViewEntry = string | ViewText | UserMessage;

/** A model call begins. Counts as a turn, also when it is made again after a cut. */
export interface ModelStartEvent extends Durable<'model.start'> {
  readonly turn: number;
  readonly model: string;
  /** Only when it is not everything the agent's view holds. */
  readonly view?: readonly ViewEntry[] | undefined;
  /** Input guardrails are still asked beside this call. */
  readonly beside?: true | undefined;
  /** Core's own note at the end of this request. */
  readonly note?: string | undefined;
  /** The last call of `onLimit: 'finalize'`, after this limit. */
  readonly final?: LimitName | undefined;
  /** What the view used to write its texts, as it told. */
  readonly viewUsage?: readonly ModelShare[] | undefined;
}

/** Why a call gave no result, for the model. */
export type ErrorClass =
  | 'invalid_input'
  | 'unknown_tool'
  | 'denied'
  | 'rejected'
  | 'timeout'
  | 'aborted'
  | 'rate_limited'
  | 'not_found'
  | 'unavailable'
  | 'bad_result'
  | 'failed';
/** How a call ended. `denied`: did not run. `rejected`: by a person. `aborted`: never started. `unknown`: started, outcome not seen. */
export type CallStatus = 'ok' | 'error' | 'denied' | 'rejected' | 'aborted' | 'unknown';

/** Who refused, where and why. */
export interface Refusal {
  readonly action: 'ask' | 'deny' | 'halt';
  readonly surface: Surface;
  /** The guardrail's name, or `model`. */
  readonly by: string;
  readonly reason: string;
  readonly reply?: string | undefined;
  readonly failed?: true | undefined;
}
/** One guardrail, tool or rule that wants a person. */
export interface Ask {
  /** A guardrail's name, `approval` for the tool's own rule, or `core` (repeated effect, may have run). */
  readonly by: string;
  readonly reason: string;
}

/**
 * How much of a result the model sees. `full`: all of it. `partial`: a part, since a projection, a cap or the tool itself left something out.
 * `empty`: nothing, since the tool gave nothing, or the call came to no result (its status is not `ok`).
 */
export type Completeness = 'full' | 'empty' | 'partial';

/** The end of a call, as it stands in `tool.end`, or ahead of it in `model.end` for calls that will not run. */
export interface CallEnd {
  readonly status: CallStatus;
  /** What the model sees: text, or parts where there are images or files. */
  readonly content: string | readonly Part[];
  readonly errorClass?: ErrorClass | undefined;
  readonly retryable?: boolean | undefined;
  /** Core's own words beside the content; hold no outside value. */
  readonly note?: string | undefined;
  readonly label: Label;
  readonly refusal?: Refusal | undefined;
}
export interface RecordedCall extends ToolCall {
  readonly kind: 'tool' | 'agent' | 'handoff' | 'caller' | 'unknown';
  /** Of a handoff: to whom, and the brief in the form that passed. */
  readonly handoff?: { readonly to: string; readonly brief: string } | undefined;
  /** Of `input`; 0 is the model's own. */
  readonly revision: number;
  /** Fields of `input` to which rewrites gave another value than the model did. Present when the call was rewritten. */
  readonly changedFields?: readonly string[] | undefined;
  readonly asks?: readonly Ask[] | undefined;
  /** An earlier call of this answer with the same tool and input, whose one effect this shares. */
  readonly copyOf?: string | undefined;
  /** Present when the call will not run. */
  readonly end?: CallEnd | undefined;
  /**
   * Of a call that will not run, whose input is not recorded: a number that unlike inputs do not share, so that the repeat defence does not
   * take one for another. It is counted, not made of the input.
   */
  readonly variant?: number | undefined;
}
/**
 * Where the thought of an answer stands, in an agent with a mode. `text`: in its text (beside the call that ends the run: in `reasoning`).
 * `thinking`: in what the model gives as its reasoning, which is recorded only where it is shown. `argument`: in `reasoning`, taken off the
 * calls. `unreadable`: the provider keeps it encrypted. `none`: there is none.
 */
export type ThoughtPlace = 'text' | 'thinking' | 'argument' | 'unreadable' | 'none';
/** A model call has ended: the answer in the form that passed, or what became of it. */
export interface ModelEndEvent extends Durable<'model.end'> {
  readonly turn: number;
  readonly status: 'ok' | 'refused' | 'failed' | 'aborted';
  /** The answer's message id. */
  readonly id: string;
  readonly text: string;
  /** Revision of the answer's text or value. */
  readonly revision: number;
  /** The structured answer, as the model gave it (raw), in the form that passed. */
  readonly value?: JsonValue | undefined;
  readonly calls: readonly RecordedCall[];
  readonly native?: NativeMessage | undefined;
  /** Reasoning that was shown, or said in arguments or beside the call that ends the run: in the form that passed. */
  readonly reasoning?: string | undefined;
  readonly label: Label;
  readonly usage: Usage;
  /** Who answered, where that is not the model of `model.start`: one that was asked in its place. */
  readonly model?: string | undefined;
  readonly stopReason?: StopReason | undefined;
  /** Size of the text that was discarded, in characters. */
  readonly chars?: number | undefined;
  readonly refusal?: Refusal | undefined;
  /** A misfit of the output schema that is to be repaired: which fields, what was expected; no values. */
  readonly misfit?: string | undefined;
  /** The answer's own form could not be read, so that nobody judged it. */
  readonly unread?: true | undefined;
  /** In an agent with a mode: where the thought stands. */
  readonly thought?: ThoughtPlace | undefined;
  /** In an agent with a mode: a thought alone. The run goes on until the call of this name ends it. */
  readonly continues?: string | undefined;
  /** The answer was empty: neither text nor call. With `chars` it had text and told of a call that did not come. */
  readonly empty?: true | undefined;
  readonly error?: RecordedError | undefined;
}

/** One rewrite of what a person is asked about. What stood there before is nowhere. */
export interface ApprovalRewrite {
  /** The guardrail's name. */
  readonly by: string;
  readonly reason?: string | undefined;
  /** How many places it changed; left out where it gave the whole anew. */
  readonly places?: number | undefined;
}
interface ApprovalBase<S extends 'toolInput' | 'handoff' | 'output'> {
  readonly id: string;
  readonly surface: S;
  readonly run: string;
  /** From the root agent to the one that asks. */
  readonly agentPath: readonly string[];
  readonly subject: string;
  readonly revision: number;
  /** sha256, hex, of the canonical JSON of what will run; salted where the content is quarantined. */
  readonly digest: string;
  /** All reasons, joined. */
  readonly reason: string;
  readonly asks: readonly Ask[];
  /** Whose words these are, and whether they may depend on untrusted content. */
  readonly label: Label;
  /** Tools whose untrusted results the asking agent had read. */
  readonly untrustedFrom: readonly string[];
  /** What guardrails rewrote on the way to this revision, in order; left out where nothing. */
  readonly rewrites?: readonly ApprovalRewrite[] | undefined;
}
/** What a tool does to the world, as its author declared it. */
export interface ApprovalFlow {
  readonly effect: 'none' | 'read' | 'write' | 'send';
  /** Arguments that decide what or whom the effect hits. */
  readonly authority: readonly string[] | 'all';
  /** False: the author left it out, and the strictest was taken. */
  readonly declared: boolean;
}
/** A person is asked about a call. */
export interface CallApproval extends ApprovalBase<'toolInput'> {
  readonly tool: string;
  readonly callId: string;
  readonly input: JsonObject;
  readonly flow: ApprovalFlow;
  /** Fields of `input` to which rewrites gave another value; present with `rewrites`. */
  readonly changedFields?: readonly string[] | undefined;
  /** The effect may have happened already: the log was cut between start and end. */
  readonly mayHaveRun: boolean;
  /** The tool has no `execute`: the caller runs it and answers with `{ result }`. */
  readonly caller?: true | undefined;
}
/** A person is asked about a handoff. */
export interface HandoffApproval extends ApprovalBase<'handoff'> {
  readonly tool: string;
  readonly callId: string;
  readonly input: JsonObject;
  readonly from: string;
  readonly to: string;
  readonly brief: string;
}
/** The answer itself waits in the quarantine store under `key`: `readQuarantined` gets it. */
export interface OutputApproval extends ApprovalBase<'output'> {
  readonly tool?: undefined;
  readonly input?: undefined;
  readonly key: string;
  /** Characters of the waiting answer. */
  readonly chars: number;
  readonly turn: number;
  /** Calls that the answer makes; they are judged once it is approved. */
  readonly calls: number;
}
/** What a person is asked. */
export type Approval = CallApproval | HandoffApproval | OutputApproval;

/**
 * Approves this call, and later calls of the same agent path and tool whose input fits, in this session, until it expires or the agent
 * hands over. `when`: fields that an input must have, with equal values; `{}` fits every input; left out, the input must be this one.
 * `forMs` counts from now, `expiresAt` is in milliseconds since 1970, both by the run's clock; without them it does not expire.
 */
export type StandingDecision = {
  readonly approve: 'standing';
  readonly when?: JsonObject | undefined;
  readonly reject?: undefined;
  readonly edit?: undefined;
  readonly result?: undefined;
} & ({ readonly forMs?: number | undefined; readonly expiresAt?: undefined } | { readonly expiresAt: number; readonly forMs?: undefined });
/** A person's decision for later calls, as the log keeps it. */
export interface StandingApproval {
  readonly agentPath: readonly string[];
  readonly tool: string;
  /** Fields that a call's input must have, with equal values. */
  readonly when: JsonObject;
  /** The input may have no other fields. */
  readonly exact?: true | undefined;
  /** Milliseconds since 1970, by the run's clock; left out: it does not expire. */
  readonly expiresAt?: number | undefined;
}
/** A person's decision, as given to `resume`. */
export type Decision =
  | 'approve'
  | StandingDecision
  | { readonly reject: string }
  | { readonly edit: object }
  | { readonly result: unknown };
/** A decision, and whose it is. */
export interface AttributedDecision {
  readonly decision: Decision;
  /** A name or id of who decided, 1 to 200 characters, recorded as given; the model never sees it. Who may decide, your service knows. */
  readonly by: string;
}
/** Decisions by approval id. */
export type Decisions = Readonly<Record<string, Decision | AttributedDecision>>;
/** A decision with the token of its approval. */
export interface SignedDecision {
  readonly decision: Decision;
  /** As in {@link AttributedDecision}. */
  readonly by?: string | undefined;
  /** As it stands on the approval in the result. */
  readonly token: string | undefined;
}
/** Decisions by approval id, where the run's approvals are signed. */
export type SignedDecisions = Readonly<Record<string, SignedDecision>>;

/** A person is asked. */
export interface ApprovalRequestEvent extends Durable<'approval.request'> {
  readonly approval: Approval;
  /** For a quarantined answer: its turn, what it used, and who gave it, where that is not the model of `model.start`. */
  readonly turn?: number | undefined;
  readonly usage?: Usage | undefined;
  readonly model?: string | undefined;
}
/** A person has decided. */
export interface ApprovalResolveEvent extends Durable<'approval.resolve'> {
  readonly id: string;
  readonly subject: string;
  readonly revision: number;
  readonly decision: 'approve' | 'reject' | 'edit' | 'result' | 'void';
  readonly digest: string;
  /** `at` of the `approval.request`: so that whoever sees only this knows how long it was open. Left out of logs of 0.1.0. */
  readonly askedAt?: number | undefined;
  /** Who decided, as `resume` was told. */
  readonly decidedBy?: string | undefined;
  /** The person's words, with `reject`. */
  readonly reason?: string | undefined;
  /** With `edit`: the input as it passed; left out where a guardrail refused it, and the call ends. */
  readonly input?: JsonObject | undefined;
  /** With `result`: a declared write or send, which runs once for an input in a run: the person ran it. */
  readonly once?: true | undefined;
  /** With `edit`: a rewrite changed it, so it is asked anew. */
  readonly changed?: true | undefined;
  /** With `changed`: what is asked anew. */
  readonly asks?: readonly Ask[] | undefined;
  /** With `changed`: fields of `input` that are not as the person gave them. */
  readonly changedFields?: readonly string[] | undefined;
  /** With `approve`: the person's decision holds for later calls too. */
  readonly standing?: StandingApproval | undefined;
  /** With `approve`: nobody was asked; the standing decision that was given with this approval's id holds for the call. */
  readonly byStanding?: string | undefined;
}
/** A call begins: from here on its effect may have happened. */
export interface ToolStartEvent extends Durable<'tool.start'> {
  readonly callId: string;
  readonly tool: string;
  readonly revision: number;
  readonly input: JsonObject;
  readonly idempotencyKey: string;
  /** A declared write or send: runs once for an input in a run. */
  readonly once?: true | undefined;
}
/** A call has ended. Each call has exactly one. */
export interface ToolEndEvent extends Durable<'tool.end'>, CallEnd {
  readonly callId: string;
  readonly tool: string;
  /** The ToolMessage's id. */
  readonly id: string;
  /** Revision of the output that passed. */
  readonly revision: number;
  /** Characters of the whole guarded output, before projection. */
  readonly chars: number;
  /** Missing only in logs that were written before there was one. */
  readonly completeness?: Completeness | undefined;
  /** What the projection used to make the content, as it told. */
  readonly projectionUsage?: readonly ModelShare[] | undefined;
  /** The output was a value, not a text: the content is its JSON, or was made of it. */
  readonly structured?: true | undefined;
  /**
   * How the content was made of the output, where it is not the output itself. `user`, a projection of the user's, or one of core's that says
   * what a text meant in other characters, was guarded again.
   */
  readonly projection?: 'core' | 'user' | undefined;
  /** For the application; guarded, never sent to the model. */
  readonly details?: JsonValue | undefined;
  /** The call whose end this shares: of the same turn, or, as `<run>/<call>`, of an earlier child run that shares effects with this one. */
  readonly copyOf?: string | undefined;
  /** The repeat defence leaves this tool alone. */
  readonly polling?: true | undefined;
  /** The limit that kept the call from running. */
  readonly limit?: LimitName | undefined;
  /** The tool returned a handoff. `filtered`: with a history filter, which lives only in the process that ran the tool. */
  readonly handoff?: { readonly to: string; readonly brief: string; readonly filtered?: true | undefined } | undefined;
  /** The tool `endsRun`: this is the run's answer, in the form that passed `output`. */
  readonly answer?: { readonly text: string; readonly value?: JsonValue | undefined; readonly revision: number } | undefined;
}
/** The active agent was swapped. */
export interface HandoffEvent extends Durable<'handoff'> {
  readonly callId: string;
  readonly from: string;
  readonly to: string;
  readonly brief: string;
  /** Revision of the brief on `handoff`. */
  readonly revision: number;
  /** `'all'`: everything recorded so far; else references, with text where it was changed. The brief's own item comes last and is not in it. */
  readonly view: 'all' | readonly ViewEntry[];
  /** The brief as an item of the target's view. */
  readonly item: UserMessage;
  readonly revisions?: { readonly [item: string]: number } | undefined;
  readonly entry: { readonly subject: string; readonly revision: number; readonly judged: readonly string[] };
  readonly manifest: Manifest;
}
/** A handoff that a tool returned was refused after the call had ended: the old agent stays, and this is what the model sees. */
export interface HandoffRefusedEvent extends Durable<'handoff.refused'>, CallEnd {
  readonly callId: string;
  readonly limit?: LimitName | undefined;
}

/** An error as the log keeps it. */
export interface RecordedError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly isRetryable: boolean;
  readonly details?: JsonObject | undefined;
  readonly cause?: SafeCause | undefined;
}
/** How a run ended. */
export type RunStatus = 'completed' | 'interrupted' | 'blocked' | 'exhausted' | 'cancelled' | 'failed';

/** A run has ended. After it the run has no more events, unless `run.resume` reopens it. */
export interface RunEndEvent extends Durable<'run.end'> {
  readonly status: Exclude<RunStatus, 'interrupted'>;
  /** completed, and exhausted after `finalize`: the answer's text, or its JSON. */
  readonly text?: string | undefined;
  readonly value?: JsonValue | undefined;
  readonly refusal?: Refusal | undefined;
  readonly reply?: string | undefined;
  readonly limit?: LimitName | undefined;
  readonly error?: RecordedError | undefined;
  /** cancelled: the signal's reason as a safe cause. */
  readonly cause?: SafeCause | undefined;
  /** blocked: what a view used to write the text that was refused. */
  readonly viewUsage?: readonly ModelShare[] | undefined;
}

/** A monitor of the active agent has found something between two turns. */
export interface MonitorAlertEvent extends Durable<'monitor.alert'> {
  readonly monitor: string;
  /** Recorded answers so far. */
  readonly turn: number;
  readonly sign: string;
  readonly reason: string;
  readonly then: 'nothing' | 'note' | 'ask' | 'finalize' | 'stop';
}
/** A durable event: part of the log. */
export type LogEvent =
  | RunStartEvent
  | RunResumeEvent
  | GuardVerdictEvent
  | InputAcceptEvent
  | ModelStartEvent
  | ModelEndEvent
  | ApprovalRequestEvent
  | ApprovalResolveEvent
  | ToolStartEvent
  | ToolEndEvent
  | HandoffEvent
  | HandoffRefusedEvent
  | MonitorAlertEvent
  | RunEndEvent;

interface Watch<T extends string> {
  readonly type: T;
  readonly at: number;
  readonly run: string;
  readonly agent: string;
  readonly parent?: string | undefined;
}
/** A model call begins. */
export interface TurnStartEvent extends Watch<'turn.start'> {
  readonly turn: number;
}
/** A piece of text that may be shown. */
export interface TextDeltaEvent extends Watch<'text.delta'> {
  readonly turn: number;
  readonly text: string;
}
/** Text shown in this turn was not recorded: take it back. */
export interface TextRetractEvent extends Watch<'text.retract'> {
  readonly turn: number;
  /** Characters shown in this turn that are void. */
  readonly chars: number;
  readonly reason: string;
}
/** A piece of reasoning, where the run shows it. */
export interface ReasoningDeltaEvent extends Watch<'reasoning.delta'> {
  readonly turn: number;
  readonly text: string;
}
/** The whole of a call's arguments, once they have passed. */
export interface ToolDeltaEvent extends Watch<'tool.delta'> {
  readonly callId: string;
  readonly tool: string;
  readonly text: string;
}
/** A running tool is getting on. */
export interface ToolProgressEvent extends Watch<'tool.progress'> {
  readonly callId: string;
  readonly tool: string;
  /** The tool's own words, which nobody has judged; left out where a guardrail stands on the tool's output. */
  readonly note?: string | undefined;
  /** How far the tool is, or which attempt this is. */
  readonly step?: number | undefined;
}
/** An attempt of a model call failed, and another follows. */
export interface ModelRetryEvent extends Watch<'model.retry'> {
  readonly attempt: number;
  readonly waitMs: number;
}
/** Something of a request was left out or changed because its model does not take it, or another model was asked in its place. */
export interface ModelWarningEvent extends Watch<'model.warning'> {
  readonly turn: number;
  /** What kind of thing: for example `setting`, `native`, `part`, `name`, `schema`, `fallback`, `limit`. */
  readonly about: string;
  /** One sentence of the adapter's; holds no content. */
  readonly message: string;
  /** Id of the transcript item that it is about. */
  readonly item?: string | undefined;
}
/** The breaker of a guardrail has changed its state, by an ask of this run. It belongs to the guardrail and is shared by all its runs. */
export interface GuardBreakerEvent extends Watch<'guard.breaker'> {
  readonly guardrail: string;
  /** `open`: it is not asked any more, which counts as failed. `half-open`: one ask is let through. `closed`: it is asked again. */
  readonly state: 'open' | 'half-open' | 'closed';
}
/** The run came back `interrupted`: it waits for people, or was paused. Told last of all; a process that resumes it goes on with `run.resume`. */
export interface RunWaitEvent extends Watch<'run.wait'> {
  /** Ids of what people are asked, in child runs too; none where it was paused. */
  readonly approvals: readonly string[];
}
/** An observer threw. */
export interface ObserverErrorEvent extends Watch<'observer.error'> {
  /** Which event's observer failed. */
  readonly event: string;
  readonly cause: SafeCause;
}
/** An event that is shown but is no part of the log. */
export type WatchEvent =
  | TurnStartEvent
  | TextDeltaEvent
  | TextRetractEvent
  | ReasoningDeltaEvent
  | ToolDeltaEvent
  | ToolProgressEvent
  | ModelRetryEvent
  | GuardBreakerEvent
  | ModelWarningEvent
  | RunWaitEvent
  | ObserverErrorEvent;

/** Everything that a watcher sees. */
export type RunEvent = LogEvent | WatchEvent;

/** A run's, or a session's, whole log. Plain JSON. */
export interface Log {
  readonly version: 1;
  readonly events: readonly LogEvent[];
}
