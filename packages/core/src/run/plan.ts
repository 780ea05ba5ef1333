import { checkModel } from '../define/agent-model.js';
import { checkSettings } from '../define/agent-settings.js';
import { atOnce } from '../define/at-once.js';
import { refuseSharedNames } from '../define/guardrail.js';
import { modelInMode, stopTool, withThought } from '../define/mode.js';
import type { AgentSpec, GuardrailSpec, HandoffSpec, ToolSpec } from '../define/specs.js';
import { GuardloopError } from '../errors.js';
import { mergeSettings } from '../model/merge-settings.js';
import type { Model, ModelSettings, ToolSpec as OfferedTool } from '../model/types.js';
import { readObservationTool } from '../project/spill.js';
import { canonicalJson } from '../state/canonical-json.js';
import { shortDigest } from '../state/definitions.js';
import type { Definitions, GuardEntry, Manifest, Surface } from '../state/events.js';
import type { RunHandle } from './handle.js';
import { isPromise } from './is-promise.js';
import { deepFreeze } from './plain-output.js';
import type { Offered, Placed, Plan, Stand } from './stand.js';

const stands = new WeakMap<AgentSpec, Stand>();
const noInput = { type: 'object', properties: {}, additionalProperties: false } as const;

export function standOf(agent: AgentSpec, runGuards: readonly GuardrailSpec[]): Stand {
  const known = stands.get(agent);
  if (known?.runGuards === runGuards) return known;
  const stand = buildStand(agent, runGuards);
  stands.set(agent, stand);
  return stand;
}

function buildStand(agent: AgentSpec, runGuards: readonly GuardrailSpec[]): Stand {
  refuseSharedNames([...runGuards, ...agent.guardrails], `by the run and agent ${agent.name}`);
  const common: Placed[] = [
    ...runGuards.map((spec) => ({ spec, level: 'run' as const })),
    ...agent.guardrails.map((spec) => ({ spec, level: 'agent' as const })),
  ];
  const on = (surface: Surface): Placed[] => common.filter(({ spec }) => spec.on.includes(surface));
  const observation = readObservationTool(agent.tools);
  const tools = observation ? [...agent.tools, observation] : agent.tools;
  const { mode } = agent;
  const inMode = (tool: OfferedTool): OfferedTool => (mode === undefined ? tool : withThought(tool, mode));
  const stop = stopTool(agent);
  const entries: Stand['tools'] = [
    ...tools.map((spec) => ({
      offered: { kind: 'tool' as const, spec },
      wire: inMode(spec === observation ? { ...wireOf(spec), kind: 'observation' } : wireOf(spec)),
      isFixed: typeof spec.enabled !== 'function',
    })),
    ...agent.handoffs.map((spec) => ({
      offered: { kind: 'handoff' as const, spec },
      wire: inMode({
        name: spec.name,
        description: describeHandoff(spec, spec.target),
        schema: spec.input?.json ?? noInput,
        kind: 'handoff' as const,
      }),
      isFixed: typeof spec.enabled !== 'function',
    })),
  ];
  const forTools = (surface: 'toolInput' | 'toolOutput') =>
    new Map(
      tools.map((tool): [string, readonly Placed[]] => [
        tool.name,
        [
          ...on(surface).filter(({ spec }) => spec.matchesTool(tool.name)),
          ...tool.guardrails.filter((spec) => spec.on.includes(surface)).map((spec) => ({ spec, level: 'tool' as const })),
        ],
      ]),
    );
  const offeredNow = entries.filter(({ offered }) => offered.spec.enabled !== false);
  // A tool may have a name that every object knows.
  const toolEntries: Manifest['tools'] = Object.fromEntries(
    tools.filter(({ guardrails }) => guardrails.length > 0).map(({ name, guardrails }) => [name, guardrails.map((spec) => spec.entry)]),
  );
  return {
    agent,
    runGuards,
    manifest: deepFreeze({
      run: runGuards.map((spec) => spec.entry),
      agent: agent.guardrails.map((spec) => spec.entry),
      tools: toolEntries,
      definitions: definitionsOf(agent),
    }),
    labels: {
      trusted: Object.freeze({ origin: `agent:${agent.name}`, integrity: 'trusted' }),
      untrusted: Object.freeze({ origin: `agent:${agent.name}`, integrity: 'untrusted' }),
    },
    input: on('input'),
    output: on('output'),
    handoff: on('handoff'),
    toolInput: forTools('toolInput'),
    toolOutput: forTools('toolOutput'),
    tools: offeredNow,
    names: new Map(offeredNow.map(({ offered }) => [offered.spec.name, offered])),
    stop,
    wire: offeredNow.every((entry) => entry.isFixed) ? withStop(offeredNow, stop) : undefined,
  };
}

function definitionsOf({ name, instructions, output, tools }: AgentSpec): Definitions {
  return {
    name,
    agent: shortDigest(
      canonicalJson({ instructions: typeof instructions === 'string' ? instructions : null, output: output?.json ?? null }),
    ),
    tools: Object.fromEntries(tools.map((tool) => [tool.name, digestOfTool(tool)])),
  };
}

function digestOfTool({ description, input, flow, approval, execute, agent, repeatable, endsRun }: ToolSpec): string {
  const { effect, authority } = flow;
  const runs = agent ? 'agent' : execute ? 'tool' : 'caller';
  const rest = { description, input: input.json, approval: typeof approval === 'boolean' ? approval : 'asks', runs, repeatable, endsRun };
  return `${shortDigest(canonicalJson({ effect, authority: typeof authority === 'string' ? authority : [...authority] }))}.${shortDigest(canonicalJson(rest))}`;
}

function withStop(tools: Stand['tools'], stop: OfferedTool | undefined): readonly OfferedTool[] {
  const wire = tools.map((tool) => tool.wire);
  return stop === undefined ? wire : [...wire, stop];
}

function wireOf({ name, description, input, strict }: ToolSpec): OfferedTool {
  const tool = { name, description, schema: input.json };
  return strict === 'auto' ? tool : { ...tool, strict };
}

function describeHandoff(spec: HandoffSpec, target: AgentSpec | string): string {
  if (spec.description !== undefined) return spec.description;
  if (typeof target === 'string') return `Hand the conversation over to ${target}.`;
  return `Hand the conversation over to ${target.name}${target.description ? `: ${target.description}` : '.'}`;
}

/** Who is meant by a handoff by name, and how that agent is described, depends on where the run started. */
function describeTargets(stand: Stand, agents: ReadonlyMap<string, AgentSpec>): Stand {
  if (!stand.tools.some(({ offered }) => offered.kind === 'handoff' && typeof offered.spec.target === 'string')) return stand;
  const tools = stand.tools.map((entry) => {
    const { offered, wire } = entry;
    if (offered.kind !== 'handoff' || typeof offered.spec.target !== 'string') return entry;
    const { spec } = offered;
    return { ...entry, wire: { ...wire, description: describeHandoff(spec, agents.get(offered.spec.target) ?? offered.spec.target) } };
  });
  return { ...stand, tools, wire: stand.wire === undefined ? undefined : withStop(tools, stand.stop) };
}

/** The manifest of an agent's stay: what stands, and what its targets have on the way to them. */
export function manifestOf(stand: Stand, agents: ReadonlyMap<string, AgentSpec>): Manifest {
  const targets: Record<string, readonly GuardEntry[]> = {};
  for (const { target } of stand.agent.handoffs) {
    const agent = typeof target === 'string' ? agents.get(target) : target;
    const entries = agent?.guardrails.filter(({ on }) => on.includes('handoff') || on.includes('input')).map(({ entry }) => entry) ?? [];
    if (agent && entries.length > 0)
      Object.defineProperty(targets, agent.name, { value: entries, enumerable: true, configurable: true, writable: true });
  }
  return Object.keys(targets).length === 0 ? stand.manifest : deepFreeze({ ...stand.manifest, targets });
}

/** What stands around the active agent. Computes nothing of the user's. */
export function standNow(handle: RunHandle): Stand {
  const agent = handle.agents.get(handle.state.agent);
  if (agent === undefined)
    throw new GuardloopError(
      'RESUME_MISMATCH',
      `The log's active agent ${handle.state.agent} is not reachable from the agent given. Give an agent that reaches it.`,
    );
  return standOf(agent, handle.root.runGuards);
}

/** The plan of the active agent; its instructions are computed once for each stay. */
export function planOf(handle: RunHandle): Plan | Promise<Plan> {
  return handle.plan?.stand.agent.name === handle.state.agent ? handle.plan : makePlan(handle);
}

async function makePlan(handle: RunHandle): Promise<Plan> {
  const stand = standNow(handle);
  const { agent } = stand;
  let instructions = agent.instructions;
  if (typeof instructions === 'function') {
    const { signal } = handle;
    const given = instructions({ context: handle.root.context, signal });
    if (isPromise(given)) {
      const settled = await handle.wait(given as PromiseLike<string>);
      if (settled.kind === 'threw') throw settled.error;
      instructions = settled.kind === 'value' ? settled.value : '';
    } else instructions = given as string;
    if (typeof instructions !== 'string')
      throw new GuardloopError('CONFIG_INVALID', `The instructions of agent ${agent.name} gave a ${typeof instructions}. Return a string.`);
  }
  const described = describeTargets(stand, handle.agents);
  handle.plan = { stand: described, instructions: inMode(described, instructions) };
  return handle.plan;
}

/** The instructions with what the agent's mode says in them. */
function inMode({ agent, tools, stop }: Stand, instructions: string): string {
  const { mode } = agent;
  if (mode?.instructions === undefined) return instructions;
  const given: unknown = mode.instructions(instructions, { tools: withStop(tools, stop), stop: mode.stop });
  if (typeof given === 'string') return given;
  throw new GuardloopError(
    'CONFIG_INVALID',
    `The instructions of mode ${mode.name} gave a ${typeof given} for agent ${agent.name}. Return a string.`,
  );
}

/** The tools that are offered in a turn. */
export function offerTools(
  handle: RunHandle,
  stand: Stand,
  turn: number,
): { readonly wire: readonly OfferedTool[]; readonly names: ReadonlyMap<string, Offered> } {
  if (stand.wire) return { wire: stand.wire, names: stand.names };
  const entries = stand.tools.filter(({ offered: { spec } }) =>
    typeof spec.enabled === 'function' ? isEnabled(handle, spec, turn) : spec.enabled,
  );
  return { wire: withStop(entries, stand.stop), names: new Map(entries.map(({ offered }) => [offered.spec.name, offered])) };
}

function isEnabled({ root, state }: RunHandle, { enabled, name }: Offered['spec'], turn: number): boolean {
  const given: unknown = typeof enabled === 'function' ? atOnce(enabled({ context: root.context, turn })) : enabled;
  if (isPromise(given)) throw laterFault(`\`enabled\` of ${name}, of agent ${state.agent},`, 'true or false');
  return given === true;
}

function laterFault(who: string, what: string): GuardloopError {
  return new GuardloopError(
    'CONFIG_INVALID',
    `${who} gave a promise. Give ${what} at once; what has to be waited for goes into the context.`,
  );
}

/** The model of a turn. Throws CONFIG_INVALID for what is none, or runs tools of its own that the agent does not list. */
export function modelOf(handle: RunHandle, agent: AgentSpec, turn: number): Model {
  const own = handle.root.settings.model ?? agent.model;
  const model = typeof own === 'function' ? atOnce(own({ context: handle.root.context, turn })) : own;
  if (model !== agent.model) checkModel(model, { owner: `Agent ${agent.name}`, unguarded: agent.providerTools });
  return modelInMode(agent.mode, model);
}

/** The settings of a turn: the agent's, and over them the run's. Throws CONFIG_INVALID. */
export function settingsOf(handle: RunHandle, agent: AgentSpec, turn: number): ModelSettings {
  const { context, settings } = handle.root;
  const own = typeof agent.settings === 'function' ? givenSettings(agent, agent.settings({ context, turn })) : agent.settings;
  return settings.ofModel === undefined ? own : mergeSettings(own, settings.ofModel);
}

function givenSettings({ name }: AgentSpec, given: unknown): ModelSettings {
  if (isPromise(atOnce(given))) throw laterFault(`\`settings\` of agent ${name}`, 'an object');
  return checkSettings(given, `Agent ${name}`);
}

/** The guardrails of a call of this tool; those of a tool that is not there any more are the run's and the agent's. */
export function guardsOfTool(stand: Stand, surface: 'toolInput' | 'toolOutput', tool: string): readonly Placed[] {
  return stand[surface].get(tool) ?? [];
}
