import type { AgentSpec, GuardrailSpec, HandoffSpec, ToolSpec } from '../define/specs.js';
import type { Label, ToolSpec as OfferedTool } from '../model/types.js';
import type { GuardLevel, Manifest } from '../state/events.js';

/** A guardrail, and who declared it. */
export interface Placed {
  readonly spec: GuardrailSpec;
  readonly level: GuardLevel;
}

/** What a name that the model calls stands for. */
export type Offered = { readonly kind: 'tool'; readonly spec: ToolSpec } | { readonly kind: 'handoff'; readonly spec: HandoffSpec };

/** What the guardrails and tools of one agent come to under one set of run-level guardrails. Shared by all its runs. */
export interface Stand {
  readonly agent: AgentSpec;
  readonly runGuards: readonly GuardrailSpec[];
  readonly manifest: Manifest;
  /** Of what the agent's model says. Frozen. */
  readonly labels: { readonly trusted: Label; readonly untrusted: Label };
  readonly input: readonly Placed[];
  readonly output: readonly Placed[];
  readonly handoff: readonly Placed[];
  readonly toolInput: ReadonlyMap<string, readonly Placed[]>;
  readonly toolOutput: ReadonlyMap<string, readonly Placed[]>;
  readonly tools: readonly { readonly offered: Offered; readonly wire: OfferedTool; readonly isFixed: boolean }[];
  readonly names: ReadonlyMap<string, Offered>;
  /** The call that ends the run, in an agent whose mode has one. */
  readonly stop: OfferedTool | undefined;
  /** Undefined when what is offered depends on the turn. */
  readonly wire: readonly OfferedTool[] | undefined;
}

/** A stay of one agent in one run. */
export interface Plan {
  readonly stand: Stand;
  readonly instructions: string;
}
