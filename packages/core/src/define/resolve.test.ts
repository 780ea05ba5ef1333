import { expect, test, vi } from 'vitest';
import type { Model } from '../model/types.js';
import { defineAgent } from './agent.js';
import { asTool } from './as-tool.js';
import { agentSpecOf } from './definition.js';
import { handoff } from './handoff.js';
import { resolveAgents } from './resolve.js';

vi.resetModules();
const { defineAgent: otherDefine } = await import('./agent.js');

const model: Model = { id: 'none', provider: 'none', async *stream() {} };
const agent = (name: string, handoffs: readonly unknown[] = [], tools: readonly unknown[] = []) =>
  (defineAgent as (def: unknown) => ReturnType<typeof defineAgent>)({ name, instructions: '', model, handoffs, tools });
const spec = (value: unknown) => agentSpecOf(value, 'It');
const names = (value: unknown) => [...resolveAgents(spec(value)).keys()];
const invalid = (message: string) => expect.objectContaining({ code: 'CONFIG_INVALID', message });

test('the agents that handoffs lead to are found, the start first', () => {
  const faq = agent('faq');
  const billing = agent('billing', ['triage', handoff(faq, { name: 'ask' })]);
  const triage = agent('triage', [billing]);
  expect(names(triage)).toEqual(['triage', 'billing', 'faq']);
  expect(resolveAgents(spec(triage)).get('billing')).toBe(spec(billing));
});

test('a name is looked up among all the reachable, wherever it stands', () => {
  const leaf = agent('leaf', ['other']);
  expect(names(agent('start', [leaf, agent('other', ['start'])]))).toEqual(['start', 'leaf', 'other']);
});

test('the answer is kept for each start', () => {
  const triage = spec(agent('triage', [agent('billing')]));
  expect(resolveAgents(triage)).toBe(resolveAgents(triage));
});

test('a name that nobody has is refused, with the nearest one', () => {
  const billing = agent('billing', ['triag']);
  expect(() => names(agent('triage', [billing]))).toThrow(
    invalid(
      'Agent billing hands over to triag, but no agent of that name can be reached from agent triage. Did you mean triage? ' +
        'Reachable are triage, billing. Correct the name, or let an agent on the way hand over to it.',
    ),
  );
  expect(() => names(billing)).toThrow(
    invalid(
      'Agent billing hands over to triag, but no agent of that name can be reached from agent billing. Reachable are billing. Correct the name, or let an agent on the way hand over to it.',
    ),
  );
});

test('agents used as tools are resolved apart: they are not reachable, and their names may be used again', () => {
  const inner = agent('faq');
  const desk = agent('desk', [agent('faq')], [asTool(inner, { name: 'ask_faq', description: '' })]);
  expect(names(desk)).toEqual(['desk', 'faq']);
  expect(resolveAgents(spec(desk)).get('faq')).not.toBe(spec(inner));
});

test('what is no agent is refused, with what was expected', () => {
  for (const [given, what] of [
    [undefined, 'undefined'],
    [null, 'null'],
    ['billing', '"billing"'],
    [{ name: 'billing' }, 'an object'],
    [() => agent('x'), 'a function'],
    [Promise.resolve(agent('x')), 'an object'],
    [handoff('x'), 'a handoff'],
  ] as const) {
    expect(() => agentSpecOf(given, 'The first argument of run')).toThrow(
      invalid(`The first argument of run is ${what}. Expected an agent made by defineAgent.`),
    );
  }
});

test('an agent of another copy of the package is an agent', () => {
  expect(otherDefine).not.toBe(defineAgent);
  const foreign = otherDefine({ name: 'faq', instructions: '', model });
  expect(names(agent('triage', [foreign]))).toEqual(['triage', 'faq']);
});
