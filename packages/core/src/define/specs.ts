// What the define functions leave for the loop: checked, resolved, without the types that users see.

import type { Model, ModelSettings } from '../model/types.js';
import type { CompiledSchema } from '../schema.js';
import type { ErrorClass, GuardEntry, Limits, LogEvent, Surface } from '../state/events.js';
import type { Breaker } from './breaker.js';
import type {
  AroundTool,
  Awaitable,
  CallInfo,
  ChildRun,
  Finding,
  GuardInfo,
  HistoryFilter,
  ModeInfo,
  ProjectionInfo,
  ResolvedFlow,
  Subject,
  ToolInfo,
  TurnInfo,
} from './types.js';

/** The spec of a defined thing stands under this symbol, non-enumerable. The same over copies of the package. */
export const spec: unique symbol = Symbol.for('guardloop.spec') as never;

export interface GuardrailSpec {
  readonly kind: 'guardrail';
  readonly name: string;
  readonly version: string | undefined;
  readonly on: readonly Surface[];
  readonly timeoutMs: number;
  readonly onError: 'deny' | 'halt' | 'allow';
  /** Its state is shared by all runs. */
  readonly breaker: Breaker | undefined;
  readonly shadow: boolean;
  readonly beside: boolean;
  readonly window: number | undefined;
  /** True for every tool when no patterns were given. */
  readonly matchesTool: (tool: string) => boolean;
  /** Patterns given; undefined: all. */
  readonly tools: readonly string[] | undefined;
  readonly rewrite: ((subject: Subject, info: GuardInfo) => unknown) | undefined;
  readonly check: ((subject: Subject, info: GuardInfo) => unknown) | undefined;
  /** For manifests. */
  readonly entry: GuardEntry;
  /** Tool names and patterns of a policy's rules, to be found among the agent's tools. */
  readonly ruleTools: readonly string[] | undefined;
  /** The same of any other guardrail. */
  readonly expects: readonly string[] | undefined;
}
export type ProjectFunction = (output: never, info: ProjectionInfo) => Awaitable<string>;
export interface ToolSpec {
  readonly kind: 'tool';
  readonly name: string;
  readonly description: string;
  readonly input: CompiledSchema;
  readonly output: CompiledSchema | undefined;
  readonly approval: boolean | ((input: never, info: CallInfo) => Awaitable<boolean>);
  /** Undefined: the caller runs it. */
  readonly execute: ((input: never, info: ToolInfo) => unknown) | undefined;
  readonly project: ProjectFunction | undefined;
  readonly guardrails: readonly GuardrailSpec[];
  readonly flow: ResolvedFlow;
  readonly timeoutMs: number | undefined;
  /** Undefined: one attempt. */
  readonly retry: RetrySpec | undefined;
  /** May run twice for one call: declared, or `flow.effect` `read` or `none` (an agent resumes instead). */
  readonly repeatable: boolean;
  /** `repeatable: true` was written by the author. */
  readonly declaredRepeatable: boolean;
  readonly polling: boolean;
  readonly enabled: boolean | ((info: TurnInfo) => boolean);
  readonly rejection: string | undefined;
  readonly endsRun: boolean;
  readonly strict: boolean | 'auto';
  /** Set by `asTool`. */
  readonly agent: AgentToolSpec | undefined;
  /** Set by `aroundTool`. */
  readonly around?: AroundSpec | undefined;
}
export interface AroundSpec {
  readonly input: AroundTool['input'];
  readonly text: AroundTool['text'];
  readonly within: AroundTool['within'];
}
export interface RetrySpec {
  readonly attempts: number;
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  readonly on: ReadonlySet<ErrorClass>;
}
export interface AgentToolSpec {
  readonly agent: AgentSpec;
  readonly brief: (input: never) => string;
  readonly limits: { readonly [K in keyof Limits]?: number | undefined };
  readonly stream: boolean;
  readonly result: ((child: ChildRun, input: never) => unknown) | undefined;
  readonly sharesEffects: boolean;
}
export interface HandoffSpec {
  readonly kind: 'handoff';
  /** An agent, or the name of one that is reachable from the start. */
  readonly target: AgentSpec | string;
  /** Of the generated tool. */
  readonly name: string;
  readonly description: string | undefined;
  readonly input: CompiledSchema | undefined;
  /** Undefined: the arguments' JSON where there are any, else `Handed off from NAME.` */
  readonly brief: ((input: never) => string) | undefined;
  readonly history: HistoryFilter | undefined;
  readonly enabled: boolean | ((info: TurnInfo) => boolean);
}
/** What a tool's `execute` returned by `handoff(agent, { brief, history })`. */
export interface ReturnedHandoff extends HandoffSpec {
  readonly text: string | undefined;
}
export interface AgentSpec {
  readonly kind: 'agent';
  readonly name: string;
  readonly description: string | undefined;
  readonly instructions: string | ((info: { readonly context: unknown; readonly signal: AbortSignal }) => Awaitable<string>);
  readonly model: Model | ((info: TurnInfo) => Model);
  readonly settings: ModelSettings | ((info: TurnInfo) => ModelSettings);
  readonly tools: readonly ToolSpec[];
  readonly handoffs: readonly HandoffSpec[];
  readonly guardrails: readonly GuardrailSpec[];
  readonly output: CompiledSchema | undefined;
  readonly refusal: string | undefined;
  readonly providerTools: readonly string[];
  /** Undefined: an answer without calls is final. */
  readonly mode: ModeSpec | undefined;
  /** Undefined: none. */
  readonly monitors: readonly MonitorSpec[] | undefined;
}
/** What watches how a run goes. */
export interface MonitorSpec {
  readonly kind: 'monitor';
  readonly name: string;
  /** Called once for each stay of the agent; what it gives is told each event of the run from then on, in order. */
  readonly start: () => (event: LogEvent) => Finding | undefined;
}
/** How an agent's answers are read. */
export interface ModeSpec {
  readonly kind: 'mode';
  readonly name: string;
  /** The call that ends the run. */
  readonly stop: string;
  readonly stopDescription: string;
  /** Added to each tool for the thought, and taken off before it is parsed. */
  readonly argument: string | undefined;
  readonly turns: number | undefined;
  readonly instructions: ((instructions: string, info: ModeInfo) => string) | undefined;
  readonly model: ((model: Model) => Model) | undefined;
  /** Wrapped once. */
  readonly models: WeakMap<Model, Model>;
}
export type Spec = AgentSpec | ToolSpec | GuardrailSpec | HandoffSpec;
