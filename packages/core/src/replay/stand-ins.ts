import { agentSpecOf } from '../define/definition.js';
import { resolveAgents } from '../define/resolve.js';
import type { AgentSpec, GuardrailSpec, ToolSpec } from '../define/specs.js';
import { undeclaredFlow } from '../define/tool.js';
import { GuardloopError } from '../errors.js';
import type { Model } from '../model/types.js';
import type { CompiledSchema } from '../schema.js';
import type { LogEvent } from '../state/events.js';

/** Guardrails of a replay, read and checked. */
export interface ReadSet {
  readonly run: readonly GuardrailSpec[];
  readonly agents: ReadonlyMap<string, readonly GuardrailSpec[]>;
  readonly tools: ReadonlyMap<string, readonly GuardrailSpec[]>;
}

const noGuardrails: readonly GuardrailSpec[] = Object.freeze([]);

const model: Model = Object.freeze({
  id: 'replay',
  provider: 'replay',
  stream(): never {
    throw new GuardloopError('INTERNAL', 'A replay asked a model. It never does; report this.');
  },
});

/** What a tool takes whose schema is not known: anything, as the model wrote it. */
const anyInput: CompiledSchema = Object.freeze({
  json: Object.freeze({ type: 'object' }),
  parse: (value: unknown) => ({ ok: true as const, value }),
  withoutAbsent: <V>(value: V) => value,
  required: false,
});

/** A tool that can be guarded and not run. */
function standInTool(name: string, guardrails: readonly GuardrailSpec[]): ToolSpec {
  return {
    kind: 'tool',
    name,
    description: '',
    input: anyInput,
    output: undefined,
    approval: false,
    execute: undefined,
    project: undefined,
    guardrails,
    flow: undeclaredFlow,
    timeoutMs: undefined,
    retry: undefined,
    repeatable: false,
    declaredRepeatable: false,
    polling: false,
    enabled: true,
    rejection: undefined,
    endsRun: false,
    strict: 'auto',
    agent: undefined,
  };
}

/** The agents that can be reached from one, those used as tools included. */
export function knownAgents(start: unknown): readonly AgentSpec[] {
  if (start === undefined) return [];
  const found = new Set<AgentSpec>();
  const visit = (agent: AgentSpec): void => {
    for (const each of resolveAgents(agent).values()) {
      if (found.has(each)) continue;
      found.add(each);
      for (const tool of each.tools) if (tool.agent) visit(tool.agent.agent);
    }
  };
  visit(agentSpecOf(start, 'The option `agent` of compareVerdicts'));
  return [...found];
}

/** Agents by name, as a log needs them: with the guardrails of the set, and without anything that acts. */
export class StandIns {
  readonly agents = new Map<string, AgentSpec>();
  /** Names of all tools that the log names. */
  readonly tools = new Set<string>();

  constructor(
    private readonly set: ReadSet,
    private readonly known: readonly AgentSpec[],
  ) {}

  /** Makes room for all that the log names. */
  prepare(events: readonly LogEvent[]): void {
    const tools = new Map<string, Set<string>>();
    const toolsOf = (agent: string): Set<string> => {
      const names = tools.get(agent) ?? new Set();
      tools.set(agent, names);
      return names;
    };
    for (const event of events) {
      const names = toolsOf(event.agent);
      if (event.type === 'tool.end' || event.type === 'tool.start') names.add(event.tool);
      if (event.type === 'handoff') toolsOf(event.to);
      if (event.type !== 'model.end') continue;
      for (const call of event.calls) {
        if (call.handoff) toolsOf(call.handoff.to);
        else if (call.kind !== 'unknown' && call.kind !== 'handoff') names.add(call.name);
      }
    }
    for (const [agent, names] of tools) {
      this.agents.set(agent, this.make(agent, names));
      for (const name of names) this.tools.add(name);
    }
  }

  private make(name: string, tools: ReadonlySet<string>): AgentSpec {
    const known = this.known.find((agent) => agent.name === name);
    const own = known?.tools ?? [];
    const guardsOf = (tool: string) => this.set.tools.get(tool) ?? noGuardrails;
    return {
      kind: 'agent',
      name,
      description: undefined,
      instructions: '',
      model,
      settings: {},
      tools: [
        ...own.map(
          (tool): ToolSpec => ({ ...tool, guardrails: guardsOf(tool.name), execute: undefined, agent: undefined, project: undefined }),
        ),
        ...[...tools].filter((tool) => !own.some((each) => each.name === tool)).map((tool) => standInTool(tool, guardsOf(tool))),
      ],
      handoffs: [],
      guardrails: this.set.agents.get(name) ?? noGuardrails,
      output: known?.output,
      refusal: undefined,
      providerTools: [],
      mode: undefined,
      monitors: undefined,
    };
  }
}
