import { DefinitionReader, describe, invalid, property } from '../define/definition-reader.js';
import { readGuardrails } from '../define/guardrail.js';
import type { GuardrailSpec } from '../define/specs.js';
import type { Guardrail } from '../define/types.js';
import type { Clock } from '../model/clock.js';
import { systemClock } from '../model/clock.js';
import type { Log } from '../state/events.js';
import { compareAll } from './comparison.js';
import type { Plan } from './log-replay.js';
import { LogReplay } from './log-replay.js';
import type { ReadSet } from './stand-ins.js';
import { knownAgents } from './stand-ins.js';
import type { CompareArguments, Comparison, GuardrailSet } from './types.js';

const optionNames = ['recorded', 'context', 'contextOf', 'agent', 'expected', 'concurrency', 'signal', 'clock'] as const;

/**
 * Puts recorded logs to other guardrails and tells what would have been answered otherwise. Calls no model and no tool. Each subject is made
 * and asked about as in a run; what guardrails throw, or answer late or without sense, counts as in a run. Breakers stay as they are, and hold
 * no ask back. Throws CONFIG_INVALID, NAME_TAKEN and LOG_INVALID.
 */
export async function compareVerdicts<C>(
  logs: Log | readonly Log[],
  guardrails: readonly Guardrail<C>[] | GuardrailSet<C>,
  ...[options]: CompareArguments<C>
): Promise<Comparison> {
  const reader = new DefinitionReader({ place: 'The call of compareVerdicts' }, options ?? {}, optionNames);
  const list: readonly Log[] = Array.isArray(logs) ? (logs as readonly Log[]) : [logs as Log];
  const clock = (reader.get('clock') as Clock | undefined) ?? systemClock;
  const concurrency = reader.get('concurrency') ?? 4;
  if (typeof concurrency !== 'number' || !(concurrency >= 1)) reader.refuse('concurrency', 'Give a whole number from 1.');
  const plan: Plan = {
    set: readSet(guardrails),
    agents: knownAgents(reader.get('agent')),
    isKept: reader.choice('recorded', ['replaced', 'kept']) === 'kept',
    expected: reader.function<NonNullable<Plan['expected']>>('expected'),
    signal: reader.get('signal') as AbortSignal | undefined,
    clock,
  };
  const contextOf = reader.function<(log: Log, index: number) => unknown>('contextOf');
  const context = reader.get('context');
  const began = clock.now();
  const replays = list.map((log, index) => new LogReplay(index, log, { plan, context: contextOf ? contextOf(log, index) : context }));
  const complete = await replayAll(replays, concurrency as number);
  return compareAll(replays, plan, { ms: clock.now() - began, isComplete: complete });
}

/** Several logs at a time. The first fault ends them all. */
async function replayAll(replays: readonly LogReplay[], concurrency: number): Promise<boolean> {
  let next = 0;
  let isComplete = true;
  const work = async (): Promise<void> => {
    for (let replay = replays[next++]; replay; replay = replays[next++]) {
      try {
        isComplete = (await replay.replay()) && isComplete;
      } catch (thrown) {
        next = replays.length;
        throw thrown;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, replays.length) }, work));
  return isComplete;
}

function readSet(given: unknown): ReadSet {
  if (Array.isArray(given)) return { run: readList(given, 'the run'), agents: new Map(), tools: new Map() };
  if (typeof given !== 'object' || given === null)
    return invalid(`The guardrails of compareVerdicts are ${describe(given)}. Give a list, or { run, agents, tools }.`);
  const unknown = Object.keys(given).find((name) => !['run', 'agents', 'tools'].includes(name));
  if (unknown !== undefined)
    invalid(
      `The guardrails of compareVerdicts have a field ${describe(unknown)}. Give { run: [...], agents: { NAME: [...] }, tools: { NAME: [...] } }.`,
    );
  return {
    run: readList(property(given, 'run') ?? [], 'the run'),
    agents: readLists(property(given, 'agents') ?? {}, 'agent'),
    tools: readLists(property(given, 'tools') ?? {}, 'tool'),
  };
}

function readList(given: unknown, owner: string): readonly GuardrailSpec[] {
  if (!Array.isArray(given)) return invalid(`The guardrails of ${owner} are ${describe(given)}. Give a list.`);
  return readGuardrails(given, owner).map((spec) => (spec.breaker ? Object.freeze({ ...spec, breaker: undefined }) : spec));
}

function readLists(given: unknown, owner: string): ReadonlyMap<string, readonly GuardrailSpec[]> {
  if (typeof given !== 'object' || given === null)
    return invalid(`\`${owner}s\` is ${describe(given)}. Give lists of guardrails by ${owner} name.`);
  return new Map(Object.entries(given).map(([name, list]) => [name, readList(list, `${owner} ${name}`)]));
}
