import type { JsonObject, Model, StrictRules } from '../model/types.js';
import type { CompiledSchema } from '../schema.js';
import { describeRefusal, strictForm } from '../schema.js';
import type { Surface } from '../state/events.js';
import { agentSpecOf } from './definition.js';
import { DefinitionReader, property } from './definition-reader.js';
import { readGuardrails } from './guardrail.js';
import { reachOf } from './resolve.js';
import type { AgentSpec, GuardrailSpec, ToolSpec } from './specs.js';
import type { Agent, Guardrail, Route } from './types.js';

/** Whether a provider holds the model to a schema while it writes. What it writes is checked in any case. */
export interface StrictCoverage {
  /** The tool's `strict`; `auto` for a structured answer. */
  readonly asked: boolean | 'auto';
  /** The schema is said in the provider's strict form. Else it goes as it is or, for an answer, as an instruction. */
  readonly isStrict: boolean;
  /** Why it has no strict form: where, the keyword, what to do. */
  readonly why?: string | undefined;
}
/** Which guardrails stand before one agent, or before one of its tools. */
export interface Coverage {
  readonly agent: string;
  /** From the start to this agent, through agents that are used as tools. */
  readonly agentPath: readonly string[];
  /** Left out in the agent's own entry. */
  readonly tool?: string | undefined;
  /** The provider runs the tool: no guardrail can see it. */
  readonly isProviderTool?: true | undefined;
  /**
   * Names in the order in which they are asked: the run's, the agent's, the tool's. An agent has `input`, `handoff` and `output`, a tool has
   * `toolInput` and `toolOutput`. Guardrails in `shadow` are not among them: nobody obeys them.
   */
  readonly surfaces: { readonly [S in Surface]?: readonly string[] };
  /**
   * Surfaces with no guardrail. `handoff` is among them only where the agent hands over to one that has none on `handoff` either.
   * For a tool that the provider runs: `toolInput` and `toolOutput`.
   */
  readonly unguarded: readonly Surface[];
  /**
   * In a tool's entry about its input, in an agent's about its `output`. Left out where there is no schema, where the agent's model is a
   * function, and where its adapter does not say what its provider can be held to.
   */
  readonly strict?: StrictCoverage | undefined;
}
/** What {@link coverage} takes beside the agent. */
export interface CoverageOptions {
  /** The run's guardrails, as `run` gets them. */
  readonly guardrails?: readonly Guardrail[] | undefined;
}

/**
 * For the agent, every agent that handoffs lead to, every agent used as a tool and every tool: which guardrails stand on which surface.
 * Agents that a tool hands over to by what it returns are not known before a run. Throws CONFIG_INVALID.
 */
export function coverage(agent: Agent<never, Route>, options: CoverageOptions = {}): readonly Coverage[] {
  const start = agentSpecOf(agent, 'The first argument of coverage');
  const reader = new DefinitionReader({ place: 'The call of coverage' }, options, ['guardrails']);
  return coverageOf(start, readGuardrails(reader.list('guardrails'), 'the run'));
}

/** As `coverage`, of specs. */
export function coverageOf(start: AgentSpec, runGuardrails: readonly GuardrailSpec[]): readonly Coverage[] {
  const entries: Coverage[] = [];
  const seen = new Set<AgentSpec>();
  const visit = (root: AgentSpec, path: readonly string[]): void => {
    for (const agent of reachOf(root).agents.values()) {
      if (seen.has(agent)) continue;
      seen.add(agent);
      const agentPath = Object.freeze([...path, agent.name]);
      const place: Place = { agent, agentPath, runGuardrails };
      entries.push(
        agentEntry(place, reachOf(root).agents),
        ...agent.tools.map((tool) => toolEntry(place, tool)),
        ...agent.providerTools.map((tool) => providerEntry(place, tool)),
      );
      for (const tool of agent.tools) if (tool.agent !== undefined) visit(tool.agent.agent, agentPath);
    }
  };
  visit(start, []);
  return Object.freeze(entries);
}

interface Place {
  readonly agent: AgentSpec;
  readonly agentPath: readonly string[];
  readonly runGuardrails: readonly GuardrailSpec[];
}

const namesOn = (surface: Surface, guardrails: readonly GuardrailSpec[]): readonly string[] =>
  Object.freeze(guardrails.filter((guardrail) => !guardrail.shadow && guardrail.on.includes(surface)).map(({ name }) => name));

function agentEntry({ agent, agentPath, runGuardrails }: Place, known: ReadonlyMap<string, AgentSpec>): Coverage {
  const guardrails = [...runGuardrails, ...agent.guardrails];
  const surfaces = { input: namesOn('input', guardrails), handoff: namesOn('handoff', guardrails), output: namesOn('output', guardrails) };
  const targets = agent.handoffs.map(({ target }) => (typeof target === 'string' ? known.get(target) : target));
  const isOpenHandoff =
    surfaces.handoff.length === 0 && targets.some((target) => namesOn('handoff', target?.guardrails ?? []).length === 0);
  const unguarded: Surface[] = (['input', 'output'] as const).filter((surface) => surfaces[surface].length === 0);
  if (isOpenHandoff) unguarded.push('handoff');
  return Object.freeze({
    agent: agent.name,
    agentPath,
    surfaces: Object.freeze(surfaces),
    unguarded: Object.freeze(unguarded),
    ...strictEntry(agent.output, 'auto', rulesOf(agent)?.output),
  });
}

function toolEntry({ agent, agentPath, runGuardrails }: Place, tool: ToolSpec): Coverage {
  const guardrails = [...runGuardrails, ...agent.guardrails, ...tool.guardrails].filter((guardrail) => guardrail.matchesTool(tool.name));
  const surfaces = { toolInput: namesOn('toolInput', guardrails), toolOutput: namesOn('toolOutput', guardrails) };
  const unguarded = (['toolInput', 'toolOutput'] as const).filter((surface) => surfaces[surface].length === 0);
  return Object.freeze({
    agent: agent.name,
    agentPath,
    tool: tool.name,
    surfaces: Object.freeze(surfaces),
    unguarded: Object.freeze(unguarded),
    ...strictEntry(tool.input, tool.strict, rulesOf(agent)?.tools),
  });
}

function rulesOf({ model }: AgentSpec): Model['strictRules'] {
  return typeof model === 'function' ? undefined : model.strictRules;
}

function strictEntry(
  schema: CompiledSchema | undefined,
  asked: StrictCoverage['asked'],
  rules: StrictRules | undefined,
): { readonly strict?: StrictCoverage } {
  // Undefined where a schema is still being converted.
  const json = property(schema, 'json') as JsonObject | undefined;
  if (json === undefined || rules === undefined) return {};
  if (asked === false) return { strict: Object.freeze({ asked, isStrict: false }) };
  const form = strictForm(json, rules);
  const why = form.isStrict ? {} : { why: describeRefusal(form) };
  return { strict: Object.freeze({ asked, isStrict: form.isStrict, ...why }) };
}

function providerEntry({ agent, agentPath }: Place, tool: string): Coverage {
  const unguarded = Object.freeze(['toolInput', 'toolOutput'] as const);
  return Object.freeze({ agent: agent.name, agentPath, tool, isProviderTool: true, surfaces: Object.freeze({}), unguarded });
}
