import { expect, test } from 'vitest';
import { z } from 'zod';
import * as mini from 'zod/mini';
import type { Model, StrictRules } from '../model/types.js';
import { anyProvider } from '../schema.js';
import type { Surface } from '../state/events.js';
import { defineAgent } from './agent.js';
import { asTool } from './as-tool.js';
import { coverage } from './coverage.js';
import { defineGuardrail } from './guardrail.js';
import { handoff } from './handoff.js';
import { definePolicy } from './policy.js';
import { defineTool } from './tool.js';
import type { Guardrail } from './types.js';
import { allow } from './verdict.js';

const model: Model = { id: 'none', provider: 'none', async *stream() {} };
const guardrail = (name: string, on: readonly Surface[], more: object = {}) =>
  (defineGuardrail as (def: unknown) => Guardrail<unknown>)({ name, on, check: () => allow(), ...more });
const tool = (name: string, guardrails: readonly Guardrail<unknown, 'toolInput' | 'toolOutput'>[] = []) =>
  defineTool({ name, description: '', input: z.object({}), execute: () => '', guardrails });
const everywhere = ['input', 'toolInput', 'toolOutput', 'handoff', 'output'] as const;

test('it lists every agent and tool reachable, by every kind of way', () => {
  const inner = defineAgent({ name: 'inner', instructions: '', model, tools: [tool('look')] });
  const faq = defineAgent({ name: 'faq', instructions: '', model, tools: [asTool(inner, { name: 'ask_inner', description: '' })] });
  const billing = defineAgent({ name: 'billing', instructions: '', model, handoffs: ['triage', 'faq'], tools: [tool('refund')] });
  const triage = defineAgent({ name: 'triage', instructions: '', model, handoffs: [billing, handoff(faq, { name: 'ask' })] });
  expect(coverage(triage).map(({ agentPath, agent, tool: name }) => [agentPath.join('/'), agent, name])).toEqual([
    ['triage', 'triage', undefined],
    ['billing', 'billing', undefined],
    ['billing', 'billing', 'refund'],
    ['faq', 'faq', undefined],
    ['faq', 'faq', 'ask_inner'],
    ['faq/inner', 'inner', undefined],
    ['faq/inner', 'inner', 'look'],
  ]);
});

test('it says which guardrails stand where, in the order in which they are asked', () => {
  const policy = definePolicy({ name: 'policy', rules: [{ tool: 'refund', then: 'ask' }], otherwise: 'deny' });
  const refund = tool('refund', [defineGuardrail({ name: 'own', on: ['toolInput'], check: () => allow() })]);
  const billing = defineAgent({
    name: 'billing',
    instructions: '',
    model,
    tools: [refund, tool('find')],
    guardrails: [policy, guardrail('mask', ['toolOutput', 'output'], { tools: ['find'] })],
  });
  expect(coverage(billing, { guardrails: [guardrail('all', everywhere)] })).toEqual([
    { agent: 'billing', agentPath: ['billing'], surfaces: { input: ['all'], handoff: ['all'], output: ['all', 'mask'] }, unguarded: [] },
    {
      agent: 'billing',
      agentPath: ['billing'],
      tool: 'refund',
      surfaces: { toolInput: ['all', 'policy', 'own'], toolOutput: ['all'] },
      unguarded: [],
    },
    {
      agent: 'billing',
      agentPath: ['billing'],
      tool: 'find',
      surfaces: { toolInput: ['all', 'policy'], toolOutput: ['all', 'mask'] },
      unguarded: [],
    },
  ]);
});

test('it says which surfaces have no guardrail, and which tools the provider runs', () => {
  const agent = defineAgent({
    name: 'bare',
    instructions: '',
    model,
    tools: [tool('find')],
    providerTools: [{ name: 'web_search', unguarded: true }],
  });
  expect(coverage(agent)).toEqual([
    { agent: 'bare', agentPath: ['bare'], surfaces: { input: [], handoff: [], output: [] }, unguarded: ['input', 'output'] },
    {
      agent: 'bare',
      agentPath: ['bare'],
      tool: 'find',
      surfaces: { toolInput: [], toolOutput: [] },
      unguarded: ['toolInput', 'toolOutput'],
    },
    { agent: 'bare', agentPath: ['bare'], tool: 'web_search', isProviderTool: true, surfaces: {}, unguarded: ['toolInput', 'toolOutput'] },
  ]);
});

test('a handoff is guarded by its source, its target or the run', () => {
  const open = defineAgent({ name: 'open', instructions: '', model });
  const guarded = defineAgent({ name: 'guarded', instructions: '', model, guardrails: [guardrail('g', ['handoff'])] });
  const from = (guardrails: readonly Guardrail<unknown>[], ...handoffs: readonly (typeof open | typeof guarded)[]) =>
    defineAgent({ name: 'from', instructions: '', model, guardrails, handoffs });
  const unguarded = (agent: ReturnType<typeof from>, guardrails: readonly Guardrail[] = []) =>
    coverage(agent, { guardrails })[0]?.unguarded;
  expect(unguarded(from([], open))).toContain('handoff');
  expect(unguarded(from([], guarded, open))).toContain('handoff');
  expect(unguarded(from([], guarded))).not.toContain('handoff');
  expect(unguarded(from([guardrail('h', ['handoff'])], open))).not.toContain('handoff');
  expect(unguarded(from([], open), [guardrail('r', ['handoff'])])).not.toContain('handoff');
  expect(unguarded(from([]))).not.toContain('handoff');
  const byName = defineAgent({ name: 'by-name', instructions: '', model, handoffs: [guarded, handoff('guarded', { name: 'again' })] });
  expect(coverage(byName)[0]?.unguarded).not.toContain('handoff');
});

test('of a schema that is still being converted it says nothing yet', () => {
  const rules: StrictRules = { ...anyProvider, provider: 'Acme' };
  const late = defineTool({ name: 'late', description: '', input: mini.object({ at: mini.string() }), execute: () => '' });
  const agent = defineAgent({ name: 'a', instructions: '', model: { ...model, strictRules: { tools: rules } }, tools: [late] });
  expect(coverage(agent)[1]).toStrictEqual({
    agent: 'a',
    agentPath: ['a'],
    tool: 'late',
    surfaces: { toolInput: [], toolOutput: [] },
    unguarded: ['toolInput', 'toolOutput'],
  });
});

test("an agent's guardrails do not cover the agents it hands over to or uses as tools", () => {
  const faq = defineAgent({ name: 'faq', instructions: '', model });
  const desk = defineAgent({
    name: 'desk',
    instructions: '',
    model,
    handoffs: [defineAgent({ name: 'billing', instructions: '', model })],
    tools: [asTool(faq, { name: 'ask_faq', description: '' })],
    guardrails: [guardrail('g', everywhere)],
  });
  const outputs = Object.fromEntries(
    coverage(desk)
      .filter((entry) => entry.tool === undefined)
      .map(({ agent, surfaces }) => [agent, surfaces.output]),
  );
  expect(outputs).toEqual({ desk: ['g'], faq: [], billing: [] });
});

test('a guardrail in shadow covers nothing', () => {
  const agent = defineAgent({ name: 'a', instructions: '', model, guardrails: [guardrail('g', ['input', 'output'], { shadow: true })] });
  expect(coverage(agent)[0]).toMatchObject({ surfaces: { input: [], output: [] }, unguarded: ['input', 'output'] });
});

test('agents used as tools in a circle of names end', () => {
  const child = defineAgent({ name: 'child', instructions: '', model });
  const ask = asTool(child, { name: 'ask', description: '' });
  const outer = defineAgent({
    name: 'outer',
    instructions: '',
    model,
    tools: [ask, asTool(defineAgent({ name: 'middle', instructions: '', model, tools: [ask] }), { name: 'middle', description: '' })],
  });
  expect(coverage(outer).map(({ agentPath, tool: name }) => [...agentPath, name ?? '-'].join('/'))).toEqual([
    'outer/-',
    'outer/ask',
    'outer/middle',
    'outer/child/-',
    'outer/middle/-',
    'outer/middle/ask',
  ]);
});

test('a handoff to a name that is not known yet is no fault here', () => {
  const agent = defineAgent({ name: 'a', instructions: '', model, handoffs: ['later'] });
  expect(coverage(agent)[0]?.unguarded).toEqual(['input', 'output', 'handoff']);
});

test.each([
  [[undefined], 'The first argument of coverage is undefined. Expected an agent made by defineAgent.'],
  [
    [defineAgent({ name: 'a', instructions: '', model }), { guardrails: guardrail('g', ['input']) }],
    'The call of coverage has an object as `guardrails`. Give a list.',
  ],
  [
    [defineAgent({ name: 'a', instructions: '', model }), { guardrails: ['g'] }],
    'Entry 1 in `guardrails` of the run is "g". Expected a guardrail made by defineGuardrail or definePolicy.',
  ],
  [
    [defineAgent({ name: 'a', instructions: '', model }), { guardrail: [] }],
    'The call of coverage has an option "guardrail", which does not exist. Did you mean guardrails? The options are guardrails.',
  ],
  [
    [defineAgent({ name: 'a', instructions: '', model }), null],
    'The call of coverage was given null as its options. Give an object with guardrails.',
  ],
])('wrong arguments are refused', (given, message) => {
  expect(() => (coverage as (...given: unknown[]) => unknown)(...given)).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message }),
  );
});

test('S167: it says which tools and answers the provider is held to, and why not the others', () => {
  const rules: StrictRules = { ...anyProvider, provider: 'Acme', absent: 'null' };
  const find = (name: string, input: z.ZodObject, strict?: boolean) =>
    defineTool({ name, description: '', input, strict, execute: () => '' });
  const tools = [
    find('plain', z.object({ a: z.string().optional() })),
    find('loose', z.object({ a: z.string().nullish() })),
    find('off', z.object({}), false),
  ];
  const strictOf = (given: Model | (() => Model)) =>
    coverage(
      defineAgent({ name: 'billing', instructions: '', model: given, tools, output: z.object({ tags: z.record(z.string(), z.string()) }) }),
    ).map(({ strict }) => strict);
  expect(strictOf({ ...model, strictRules: { tools: rules, output: rules } })).toEqual([
    { asked: 'auto', isStrict: false, why: expect.stringContaining('tags (propertyNames)') },
    { asked: 'auto', isStrict: true },
    {
      asked: 'auto',
      isStrict: false,
      why: 'a (required). It may be left out, and it may be null: Acme has null for both. Make it one of the two.',
    },
    { asked: false, isStrict: false },
  ]);
  expect(strictOf(model)).toEqual([undefined, undefined, undefined, undefined]);
  expect(strictOf(() => ({ ...model, strictRules: { tools: rules } }))).toEqual([undefined, undefined, undefined, undefined]);
});
