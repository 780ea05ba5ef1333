import type { Usage } from '../model/types.js';
import type { ModelShare } from '../model/usage.js';
import { addUsage, divideUsage } from '../model/usage.js';
import type { Log, RunEvent } from './events.js';
import { noUsage } from './limits.js';
import { checkEvent, readDamaged, readLog } from './log.js';

/** What model calls used: all of it, and how it divides. Every call counts once, by model and by agent alike. */
export interface UsageDivision {
  readonly total: Usage;
  /** By the id of who answered or failed: each model of a fallback for itself. */
  readonly byModel: { readonly [model: string]: Usage };
  /** By the name of the agent that was active, in child runs too. */
  readonly byAgent: { readonly [agent: string]: Usage };
}

/**
 * Divides what model calls used: of a log, with all its runs, or of events, for example those of a result (`result.events`, whose total is
 * `result.usage`). Failed, refused and aborted calls count, and an answer that waited for a person counts once. Pure. Throws LOG_INVALID.
 */
export function usageBy(log: Log | readonly RunEvent[]): UsageDivision {
  return readDamaged(() => divideEvents(Array.isArray(log) ? readShown(log) : readLog(log, { words: 'any' })));
}

/** Events as they were shown, those that are only watched among them, which tell nothing of this. */
function readShown(events: readonly unknown[]): readonly RunEvent[] {
  for (let index = 0; index < events.length; index += 1) checkEvent(events[index], index + 1, { unknown: 'watched', words: 'any' });
  return events as readonly RunEvent[];
}

/** As {@link usageBy}, of events that have the form of such. */
export function divideEvents(events: readonly RunEvent[]): UsageDivision {
  const shares = [...sharesIn(events)];
  let total = noUsage;
  const byAgent = new Map<string, Usage>();
  for (const { agent, usage } of shares) {
    total = addUsage(total, usage);
    byAgent.set(agent, addUsage(byAgent.get(agent) ?? noUsage, usage));
  }
  return { total, byModel: Object.fromEntries(divideUsage(shares)), byAgent: Object.fromEntries(byAgent) };
}

interface AgentShare extends ModelShare {
  readonly agent: string;
}

function* sharesIn(events: readonly RunEvent[]): Generator<AgentShare> {
  /** By run: the model of its latest call, and whether an answer of it waits for a person, whose usage is counted already. */
  const asked = new Map<string, string>();
  const waiting = new Set<string>();
  for (const event of events) {
    const { run, agent } = event;
    const whose = (model = asked.get(run) ?? '') => ({ agent, model });
    switch (event.type) {
      case 'run.start':
        waiting.delete(run);
        break;
      case 'model.start':
        asked.set(run, event.model);
        for (const share of event.viewUsage ?? []) yield { agent, ...share };
        break;
      case 'run.end':
        for (const share of event.viewUsage ?? []) yield { agent, ...share };
        break;
      case 'tool.end':
        for (const share of event.projectionUsage ?? []) yield { agent, ...share };
        break;
      case 'approval.request':
        if (event.approval.surface !== 'output') break;
        waiting.add(run);
        if (event.usage) yield { ...whose(event.model), usage: event.usage };
        break;
      case 'model.end':
        if (!waiting.delete(run)) yield { ...whose(event.model), usage: event.usage };
    }
  }
}
