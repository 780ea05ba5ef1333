import { compileSchema } from '../schema.js';
import type { LimitName } from '../state/events.js';
import { agentSpecOf } from './definition.js';
import { DefinitionReader, describe, invalid, property } from './definition-reader.js';
import { resolveAgents } from './resolve.js';
import type { AgentToolSpec, ProjectFunction, ToolSpec } from './specs.js';
import { publishTool, undeclaredFlow } from './tool.js';
import type { Agent, Answer, AsToolOptions, Tool } from './types.js';

const optionNames = ['name', 'description', 'input', 'brief', 'limits', 'stream', 'result', 'effects', 'project'] as const;

/** Each count's least value; undefined for an amount, which is any number above 0. */
const leastLimits: Readonly<Record<LimitName, number | undefined>> = {
  turns: 1,
  toolCalls: 0,
  tokens: undefined,
  cost: undefined,
  ms: undefined,
  handoffs: 0,
  repairs: 0,
  repeats: 1,
};
const limitNames = Object.keys(leastLimits) as LimitName[];

const defaultInput = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
} as const;

/**
 * Makes a tool of an agent: a call is a child run with the agent's guardrails and the run's. Without `input` it takes `{ input: string }`.
 * Throws CONFIG_INVALID, also where the agent hands over to a name that nobody has.
 */
export function asTool<C, A extends Answer, const N extends string, I extends object = { input: string }>(
  agent: Agent<C, A>,
  options: AsToolOptions<N, I>,
): Tool<C, N, I> {
  const child = agentSpecOf(agent, 'The first argument of asTool');
  resolveAgents(child);
  const reader = new DefinitionReader('tool', options, optionNames);
  const name = reader.toolName();
  const tool: ToolSpec = Object.freeze({
    kind: 'tool',
    name,
    description: reader.requiredText('description'),
    input: compileSchema(reader.has('input') ? reader.get('input') : defaultInput, { owner: `The input of tool ${name}`, root: 'object' }),
    output: undefined,
    approval: false,
    execute: undefined,
    project: reader.function<ProjectFunction>('project'),
    guardrails: Object.freeze([]),
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
    agent: Object.freeze({
      agent: child,
      brief: reader.function<AgentToolSpec['brief']>('brief') ?? briefOf,
      limits: readLimits(reader.get('limits'), name),
      stream: reader.flag('stream') ?? false,
      result: reader.function<NonNullable<AgentToolSpec['result']>>('result'),
      sharesEffects: readEffects(reader.get('effects'), name),
    }),
  });
  return publishTool(tool);
}

function briefOf(input: unknown): string {
  const text = property(input, 'input');
  return typeof text === 'string' ? text : JSON.stringify(input);
}

function readEffects(given: unknown, tool: string): boolean {
  if (given === undefined || given === 'apart' || given === 'shared') return given === 'shared';
  return invalid(`Tool ${tool} has ${describe(given)} as \`effects\`. Give 'apart' or 'shared'.`);
}

function readLimits(given: unknown, tool: string): AgentToolSpec['limits'] {
  if (given === undefined) return Object.freeze({});
  const reader = new DefinitionReader({ place: `\`limits\` of tool ${tool}` }, given, limitNames);
  const limits: Partial<Record<LimitName, number>> = {};
  for (const name of limitNames) {
    const value = reader.get(name);
    if (value === undefined) continue;
    const least = leastLimits[name];
    const fits =
      typeof value === 'number' &&
      (least === undefined ? value > 0 : value >= least && (Number.isInteger(value) || value === Number.POSITIVE_INFINITY));
    if (!fits) {
      invalid(
        `${reader.subject} has ${describe(value)} as \`${name}\`. Give ${least === undefined ? 'a number above 0' : `a whole number from ${least}`}, or Infinity for no limit.`,
      );
    }
    limits[name] = value;
  }
  return Object.freeze(limits);
}
