import { GuardloopError, suggest } from '../errors.js';
import { invalid } from './definition-reader.js';
import type { AgentSpec } from './specs.js';

interface Reach {
  readonly agents: ReadonlyMap<string, AgentSpec>;
  /** Handoffs by name to nobody among them. */
  readonly unresolved: readonly { readonly from: string; readonly to: string }[];
}

const reaches = new WeakMap<AgentSpec, Reach>();

/**
 * The agents that handoffs lead to from `start`, itself first, by name. Agents used as tools are not among them: they have their own reach.
 * Throws NAME_TAKEN for two agents of one name.
 */
export function reachOf(start: AgentSpec): Reach {
  const known = reaches.get(start);
  if (known) return known;
  const agents = new Map([[start.name, start]]);
  const named: { readonly from: string; readonly to: string }[] = [];
  // A map's iterator also gives what is added on the way.
  for (const agent of agents.values()) {
    for (const { target } of agent.handoffs) {
      if (typeof target === 'string') named.push({ from: agent.name, to: target });
      else if (!agents.has(target.name)) agents.set(target.name, target);
      else if (agents.get(target.name) !== target) {
        throw new GuardloopError(
          'NAME_TAKEN',
          `Agent name ${target.name} is used by two agents that can be reached from agent ${start.name}. Give one another name.`,
        );
      }
    }
  }
  const reach: Reach = Object.freeze({ agents, unresolved: named.filter(({ to }) => !agents.has(to)) });
  reaches.set(start, reach);
  return reach;
}

/**
 * As {@link reachOf}, with every handoff by name accounted for. Throws CONFIG_INVALID for a name that nobody has.
 * What a tool returns with `handoff(agent, …)` may be new to it.
 */
export function resolveAgents(start: AgentSpec): ReadonlyMap<string, AgentSpec> {
  const { agents, unresolved } = reachOf(start);
  const [first] = unresolved;
  if (first !== undefined) {
    const names = [...agents.keys()];
    invalid(
      `Agent ${first.from} hands over to ${first.to}, but no agent of that name can be reached from agent ${start.name}. ${suggest(first.to, names)}` +
        `Reachable are ${names.join(', ')}. Correct the name, or let an agent on the way hand over to it.`,
    );
  }
  return agents;
}
