import { compileSchema } from '../schema.js';
import { agentSpecOf, publish } from './definition.js';
import { DefinitionReader, describe, invalid, isName, isToolName, toolNameRule } from './definition-reader.js';
import type { AgentSpec, HandoffSpec, ReturnedHandoff } from './specs.js';
import type { Agent, Handoff, HandoffDef, Route, Unresolved } from './types.js';

const optionNames = ['name', 'description', 'input', 'brief', 'history', 'enabled'] as const;

/**
 * A handoff, for two uses: an entry of an agent's `handoffs`, offered to the model as a tool; or what a tool's `execute` returns, which
 * takes only a text as `brief`, and `history`. The target is an agent, or the name of one that is reachable from the start.
 * Throws CONFIG_INVALID.
 */
export function handoff<C, A extends Route, I = unknown, E = C>(target: Agent<C, A>, options?: HandoffDef<I, E>): Handoff<C & E, A>;
export function handoff<const N extends string, I = unknown, E = unknown>(target: N, options?: HandoffDef<I, E>): Handoff<E, Unresolved<N>>;
export function handoff(target: unknown, options: unknown = {}): Handoff {
  return publish({}, handoffSpec(target, options));
}

/** The spec of a handoff, with what holds where nothing is said. */
export function handoffSpec(target: unknown, options: unknown): ReturnedHandoff {
  const to = readTarget(target);
  const place = `A handoff to ${nameOf(to)}`;
  const reader = new DefinitionReader({ place }, options, optionNames);
  const name = reader.text('name') ?? defaultName(nameOf(to));
  if (!isToolName(name))
    invalid(`${place} has ${describe(name)} as \`name\`, which the model's provider would refuse. Give ${toolNameRule}.`);
  const brief = reader.get('brief');
  if (brief !== undefined && typeof brief !== 'string' && typeof brief !== 'function') {
    reader.refuse('brief', 'Give a text, or a function that makes it of the arguments.');
  }
  return Object.freeze({
    kind: 'handoff',
    target: to,
    name,
    description: reader.text('description'),
    input: reader.has('input')
      ? compileSchema(reader.get('input'), { owner: `The input of the handoff to ${nameOf(to)}`, root: 'object' })
      : undefined,
    brief: typeof brief === 'string' ? () => brief : (brief as HandoffSpec['brief']),
    history: reader.function<NonNullable<HandoffSpec['history']>>('history'),
    enabled: reader.flagOrFunction<Extract<HandoffSpec['enabled'], (...given: never) => unknown>>('enabled', true),
    text: typeof brief === 'string' ? brief : undefined,
  });
}

function readTarget(target: unknown): AgentSpec | string {
  if (typeof target !== 'string') return agentSpecOf(target, 'The target of a handoff');
  if (!isName(target))
    invalid('The target of a handoff is a blank name, or one with control characters. Give an agent, or the name of one.');
  return target;
}

const nameOf = (target: AgentSpec | string): string => (typeof target === 'string' ? target : target.name);

/** `transfer_to_<agent>`, with `_` for what a tool's name cannot hold. */
function defaultName(agent: string): string {
  const name = `transfer_to_${agent.replaceAll(/[^a-zA-Z0-9_-]+/g, '_')}`;
  if (!isToolName(name) || !/[a-zA-Z0-9]/.test(name.slice('transfer_to_'.length))) {
    invalid(
      `No tool name can be made of the agent's name ${describe(agent)}. Hand over with handoff(agent, { name }), and give it ${toolNameRule}.`,
    );
  }
  return name;
}
