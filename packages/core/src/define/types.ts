// The one file of inference: what users write, and what is inferred from it. `any` may stand here and nowhere else (it does not).
import type { $ZodType } from 'zod/v4/core';
import type { JsonObject, Label, Message, Model, ModelSettings, ToolSpec as OfferedTool, Part, Via } from '../model/types.js';
import type { ModelShare } from '../model/usage.js';
import type { RunCall } from '../state/call-tally.js';
import type { ErrorClass, Limits, LogEvent, Surface } from '../state/events.js';

/** A value, or a promise of it. */
export type Awaitable<T> = T | PromiseLike<T>;
declare const types: unique symbol;
/** Why an option is refused; shown in the compiler's message. */
export interface Only<out Why extends string> {
  readonly [types]: Why;
}

// ------------------------------------------------------------------------------------------------ verdicts
/** It crosses as it is. Made by {@link allow}. */
export interface Allow {
  readonly action: 'allow';
}
/** Something else crosses in its place. Made by {@link rewrite}; only a guardrail's `rewrite` may answer with it. */
export interface Rewrite<out V = unknown> {
  readonly action: 'rewrite';
  readonly value: V;
  readonly reason: string;
}
/** A person decides. Made by {@link ask}. */
export interface AskVerdict {
  readonly action: 'ask';
  readonly reason: string;
}
/** This one thing is refused, and the model is told why. Made by {@link deny}. */
export interface Deny {
  readonly action: 'deny';
  readonly reason: string;
  /** What the person is told instead. Author's text, not guarded. */
  readonly reply?: string | undefined;
}
/** The run ends. Made by {@link halt}. */
export interface Halt {
  readonly action: 'halt';
  readonly reason: string;
  readonly reply?: string | undefined;
}
/** A piece of the subject's `content` to be replaced: UTF-16 offsets, `end` exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
  /** Put in its place. */
  readonly with: string;
}
/** What a `check` may answer on these surfaces. `ask` is for `toolInput`, `handoff` and `output` only. */
export type Verdict<S extends Surface = Surface> =
  | Allow
  | Deny
  | Halt
  | ([S] extends ['toolInput' | 'handoff' | 'output'] ? AskVerdict : never);

// ------------------------------------------------------------------------------------------------ subjects
interface SubjectBase<S extends Surface> {
  readonly surface: S;
  /** The text of what crosses; of a structured value, its JSON. */
  readonly content: string;
  readonly label: Label;
}
/** One item that is new to the active agent's view. */
export interface InputItem {
  readonly id: string;
  readonly role: Message['role'];
  readonly via: Via;
  readonly label: Label;
  readonly text: string;
  readonly parts: readonly Part[];
}
/** On `input`, `rewrite` is called for each new item (`items` holds that one), `check` once for the entry, with all. */
export interface InputSubject extends SubjectBase<'input'> {
  readonly items: readonly InputItem[];
}
/** A call, before it runs. */
export interface ToolInputSubject extends SubjectBase<'toolInput'> {
  readonly tool: string;
  readonly callId: string;
  /** Parsed by the tool's schema. */
  readonly input: unknown;
  /** As the model, a rewrite or a person wrote it; `content` is its JSON, and rewrites are built from it. */
  readonly raw: JsonObject;
  readonly flow: ResolvedFlow;
  /** JSON Schema of the input, as the model is shown it. */
  readonly schema: JsonObject;
}
/** What a call gave, before the model, the log or a projection gets it. */
export interface ToolOutputSubject extends SubjectBase<'toolOutput'> {
  readonly tool: string;
  readonly callId: string;
  /** The raw input that this output answers. */
  readonly input: JsonObject;
  /** The plain form of what the tool gave. */
  readonly output: unknown;
  /** A tool's own words about its failure. */
  readonly isError: boolean;
  /** `details`: the tool's details for the application. `projected`: what a projection made, looked at again. */
  readonly form: 'output' | 'details' | 'projected';
  readonly projected?: true | undefined;
}
/** A handoff, before the swap. */
export interface HandoffSubject extends SubjectBase<'handoff'> {
  readonly from: string;
  readonly to: string;
  readonly brief: string;
  /** What the target will see, as far as it is known. */
  readonly history: readonly Message[];
  readonly callId: string;
}
/** An answer, before it is shown or recorded. */
export interface OutputSubject extends SubjectBase<'output'> {
  /** The structured answer, raw; of text, the text. */
  readonly value: unknown;
  /** False beside calls and handoffs. */
  readonly final: boolean;
  /** `reasoning` is guarded only where it is shown. */
  readonly kind: 'answer' | 'reasoning';
}
interface SurfaceSubject {
  readonly input: InputSubject;
  readonly toolInput: ToolInputSubject;
  readonly toolOutput: ToolOutputSubject;
  readonly handoff: HandoffSubject;
  readonly output: OutputSubject;
}
/** What a `rewrite` may put in the subject's place. */
interface SurfaceValue {
  readonly input: string | readonly Span[];
  readonly toolInput: string | readonly Span[] | object;
  readonly toolOutput: string | readonly Span[] | object;
  readonly handoff: string | readonly Span[];
  readonly output: string | readonly Span[];
}
/** What a guardrail on the surfaces `S` looks at. Deep-frozen. */
export type Subject<S extends Surface = Surface> = SurfaceSubject[S];

/** An untrusted result that the active agent has read. */
export interface UntrustedRead {
  readonly tool: string;
  readonly callId: string;
}
/** The second argument of a guardrail's functions. */
export interface GuardInfo<out C = unknown> {
  readonly context: C;
  readonly run: string;
  readonly agent: string;
  /** From the root agent to the active one. */
  readonly agentPath: readonly string[];
  /** The run so far, as the active agent sees it. A read-only view, valid during the call. */
  readonly messages: readonly Message[];
  /** The labels of what is looked at: of the subject, and the running label of the view. */
  readonly labels: { readonly subject: Label; readonly view: Label };
  /** Untrusted results that the active agent has read. */
  readonly untrustedReads: readonly UntrustedRead[];
  /**
   * The other calls of this run, of those above it and of their child runs, whatever an agent sees of them: what was started, and what may
   * still start (it waits for its turn or a person, or came before its guardrails earlier than this one). What was refused, rejected, ended
   * before it began, or shared the end of another call is not among them. The same after a resume.
   */
  readonly calls: readonly RunCall[];
  /** Aborted when the answer is not needed any more, and at the deadline. */
  readonly signal: AbortSignal;
}
/** Looks at what will cross, and answers. It may throw or be late: that is a failure, which refuses unless its author wrote otherwise. */
export type Check<S extends Surface, C = unknown> = (subject: Subject<S>, info: GuardInfo<C>) => Awaitable<Verdict<S>>;
/** As {@link Check}, in the phase before, and may put something else in the subject's place. */
export type Rewriter<S extends Surface, C = unknown> = (
  subject: Subject<S>,
  info: GuardInfo<C>,
) => Awaitable<Verdict<S> | Rewrite<SurfaceValue[S]>>;

// ------------------------------------------------------------------------------------------------ guardrails
/** A guardrail that stands on the surfaces `S` and reads a context `C`. */
export interface Guardrail<in C = never, out S extends Surface = Surface> {
  readonly name: string;
  readonly on: readonly S[];
  readonly [types]: { context(context: C): void };
}
/**
 * When a guardrail is not asked any more. While its breaker is open every ask counts as failed at once, as `onError` says; the state belongs
 * to the guardrail and is shared by all its runs. An ask that was aborted is no failure.
 */
export interface BreakerOptions {
  /** Opens after so many failures in a row: it threw, was late, or gave no verdict that its surface takes. */
  readonly failures: number;
  /** Not in a row, but within so many milliseconds. */
  readonly withinMs?: number | undefined;
  /** How long it is not asked, milliseconds; then one ask is let through, and its outcome closes the breaker or opens it anew. Default 30,000. */
  readonly coolDownMs?: number | undefined;
}
interface GuardrailOptions<S extends Surface> {
  /** Unique among those that stand together. Stands in the log. */
  readonly name: string;
  readonly on: readonly S[];
  /** Change it when the rule changes: committed answers of another version are asked again. */
  readonly version?: string | undefined;
  /** Deadline of one answer, milliseconds. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** What counts when it throws, hangs or answers nonsense. Default `deny`. */
  readonly onError?: 'deny' | 'halt' | 'allow' | undefined;
  /** For a guardrail that asks something remote: when it keeps failing, stop asking for a while. Default: never. */
  readonly breaker?: BreakerOptions | undefined;
  /** Its answers are logged, not obeyed. Default false. */
  readonly shadow?: boolean | undefined;
  /** Names or patterns (`refund_*`) of the tools it looks at; for the tool surfaces. Default: all. */
  readonly tools?:
    | (Extract<S, 'toolInput' | 'toolOutput'> extends never ? Only<"`tools` needs 'toolInput' or 'toolOutput' in `on`"> : readonly string[])
    | undefined;
  /** Names or patterns that it has rules about: in the list of an agent or a tool, one that fits none of its tools is CONFIG_INVALID. Default: none. */
  readonly expects?: readonly string[] | undefined;
}
/** Only checks: may run beside the model. */
export interface CheckingGuardrail<C, S extends Surface> extends GuardrailOptions<S> {
  readonly check: Check<S, C>;
  readonly rewrite?: undefined;
  /** Start the model before it has answered; text, calls and handoffs wait for it. */
  readonly beside?: ([S] extends ['input'] ? 'model' : Only<"`beside` needs `on: ['input']`">) | undefined;
  readonly window?: undefined;
}
/** Rewrites, and may also check what results. */
export interface RewritingGuardrail<C, S extends Surface> extends GuardrailOptions<S> {
  readonly rewrite: Rewriter<S, C>;
  readonly check?: Check<S, C> | undefined;
  readonly beside?: undefined;
  readonly window?: undefined;
}
/** Rewrites text while it flows: answers `allow` or spans, nothing else, and has no `check`. */
export interface WindowGuardrail<C, S extends Surface> extends GuardrailOptions<S> {
  /** Called with pieces of the text as they come; spans are offsets in `content`. */
  readonly rewrite: (subject: Subject<S>, info: GuardInfo<C>) => Awaitable<Allow | Rewrite<readonly Span[]>>;
  /** No span is longer than this many characters or depends on more than this many on either side: text may flow twice this far behind the model. */
  readonly window: 'output' extends S ? number : Only<"`window` needs 'output' in `on`">;
  readonly check?: undefined;
  readonly beside?: undefined;
}
/** What `defineGuardrail` takes. */
export type GuardrailDef<C, S extends Surface> = CheckingGuardrail<C, S> | RewritingGuardrail<C, S> | WindowGuardrail<C, S>;

// ------------------------------------------------------------------------------------------------ answers
/** One way a run can complete: this agent answered with this type. */
export interface Answer<out N extends string = string, out O = unknown> {
  readonly agent: N;
  readonly output: O;
}
/** A handoff to a name that no agent reachable from here has yet. */
export interface Unresolved<out N extends string = string> {
  readonly unresolved: N;
}
/** Where a run can end: an answer, or a handoff to a name that is not resolved yet. */
export type Route = Answer | Unresolved;

// ------------------------------------------------------------------------------------------------ schemas
/** A schema of another library that validates and gives its JSON Schema (Standard Schema and Standard JSON Schema). */
export interface StandardSchema<out I = unknown, out Raw = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (
      value: unknown,
    ) => Awaitable<{ readonly value: I; readonly issues?: undefined } | { readonly issues: readonly unknown[] }>;
    readonly jsonSchema: { readonly input: (options: { readonly target: string }) => Record<string, unknown> };
    readonly types?: { readonly input: Raw; readonly output: I } | undefined;
  };
}
/** A plain JSON Schema (draft 2020-12). What it describes is not inferred. */
export type JsonSchema = { readonly type: 'object' } & JsonObject;

// ------------------------------------------------------------------------------------------------ tools
/** What a tool does to the world. Left out, policies take the strictest: `write`, `untrusted`, every argument an authority. */
export interface Flow<K extends string = string> {
  readonly effect?: 'none' | 'read' | 'write' | 'send' | undefined;
  readonly results?: 'trusted' | 'untrusted' | undefined;
  /** Arguments that decide over where something goes or how much. */
  readonly authority?: readonly K[] | undefined;
}
/** {@link Flow}, with what holds where the author said nothing. */
export interface ResolvedFlow {
  readonly effect: 'none' | 'read' | 'write' | 'send';
  readonly results: 'trusted' | 'untrusted';
  readonly authority: readonly string[] | 'all';
  /** False: the author left it out, and the strictest was taken. */
  readonly declared: boolean;
}
/** The second argument of `execute`. */
export interface ToolInfo<out C = unknown> {
  readonly context: C;
  readonly run: string;
  readonly agent: string;
  /** `<turn>.<index>`. */
  readonly callId: string;
  /** `<run id>/<call id>`: the same over retries, resumes, rewrites and edits. */
  readonly idempotencyKey: string;
  /** Aborted at the call's deadline, and when the run ends. */
  readonly signal: AbortSignal;
  /**
   * Shown to watchers as `tool.progress`: words, or a step (a number from 0 to 1,000,000: how far the tool is, or which attempt this is).
   * Nobody judges it, so words are left out where a guardrail stands on the tool's output; a step is always shown.
   */
  progress(note: string | number): void;
}
/** A tool, as `defineTool` and `asTool` make it. */
export interface Tool<in C = never, out N extends string = string, out I = unknown, out A extends Route = never> {
  readonly name: N;
  readonly description: string;
  readonly [types]: { context(context: C): void; readonly input: I; readonly answers: A };
}
/** What is put around a tool is told this of a call. */
export interface AroundInfo<out C = unknown> extends Pick<ToolInfo<C>, 'context' | 'run' | 'agent' | 'callId'> {}
/** What {@link aroundTool} puts around a tool's `execute`. */
export interface AroundTool<in C = unknown> {
  /**
   * Makes of the parsed input what `execute` is given, before each attempt; what is logged, guarded and approved stays as it was. What it
   * throws is the tool's failure, and `execute` is not called.
   */
  readonly input?: ((input: unknown, info: AroundInfo<C>) => Awaitable<unknown>) | undefined;
  /**
   * Makes of each text that the tool gives another one, before anybody is shown it, guardrails included: of a result and its details (in
   * structured ones each string, name of a field and number), of words of failure, of the brief of a handoff. If it throws, or gives no text,
   * the result is withheld. Words for `progress` are left out, since they cannot wait for it.
   */
  readonly text?: ((text: string, info: AroundInfo<C>) => Awaitable<string>) | undefined;
  /**
   * Calls `execute`, once, and gives back what that gave: for what must surround it, such as the active span of a trace. Called at each
   * attempt, in the tool's deadline. What it throws is the tool's failure.
   */
  readonly within?: (<T>(execute: () => T, info: AroundInfo<C>) => T) | undefined;
}
/** A result with details for the application beside what the model sees. Made by {@link withDetails}. */
export interface Detailed<out R = unknown, out D = unknown> {
  readonly [types]: { readonly kind: 'detailed'; readonly output: R; readonly details: D };
}
/** A part of a result that says so. Made by {@link partial}. */
export interface PartialResult<out R = unknown> {
  readonly [types]: { readonly kind: 'partial'; readonly output: R };
}
/** What {@link partial} takes beside the part that is there. */
export interface PartialWords {
  /** One sentence: what this is a part of. For example `The 20 newest of 312 orders.` */
  readonly summary: string;
  /** One sentence: how the model comes by the rest. For example `Call again with page: 2.` */
  readonly more?: string | undefined;
}
/** How a tool failed. */
export interface ToolFailure {
  /** Default `failed`. */
  readonly errorClass?: ErrorClass | undefined;
  /** Whether the model may try again. Default false; said so, the tool is not tried again by `retry` either. */
  readonly retryable?: boolean | undefined;
}
/** Thrown or returned by a tool to say how it failed. Made by {@link toolError}; its message is what the model is told. */
export interface ToolError extends Error {
  readonly errorClass: ErrorClass;
  readonly retryable: boolean;
  readonly [types]: 'toolError';
}
/** The context and the answers that the handoffs in a tool's result bring along. */
type HandoffContext<R> = [Extract<Awaited<R>, Handoff>] extends [never]
  ? unknown
  : [Extract<Awaited<R>, Handoff>] extends [Handoff<infer C>]
    ? C
    : never;
type HandoffAnswers<R> = Awaited<R> extends infer Result ? (Result extends Handoff<never, infer A> ? A : never) : never;

/** The second argument of a projection. */
export interface ProjectionInfo<out C = unknown> {
  readonly context: C;
  readonly run: string;
  readonly tool: string;
  readonly callId: string;
  /** The guarded output as text. */
  readonly content: string;
  /** Names of the input fields of the agent's tools and handoffs, at any depth of their schemas. */
  readonly arguments: ReadonlySet<string>;
  readonly signal: AbortSignal;
  /** To be called by a projection that asks a model, with what each call took: it counts with the run's usage and limits. */
  used(share: ModelShare): void;
}
/** Makes of a tool's output what the model sees. A projection that names fields `K` fits a tool whose output has them. */
export interface Projection<in R = unknown, out K extends string = never, in C = unknown> {
  (output: R, info: ProjectionInfo<C>): Awaitable<string>;
  readonly [types]?: { readonly keep: K } | undefined;
}
/** What `execute` gives, without promises, handoffs, failures, details and words about what is missing. */
type Output<R> = Awaited<R> extends infer V ? (V extends Handoff | ToolError ? never : Unwrapped<Unwrapped<V>>) : never;
type Unwrapped<V> = V extends Detailed<infer X> ? X : V extends PartialResult<infer X> ? X : V;
type FieldOf<R> = unknown extends R ? string : R extends readonly (infer E)[] ? FieldOf<E> : R extends object ? keyof R & string : string;
type KeyOf<T> = T extends unknown ? keyof T & string : never;

/** The second argument of `approval`. */
export interface CallInfo<out C = unknown> {
  readonly context: C;
  readonly callId: string;
  readonly signal: AbortSignal;
}
/** How a tool that may run twice is tried again when it fails in a way that may pass. */
export interface ToolRetry {
  /** Attempts at one call, the first included. Default 3. */
  readonly attempts?: number | undefined;
  /** The longest wait before the second attempt, milliseconds; it doubles with each one, and each wait is random up to it. Default 200. */
  readonly backoffMs?: number | undefined;
  /** No wait is longer, milliseconds. Default 5,000. */
  readonly maxBackoffMs?: number | undefined;
  /**
   * Classes of failures after which it is tried again: those that say `retryable: true`, and `timeout`, `unavailable` and `rate_limited`
   * unless they say `retryable: false`. Default `timeout`, `unavailable`, `rate_limited` and `failed`.
   */
  readonly on?: readonly ErrorClass[] | undefined;
}
interface ToolOptions<C, N extends string, I extends object, Raw, R> {
  readonly name: N;
  /** Tells the model when and how to use it. */
  readonly description: string;
  /** `true`: a person decides. A function is asked about the parsed input, after the guardrails; if it throws, a person decides. */
  readonly approval?: boolean | ((input: I, info: CallInfo<C>) => Awaitable<boolean>) | undefined;
  readonly project?: Projection<NoInfer<Output<R>>, NoInfer<FieldOf<Output<R>>>, C> | undefined;
  /** Its own guardrails: on `toolInput` and `toolOutput` only. */
  readonly guardrails?: readonly Guardrail<C, 'toolInput' | 'toolOutput'>[] | undefined;
  readonly flow?: Flow<KeyOf<Raw>> | undefined;
  /** Deadline of one call, with all its attempts, milliseconds. Default: none. */
  readonly timeoutMs?: number | undefined;
  /** It may safely run twice for one call. Default: true for `flow.effect` `read` and `none`, else false. */
  readonly repeatable?: boolean | undefined;
  /**
   * Tries `execute` again, with the same `idempotencyKey`, where it fails in a way that may pass; only the last failure is told. For a tool
   * that may run twice. All attempts and waits share `timeoutMs`. Default: one attempt.
   */
  readonly retry?: ToolRetry | undefined;
  /** Equal calls are expected: the repeat defence leaves it alone. */
  readonly polling?: boolean | undefined;
  /** Offered to the model or not, in this turn. */
  readonly enabled?: boolean | ((info: TurnInfo<C>) => boolean) | undefined;
  /** What the model is told when a person rejects a call without words. */
  readonly rejection?: string | undefined;
  /** The result is the run's answer. */
  readonly endsRun?: boolean | undefined;
  /**
   * Whether the provider holds the model to the schema of the input while it writes. `auto` (the default): where that form of the schema
   * means the same; `true`: always, and a schema that has no such form is refused; `false`: never. The input is checked in any case.
   */
  readonly strict?: boolean | 'auto' | undefined;
}
/** A schema that takes what `execute` gives. */
type OutputSchema<R, W> = unknown extends R
  ? $ZodType<unknown, W> | StandardSchema<unknown, W>
  : [R] extends [W]
    ? $ZodType<unknown, W> | StandardSchema<unknown, W>
    : Only<'what `execute` gives does not fit `output`'>;
/** What `defineTool` takes. */
export interface ToolDef<C, N extends string, I extends object, Raw, R, W = unknown> extends ToolOptions<C, N, I, Raw, R> {
  readonly input: $ZodType<I, Raw> | StandardSchema<I>;
  /** What it returns. A result that does not fit becomes the error `bad_result`. */
  readonly output?: OutputSchema<NoInfer<Output<R>>, W> | undefined;
  /** Called at most once for a call, unless the tool is repeatable. What it throws is told to the model as the tool's own words. */
  readonly execute: (input: I, info: ToolInfo<C>) => R;
}
/** A tool without `execute`: the caller runs it and gives its result to `resume`. */
export interface CallerToolDef<C, N extends string, I extends object, Raw> extends ToolOptions<C, N, I, Raw, unknown> {
  readonly input: $ZodType<I, Raw> | StandardSchema<I>;
  readonly output?: $ZodType | StandardSchema | undefined;
  readonly execute?: undefined;
}
/** A tool whose input is a plain JSON Schema: its `execute` gets a JSON object. */
export interface JsonToolDef<C, N extends string, R> extends ToolOptions<C, N, JsonObject, Record<string, unknown>, R> {
  readonly input: JsonSchema;
  readonly output?: $ZodType | StandardSchema | JsonSchema | undefined;
  /** Left out: the caller runs the tool. */
  readonly execute?: ((input: JsonObject, info: ToolInfo<C>) => R) | undefined;
}

// ------------------------------------------------------------------------------------------------ handoffs
/** A handoff, as {@link handoff} makes it: an entry of an agent's `handoffs`, or what a tool returns. */
export interface Handoff<in C = never, out A extends Route = Route> {
  readonly [types]: { readonly kind: 'handoff'; context(context: C): void; readonly answers: A };
}
/** The second argument of a handoff's `history`. */
export interface HistoryInfo<out C = unknown> {
  readonly context: C;
  readonly from: string;
  readonly to: string;
  readonly signal: AbortSignal;
}
/** What the target of a handoff sees of the history: messages it was given, in their order. It may not part a call from its result. */
export type HistoryFilter<C = unknown> = (messages: readonly Message[], info: HistoryInfo<C>) => Awaitable<readonly Message[]>;
/** What {@link handoff} takes beside the target. */
export interface HandoffDef<I = unknown, C = unknown> {
  /** Of the tool that the model calls. Default `transfer_to_<agent>`. */
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** Arguments that the model gives along. */
  readonly input?: $ZodType<I> | StandardSchema<I> | undefined;
  /** What the target is told, or what makes it of the arguments. Default: their JSON, or `Handed off from NAME.` */
  readonly brief?: string | ((input: I) => string) | undefined;
  /** What the target sees of the history. Default: everything. */
  readonly history?: HistoryFilter<C> | undefined;
  readonly enabled?: boolean | ((info: TurnInfo<C>) => boolean) | undefined;
}

// ------------------------------------------------------------------------------------------------ policy
/** The second argument of a rule's `when`. */
export interface PolicyInfo<out C = unknown> {
  readonly context: C;
  readonly tool: string;
  readonly agent: string;
  readonly flow: ResolvedFlow;
  readonly labels: { readonly subject: Label; readonly view: Label };
  readonly untrustedReads: readonly UntrustedRead[];
  readonly signal: AbortSignal;
}
/** What a rule answers. */
export type PolicyAction = 'allow' | 'ask' | 'deny' | 'halt';
/** What a rule is about: a tool, or the names that fit a pattern. */
export type RuleTool = Tool<never, string, unknown, Route> | string;
/** One rule of a policy. */
export interface PolicyRule<C, T> {
  readonly tool: T;
  /** Whether the rule fits this call; left out: always. Answers at once. If it throws, the call is refused. */
  readonly when?: ((input: T extends Tool<never, string, infer I, Route> ? I : unknown, info: PolicyInfo<C>) => boolean) | undefined;
  readonly then: PolicyAction;
  readonly reason?: string | undefined;
}
/** Rules are tried in order; the first that fits answers. */
export interface PolicyDef<C, T extends readonly unknown[]> {
  readonly name: string;
  readonly version?: string | undefined;
  readonly rules: { readonly [K in keyof T]: PolicyRule<C, T[K]> };
  readonly otherwise: PolicyAction;
  readonly shadow?: boolean | undefined;
}

// ------------------------------------------------------------------------------------------------ modes
/** How an agent's answers are read, as {@link defineMode} makes it. */
export interface Mode {
  readonly name: string;
  readonly [types]: 'mode';
}
/** The second argument of a mode's `instructions`. */
export interface ModeInfo {
  /** All that is offered to the model, the call that ends the run included; what depends on the turn too. */
  readonly tools: readonly OfferedTool[];
  /** The name of the call that ends the run. */
  readonly stop: string;
}
/**
 * What `defineMode` takes. In a mode each action needs a thought that says what it is for: in the answer's text, in the model's reasoning,
 * or in an argument. Text is a thought and never the answer; only the call `stop` ends the run.
 */
export interface ModeDef {
  readonly name: string;
  /** The call that ends the run with the answer. Its arguments are the agent's `output` where that is an object, else `{ answer }`. Default name `final_answer`. */
  readonly stop?: { readonly name?: string | undefined; readonly description?: string | undefined } | undefined;
  /** A required argument of this name is added to each tool for the thought, and taken off before the rest is parsed. Default: none. */
  readonly thoughtArgument?: string | undefined;
  /** `limits.turns` of runs that start at the agent and have no other. Default: that of any run, 8. */
  readonly turns?: number | undefined;
  /** Makes the system text of the agent's instructions: where the contract is put to the model. Default: the instructions. */
  readonly instructions?: ((instructions: string, info: ModeInfo) => string) | undefined;
  /** Put around the agent's model: for one that has no calls of its own. */
  readonly model?: ((model: Model) => Model) | undefined;
}

// ------------------------------------------------------------------------------------------------ monitors
/** What a monitor has found. It is recorded as `monitor.alert` before the next model call. */
export interface Finding {
  /** What kind of thing, for logs and dashboards: `same-calls`. */
  readonly sign: string;
  /** One sentence for the model and for people. Holds no outside value. */
  readonly reason: string;
  /**
   * `note`: the model is told with its next request. `ask`: a person decides about the calls of the next answer. `finalize`: one last answer is
   * asked for, without calls, and the run is `exhausted` with it. `stop`: it is `exhausted` at once. Default `nothing`: it is recorded.
   */
  readonly then?: 'nothing' | 'note' | 'ask' | 'finalize' | 'stop' | undefined;
}
/** Watches how a run goes, as {@link defineMonitor} makes it. */
export interface Monitor {
  readonly name: string;
  readonly [types]: 'monitor';
}
/** What `defineMonitor` takes. */
export interface MonitorDef {
  /** Unique in its agent. Stands in the log. */
  readonly name: string;
  /**
   * Called once for each stay of the agent in a run, again after a cut; gives a function that is told each durable event of the run, in order,
   * shortly before the next model call. It keeps its own counts, answers at once, and depends on nothing but the events. One that throws is
   * told as `observer.error` and changes nothing.
   */
  readonly start: () => (event: LogEvent) => Finding | undefined;
}

// ------------------------------------------------------------------------------------------------ agents
/** An agent, as `defineAgent` makes it. */
export interface Agent<in C = never, out A extends Route = Answer> {
  readonly name: string;
  readonly description: string | undefined;
  readonly [types]: { context(context: C): void; readonly answers: A };
}
type AnswersOf<T> =
  T extends Agent<never, infer A>
    ? A
    : T extends Handoff<never, infer A>
      ? A
      : T extends Tool<never, string, unknown, infer A>
        ? A
        : T extends string
          ? Unresolved<T>
          : never;
type NamesIn<A> = A extends Answer<infer N> ? N : never;
/** All answers reachable from an agent; a name that is now known is resolved. Written out in a field, not as an alias: editors then show the union, not the alias. */
export interface Answers<N extends string, O, T, H> {
  readonly all: Answer<N, O> | AnswersOf<T> | AnswersOf<H> extends infer A extends Route
    ? A extends Unresolved<infer M>
      ? M extends N | NamesIn<AnswersOf<T> | AnswersOf<H>>
        ? never
        : A
      : A
    : never;
}
/** What functions that are asked before each model call are told. */
export interface TurnInfo<out C = unknown> {
  readonly context: C;
  readonly turn: number;
}
/** What `defineAgent` takes. */
export interface AgentDef<C, N extends string, O, T, H> {
  /** Unique among the agents reachable from each other. */
  readonly name: N;
  /** Tells other agents when to hand over to it. */
  readonly description?: string | undefined;
  /** Computed once per activation of the agent. */
  readonly instructions: string | ((info: { readonly context: C; readonly signal: AbortSignal }) => Awaitable<string>);
  /** Or a function, asked before each model call. */
  readonly model: Model | ((info: TurnInfo<C>) => Model);
  /** Or a function, asked before each model call. */
  readonly settings?: ModelSettings | ((info: TurnInfo<C>) => ModelSettings) | undefined;
  readonly tools?: readonly T[] | undefined;
  readonly handoffs?: readonly H[] | undefined;
  readonly guardrails?: readonly Guardrail<C>[] | undefined;
  /** The answer's schema. Default: text. */
  readonly output?: $ZodType<O> | StandardSchema<O> | undefined;
  /** What the person is told when something is refused and the guardrail gave no reply. */
  readonly refusal?: string | undefined;
  /** How its answers are read: `react()`, `textReact()`, or one made by {@link defineMode}. Default: an answer without calls is final. */
  readonly mode?: Mode | undefined;
  /** They look at what has happened before each model call but the first: `stuck()`, or one made by {@link defineMonitor}. */
  readonly monitors?: readonly Monitor[] | undefined;
  /** Tools that the provider executes itself, which no guardrail can see. */
  readonly providerTools?: readonly { readonly name: string; readonly unguarded: true }[] | undefined;
}

// ------------------------------------------------------------------------------------------------ the define functions
/** The define functions, for one context type. */
export interface Definers<C> {
  readonly defineAgent: <
    const N extends string,
    O = string,
    T extends Tool<C, string, unknown, Route> = never,
    H extends Agent<C, Route> | Handoff<C, Route> | string = never,
  >(
    def: AgentDef<C, N, O, T, H>,
  ) => Agent<C, Answers<N, O, T, H>['all']>;
  readonly defineTool: {
    // The usual one last: a compiler's message is about the last.
    <const N extends string, R>(def: JsonToolDef<C, N, R>): Tool<C & HandoffContext<R>, N, JsonObject, HandoffAnswers<R>>;
    <const N extends string, I extends object, Raw>(def: CallerToolDef<C, N, I, Raw>): Tool<C, N, I>;
    <const N extends string, I extends object, Raw, R, W = unknown>(
      def: ToolDef<C, N, I, Raw, R, W>,
    ): Tool<C & HandoffContext<R>, N, I, HandoffAnswers<R>>;
  };
  readonly defineGuardrail: <const S extends Surface>(def: GuardrailDef<C, S>) => Guardrail<C, S>;
  readonly definePolicy: <const T extends readonly RuleTool[]>(def: PolicyDef<C, T>) => Guardrail<C, 'toolInput'>;
}
/** A child run that has ended, for the `result` of {@link AsToolOptions}. */
export interface ChildRun {
  readonly status: 'completed' | 'blocked' | 'exhausted' | 'failed';
  readonly run: string;
  /** The agent that was active at the end. */
  readonly agent: string;
  /** Of a completed one: the answer's text; of a structured answer, its JSON. */
  readonly text?: string | undefined;
  /** Of a completed one: the answer. */
  readonly output?: unknown;
  /** Of any other: how it ended, in a sentence. */
  readonly summary?: string | undefined;
  /** Its events, and those of its own child runs. */
  readonly events: readonly LogEvent[];
}
/** What {@link asTool} takes beside the agent. */
export interface AsToolOptions<N extends string, I> {
  readonly name: N;
  readonly description: string;
  readonly input?: $ZodType<I> | StandardSchema<I> | undefined;
  /** Makes the child's input of the arguments. Default: `input.input`, or the arguments' JSON. */
  readonly brief?: ((input: I) => string) | undefined;
  /** Of the child run: its own `turns`, `handoffs`, `repairs`, `repeats`. */
  readonly limits?: { readonly [K in keyof Limits]?: number | undefined } | undefined;
  /** Show the child's watch-only events in the parent's stream. Default false. */
  readonly stream?: boolean | undefined;
  /**
   * Makes the call's result of the child run that has ended, however it did, unless by a halt or with the run above. It depends on nothing but
   * what it is given, may be async, and what it gives is guarded as any result; a `toolError` that it gives or throws fails the call. Asked
   * again where the log was cut before the call's end. Default: the answer, or an error that says how the run ended.
   */
  readonly result?: ((child: ChildRun, input: I) => unknown) | undefined;
  /**
   * `shared`: its child runs do nothing twice that a child run of the same caller has done. A declared write or send with an equal input is
   * not run again: the call ends with what the earlier one gave, or waits for a person where that failed, is not over, or stood under other
   * guardrails. Default `apart`: the rule about equal calls holds in each child run by itself.
   */
  readonly effects?: 'apart' | 'shared' | undefined;
  readonly project?: Projection | undefined;
}
