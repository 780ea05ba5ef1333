import type { Agent, Answer, Awaitable, RunOptions, StandardSchema } from '@guardloop/core';
import { suggest } from '@guardloop/core/model';
import { checkRunOptions } from './agent-options.js';
import { placesOf } from './data-place.js';
import { describe, invalid, isLine, longestTime, OptionReader } from './read-options.js';
import type { ApprovalTimes, RunInfo, SubmittedRun } from './types.js';

declare const dataOf: unique symbol;

/** An agent as workers run it, as `durableAgent` makes it. `D` is what a submission gives as `data`. */
export interface DurableAgent<D = never> {
  readonly agent: Agent;
  readonly [dataOf]?: (data: D) => void;
}

/**
 * What a run of the agent is given beside its input: options of `run`, but for those that a worker sets, and without signing approvals: a
 * decision is for a record in the store, found by its id.
 */
export type DurableRunOptions<C = unknown> = Omit<RunOptions<C>, 'session' | 'runId' | 'unfinished' | 'signal' | 'history' | 'approvals'>;

/** Over which changes of its agent a run is resumed. */
export type Accept = 'same' | 'changed';
/** How workers run an agent. */
export interface DurableAgentConfig<C, D> {
  /**
   * Checks what is submitted as `data`: at `submit`, where the process knows the agent, and before a worker makes the context. Its output
   * is what `context` and `options` get. Without it `data` is taken as it comes: plain JSON.
   */
  readonly data?: StandardSchema<D> | undefined;
  /** Options of each run: an object, or made for the run. */
  readonly options?: DurableRunOptions<C> | ((run: SubmittedRun<D>) => Awaitable<DurableRunOptions<C>>) | undefined;
  /**
   * Which changes of the agent a run that began before them is resumed over, as for `resume`: `same` none, `changed` all. A function is
   * asked for each run that is resumed. What is not accepted is told in the run's `trouble`, before any effect.
   */
  readonly accept?: Accept | ((run: RunInfo) => Accept | undefined) | undefined;
  /** In place of those of `durable`. */
  readonly approvals?: ApprovalTimes | undefined;
}
/** Makes what the agent's functions get, from what was submitted: called each time that a worker takes the run up. */
export interface MakesContext<C, D> {
  readonly context: (run: SubmittedRun<D>) => Awaitable<C>;
}

/** An agent as workers run it, whatever its types. */
export interface Registered {
  readonly name: string;
  readonly agent: Agent;
  readonly data: StandardSchema | undefined;
  readonly context: ((run: SubmittedRun) => unknown) | undefined;
  readonly options: object | ((run: SubmittedRun) => unknown) | undefined;
  readonly accept: Accept | ((run: RunInfo) => Accept | undefined) | undefined;
  readonly approvals: ApprovalTimes | undefined;
}

const configs = new WeakMap<object, Omit<Registered, 'name'>>();
const names = ['data', 'context', 'options', 'accept', 'approvals'] as const;

/** Says how workers run an agent. Throws CONFIG_INVALID. */
export function durableAgent<A extends Answer, D = undefined>(
  agent: Agent<unknown, A>,
  config?: DurableAgentConfig<unknown, D> & Partial<MakesContext<unknown, D>>,
): DurableAgent<D>;
export function durableAgent<C, A extends Answer, D = undefined>(
  agent: Agent<C, A>,
  config: DurableAgentConfig<C, D> & MakesContext<C, D>,
): DurableAgent<D>;
export function durableAgent(agent: Agent, config?: object): DurableAgent {
  if (!isAgent(agent)) invalid(`The first argument of durableAgent is ${describe(agent)}. Give an agent, as defineAgent makes it.`);
  const reader = new OptionReader(`The durable agent ${agent.name}`, config, names);
  const options = reader.get('options');
  if (options !== undefined && typeof options !== 'function' && (typeof options !== 'object' || options === null))
    reader.refuse('options', 'Give an object of options of `run`, or a function that makes it.');
  if (typeof options !== 'function') checkRunOptions(agent.name, options);
  const accept = reader.get('accept');
  if (accept !== undefined && accept !== 'same' && accept !== 'changed' && typeof accept !== 'function')
    reader.refuse('accept', "Give 'same' or 'changed', or a function of the run, or leave it out.");
  const data = reader.get('data');
  if (data !== undefined && (typeof data !== 'object' || data === null || !('~standard' in data)))
    reader.refuse('data', 'Give a schema, for example of zod, or leave it out.');
  const made: DurableAgent = Object.freeze({ agent });
  configs.set(made, {
    agent,
    data: data as StandardSchema | undefined,
    context: reader.function('context'),
    options: options as Registered['options'],
    accept: accept as Registered['accept'],
    approvals: readTimes(reader.get('approvals'), `The durable agent ${agent.name}`),
  });
  return made;
}

const isAgent = (value: unknown): value is Agent =>
  typeof value === 'object' && value !== null && typeof (value as Agent).name === 'string' && 'description' in value;

/** Agents by the names under which runs are submitted for them. */
export type Registry = { readonly [name: string]: DurableAgent | Agent<unknown, Answer> };
/** What a submission gives for an agent as `data`. */
export type DataOf<T> = T extends DurableAgent<infer D> ? (T extends Agent<unknown, Answer> ? undefined : D) : undefined;

/** Throws CONFIG_INVALID. */
export function readAgents(given: unknown): ReadonlyMap<string, Registered> {
  if (typeof given !== 'object' || given === null)
    return invalid(`durable: \`agents\` is ${describe(given)}. Give the agents by name: { desk: durableAgent(desk) }.`);
  return new Map(
    Object.entries(given).map(([name, entry]: [string, unknown]) => {
      if (!isLine(name)) invalid('durable: an agent is registered under a blank name. Give it one.');
      const config = typeof entry === 'object' && entry !== null ? configs.get(entry) : undefined;
      if (config) return [name, { ...config, name }] as const;
      if (!isAgent(entry))
        return invalid(
          `durable: the agent ${name} is ${describe(entry)}. Give durableAgent(agent, …), or the agent itself where it has no context.`,
        );
      const plain = { agent: entry, data: undefined, context: undefined, options: undefined, accept: undefined, approvals: undefined };
      return [name, { ...plain, name }] as const;
    }),
  );
}

/** Throws CONFIG_INVALID for an agent that is not there. */
export function agentOf(agents: ReadonlyMap<string, Registered>, name: string): Registered {
  return (
    agents.get(name) ??
    invalid(
      `submit: there is no agent ${describe(name)}. ${suggest(String(name), [...agents.keys()])}Registered are ${[...agents.keys()].join(', ') || 'none'}.`,
    )
  );
}

/**
 * The data of a submission in the form that the agent's functions get. Throws CONFIG_INVALID, which tells nothing of the data but where it
 * does not fit.
 */
export async function checkData({ name, data: schema }: Registered, data: unknown): Promise<unknown> {
  if (schema === undefined) return data;
  const outcome = await schema['~standard'].validate(data);
  if (outcome.issues === undefined) return outcome.value;
  const places = placesOf(outcome.issues, { data, schema });
  return invalid(
    `The data that was submitted for the agent ${name} does not fit its schema at ${places.slice(0, 5).join(', ')}. Give data that fits.`,
  );
}

/** Whether the agent's schema refuses a submission without data. What it answers later is not waited for. */
export function needsData({ data: schema }: Registered): boolean {
  try {
    const outcome = schema?.['~standard'].validate(undefined);
    if (outcome === undefined) return false;
    if ('then' in outcome) {
      outcome.then(undefined, () => undefined);
      return false;
    }
    return outcome.issues !== undefined;
  } catch {
    return false;
  }
}

const timeNames = ['remindAfterMs', 'onReminder', 'expireAfterMs', 'atExpiry'] as const;

/** Throws CONFIG_INVALID. */
export function readTimes(given: unknown, place: string): ApprovalTimes | undefined {
  if (given === undefined) return undefined;
  const reader = new OptionReader(`${place}, \`approvals\``, given, timeNames);
  const atExpiry = reader.get('atExpiry');
  const isReject = typeof atExpiry === 'object' && atExpiry !== null && typeof (atExpiry as { reject?: unknown }).reject === 'string';
  if (atExpiry !== undefined && atExpiry !== 'cancel' && !isReject)
    reader.refuse('atExpiry', "Give { reject: words }, or 'cancel', or leave it out.");
  const remindAfterMs = reader.number('remindAfterMs', { least: 1, most: longestTime });
  const onReminder = reader.function<NonNullable<ApprovalTimes['onReminder']>>('onReminder');
  if ((remindAfterMs === undefined) !== (onReminder === undefined))
    invalid(`${place}, \`approvals\`: \`remindAfterMs\` and \`onReminder\` go together. Give both, or neither.`);
  return {
    remindAfterMs,
    onReminder,
    expireAfterMs: reader.number('expireAfterMs', { least: 1, most: longestTime }),
    atExpiry: atExpiry as ApprovalTimes['atExpiry'],
  };
}
