// Between the objects that users hold and the specs behind them.
import { describe, invalid, property } from './definition-reader.js';
import type { AgentSpec, GuardrailSpec, ReturnedHandoff, Spec, ToolSpec } from './specs.js';
import { spec } from './specs.js';

const makers = {
  agent: 'defineAgent',
  tool: 'defineTool or asTool',
  guardrail: 'defineGuardrail or definePolicy',
  handoff: 'handoff',
} as const;

/** The object that users hold: frozen, with the fields that editors and logs may show, and the spec out of sight. */
export function publish<P>(shown: object, hidden: Spec): P {
  return Object.freeze(Object.defineProperty({ ...shown }, spec, { value: hidden })) as P;
}

/** The spec behind anything that a define function made; undefined for everything else. */
export function specBehind(value: unknown): Spec | undefined {
  const found = property(value, spec);
  const kind = property(found, 'kind');
  return typeof kind === 'string' && Object.hasOwn(makers, kind) ? (found as Spec) : undefined;
}

function expectSpec<K extends Spec['kind']>(kind: K, value: unknown, place: string): Extract<Spec, { kind: K }> {
  const found = specBehind(value);
  if (found?.kind === kind) return found as Extract<Spec, { kind: K }>;
  const article = kind === 'agent' ? 'an' : 'a';
  const given =
    found === undefined
      ? describe(value)
      : `${found.kind === 'agent' ? 'the' : 'a'} ${found.kind}${found.kind === 'handoff' ? '' : ` ${found.name}`}`;
  return invalid(`${place} is ${given}. Expected ${article} ${kind} made by ${makers[kind]}.`);
}

/** Each throws CONFIG_INVALID for what no define function made. `place` opens the message: `The first argument of run`. */
export const agentSpecOf = (agent: unknown, place: string): AgentSpec => expectSpec('agent', agent, place);
export const toolSpecOf = (tool: unknown, place: string): ToolSpec => expectSpec('tool', tool, place);
export const guardrailSpecOf = (guardrail: unknown, place: string): GuardrailSpec => expectSpec('guardrail', guardrail, place);

/** The handoff in what a tool's `execute` returned; undefined where it returned something else. */
export function returnedHandoff(value: unknown): ReturnedHandoff | undefined {
  const found = specBehind(value);
  return found?.kind === 'handoff' ? (found as ReturnedHandoff) : undefined;
}
