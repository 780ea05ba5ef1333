import { resolveAgents } from '../define/resolve.js';
import type { AgentSpec } from '../define/specs.js';
import type { RunState } from '../state/state.js';
import type { RunHandle } from './handle.js';

/** The active agent of a run of the tree and those it can hand over to: in child runs through the agents that are used as tools. */
export function placeOfRun(
  handle: RunHandle,
  runId: string,
): { readonly agent: AgentSpec; readonly agents: ReadonlyMap<string, AgentSpec> } | undefined {
  const path: RunState[] = [];
  for (let run = handle.root.log.runs.get(runId); run; run = run.parent) path.unshift(run);
  let agents: ReadonlyMap<string, AgentSpec> = handle.agents;
  for (const [index, run] of path.entries()) {
    const agent = agents.get(run.agent);
    if (agent === undefined) return undefined;
    if (index === path.length - 1) return { agent, agents };
    const call = run.calls.get(path[index + 1]?.parentCall ?? '');
    const child = agent.tools.find((tool) => tool.name === call?.call.name)?.agent?.agent;
    if (child === undefined) return undefined;
    agents = resolveAgents(child);
  }
  return undefined;
}
