import { expect, test } from 'vitest';
import { z } from 'zod';
import * as mini from 'zod/mini';
import type { Model, StrictRules } from '../model/types.js';
import { anyProvider } from '../schema.js';
import { defineAgent } from './agent.js';
import { agentSpecOf } from './definition.js';
import { defineGuardrail } from './guardrail.js';
import { handoff } from './handoff.js';
import { definePolicy } from './policy.js';
import { defineTool } from './tool.js';
import { allow } from './verdict.js';

const define = defineAgent as (def: unknown) => ReturnType<typeof defineAgent>;
const specOf = (def: unknown) => agentSpecOf(define(def), 'It');
const invalid = (message: string) => expect.objectContaining({ code: 'CONFIG_INVALID', message });
const taken = (message: string) => expect.objectContaining({ code: 'NAME_TAKEN', message });
const model: Model = { id: 'none', provider: 'none', async *stream() {} };
const fits = { name: 'billing', instructions: 'Serve.', model };
const tool = (name: string, guardrails: readonly unknown[] = []) =>
  (defineTool as (def: unknown) => unknown)({ name, description: '', input: z.object({}), execute: () => '', guardrails });
const guardrail = (name: string, on: readonly string[] = ['toolInput']) =>
  (defineGuardrail as (def: unknown) => unknown)({ name, on, check: () => allow() });
const policy = (...tools: string[]) =>
  definePolicy({ name: 'p', rules: tools.map((name) => ({ tool: name, then: 'allow' as const })), otherwise: 'deny' });

test('an agent shows its name and description, and hides the rest', () => {
  const agent = define({ ...fits, description: 'Refunds.' });
  expect({ ...agent }).toEqual({ name: 'billing', description: 'Refunds.' });
  expect(JSON.stringify(agent)).toBe('{"name":"billing","description":"Refunds."}');
  expect(Object.isFrozen(agent)).toBe(true);
});

test('what is not said has its default', () => {
  expect(specOf(fits)).toEqual({
    kind: 'agent',
    name: 'billing',
    description: undefined,
    instructions: 'Serve.',
    model,
    settings: {},
    tools: [],
    handoffs: [],
    guardrails: [],
    output: undefined,
    refusal: undefined,
    providerTools: [],
  });
});

test('S223: a value that is falsy counts as given', () => {
  const spec = specOf({
    ...fits,
    description: '',
    instructions: '',
    refusal: '',
    settings: { temperature: 0, topP: 0, parallelToolCalls: false, stopSequences: [] },
  });
  expect(spec).toMatchObject({ description: '', instructions: '', refusal: '' });
  expect(spec.settings).toEqual({ temperature: 0, topP: 0, parallelToolCalls: false, stopSequences: [] });
});

test('changing what was given changes nothing', () => {
  const def = {
    ...fits,
    tools: [tool('pay')],
    settings: { temperature: 0, extra: { other: { seed: 1 } } },
    providerTools: [{ name: 'search', unguarded: true }],
  };
  const spec = specOf(def);
  def.tools.pop();
  def.settings.temperature = 1;
  def.settings.extra.other.seed = 2;
  def.providerTools.pop();
  expect(spec.tools.map(({ name }) => name)).toEqual(['pay']);
  expect(spec.settings).toEqual({ temperature: 0, extra: { other: { seed: 1 } } });
  expect(spec.providerTools).toEqual(['search']);
  for (const part of [spec, spec.tools, spec.handoffs, spec.guardrails, spec.settings, spec.providerTools])
    expect(Object.isFrozen(part)).toBe(true);
  expect(Object.isFrozen(model)).toBe(false);
});

test('instructions, model and settings may be functions', () => {
  const [instructions, givesModel, settings] = [() => 'x', () => model, () => ({})];
  expect(specOf({ ...fits, instructions, model: givesModel, settings })).toMatchObject({ instructions, model: givesModel, settings });
});

test('handoffs are agents, names, and handoffs with options', () => {
  const faq = define({ ...fits, name: 'faq' });
  const spec = specOf({ ...fits, handoffs: [faq, 'triage', handoff(faq, { name: 'ask_faq' })] });
  expect(spec.handoffs.map(({ name, target }) => [name, typeof target === 'string' ? target : target.name])).toEqual([
    ['transfer_to_faq', 'faq'],
    ['transfer_to_triage', 'triage'],
    ['ask_faq', 'faq'],
  ]);
});

test('a provider tool that is listed as unguarded is taken', () => {
  const searching = { ...model, providerTools: ['web_search'] };
  expect(specOf({ ...fits, model: searching, providerTools: [{ name: 'web_search', unguarded: true }] }).providerTools).toEqual([
    'web_search',
  ]);
});

const options =
  'name, description, instructions, model, settings, tools, handoffs, guardrails, output, refusal, providerTools, mode, monitors';
const noModel = "Give a model made by an adapter, such as openai('gpt-5'): an object with `id`, `provider` and `stream`.";
test.each<[string, unknown, string]>([
  ['no options', undefined, `An agent was given undefined as its options. Give an object with ${options}.`],
  ['no name', { ...fits, name: '' }, 'An agent has "" as `name`. Give a text that is not blank and has no control characters.'],
  [
    'a name with a control character',
    { ...fits, name: 'a\u0007' },
    'An agent has "a\\u0007" as `name`. Give a text that is not blank and has no control characters.',
  ],
  [
    'a misspelt option',
    { ...fits, handOffs: [] },
    `Agent billing has an option "handOffs", which does not exist. Did you mean handoffs? The options are ${options}.`,
  ],
  [
    'no instructions',
    { ...fits, instructions: undefined },
    'Agent billing has undefined as `instructions`. Give a text (it may be empty), or a function that gives one.',
  ],
  ['no model', { ...fits, model: undefined }, `Agent billing has undefined as \`model\`. ${noModel}`],
  ['the name of a model', { ...fits, model: 'gpt-5' }, `Agent billing has "gpt-5" as \`model\`. ${noModel}`],
  ['a model without stream', { ...fits, model: { id: 'x', provider: 'x' } }, `Agent billing has an object as \`model\`. ${noModel}`],
  ['tools that are no list', { ...fits, tools: { pay: tool('pay') } }, 'Agent billing has an object as `tools`. Give a list.'],
  [
    'a tool that is none',
    { ...fits, tools: [{ name: 'pay', execute: () => '' }] },
    'Entry 1 in `tools` of agent billing is an object. Expected a tool made by defineTool or asTool.',
  ],
  [
    'a hole among the tools',
    { ...fits, tools: new Array(1) },
    'Entry 1 in `tools` of agent billing is undefined. Expected a tool made by defineTool or asTool.',
  ],
  [
    'an agent as a tool',
    { ...fits, tools: [define({ ...fits, name: 'faq' })] },
    'Entry 1 in `tools` of agent billing is the agent faq. Expected a tool made by defineTool or asTool.',
  ],
  [
    'a guardrail that is none',
    { ...fits, guardrails: [{}] },
    'Entry 1 in `guardrails` of agent billing is an object. Expected a guardrail made by defineGuardrail or definePolicy.',
  ],
  [
    'a tool as a handoff',
    { ...fits, handoffs: [tool('pay')] },
    'Entry 1 in `handoffs` of agent billing is a tool. Give an agent, the name of one, or what handoff(agent, options) gave.',
  ],
  [
    'a blank name as a handoff',
    { ...fits, handoffs: [' '] },
    'Entry 1 in `handoffs` of agent billing is " ". Give an agent, the name of one, or what handoff(agent, options) gave.',
  ],
  [
    'a handoff to itself',
    { ...fits, handoffs: ['billing'] },
    'Agent billing hands over to itself. Remove the entry billing from its `handoffs`.',
  ],
  [
    'a handoff with options to itself',
    { ...fits, handoffs: [handoff('billing', { name: 'again' })] },
    'Agent billing hands over to itself. Remove the entry billing from its `handoffs`.',
  ],
  ['a refusal that is no text', { ...fits, refusal: 3 }, 'Agent billing has 3 as `refusal`. Give a text, or leave it out.'],
  [
    'a provider tool of the model that is not listed',
    { ...fits, model: { ...model, providerTools: ['web_search'] } },
    'Agent billing has a model with "web_search", a tool that the provider runs where no guardrail can see it. List it: providerTools: [{ name: "web_search", unguarded: true }], or take it from the model.',
  ],
  [
    'one of two provider tools that is not listed',
    { ...fits, model: { ...model, providerTools: ['web_search', 'shell'] }, providerTools: [{ name: 'web_search', unguarded: true }] },
    'Agent billing has a model with "shell", a tool that the provider runs where no guardrail can see it. List it: providerTools: [{ name: "shell", unguarded: true }], or take it from the model.',
  ],
  [
    'a provider tool that is not said to be unguarded',
    { ...fits, providerTools: [{ name: 'web_search', unguarded: 'yes' }] },
    'Entry 1 in `providerTools` of Agent billing does not say `unguarded: true`. The provider runs such a tool where no guardrail can see it: say so, or remove it.',
  ],
  [
    'a provider tool without a name',
    { ...fits, providerTools: [{ unguarded: true }] },
    'Entry 1 in `providerTools` of Agent billing has undefined as `name`. Give a text that is not blank and has no control characters.',
  ],
  [
    'a policy about a tool that is not there',
    { ...fits, tools: [tool('refund_order')], guardrails: [policy('refund_order', 'refund_ordr')] },
    'Rule 2 of policy p is about refund_ordr, but agent billing has no such tool. Did you mean refund_order? Its tools are refund_order. Correct the rule, or remove it.',
  ],
  [
    'a policy with a pattern that fits no tool',
    { ...fits, tools: [tool('refund_order')], guardrails: [policy('find_*')] },
    'Rule 1 of policy p is about find_*, but agent billing has no such tool. Its tools are refund_order. Correct the rule, or remove it.',
  ],
  [
    'a policy with rules on an agent without tools',
    { ...fits, guardrails: [policy('find_*')] },
    'Rule 1 of policy p is about find_*, but agent billing has no such tool. It has no tools. Correct the rule, or remove it.',
  ],
  [
    'a misspelt setting',
    { ...fits, settings: { temprature: 0 } },
    '`settings` of agent billing has an option "temprature", which does not exist. Did you mean temperature? The options are temperature, topP, maxTokens, toolChoice, parallelToolCalls, stopSequences, reasoning, seed, metadata, headers, extra.',
  ],
  [
    'a temperature that is no number',
    { ...fits, settings: { temperature: Number.NaN } },
    '`settings` of agent billing has NaN as `temperature`. Give plain JSON: texts, finite numbers, booleans, null, lists and objects.',
  ],
  [
    'a temperature below zero',
    { ...fits, settings: { temperature: -1 } },
    '`settings` of agent billing has -1 as `temperature`. Give a number from 0.',
  ],
  ['a topP above one', { ...fits, settings: { topP: 2 } }, '`settings` of agent billing has 2 as `topP`. Give a number from 0 to 1.'],
  [
    'maxTokens of zero',
    { ...fits, settings: { maxTokens: 0 } },
    '`settings` of agent billing has 0 as `maxTokens`. Give a whole number from 1.',
  ],
  [
    'an empty tool choice',
    { ...fits, settings: { toolChoice: '' } },
    "`settings` of agent billing has \"\" as `toolChoice`. Give 'auto', 'required', 'none' or { tool: NAME }.",
  ],
  [
    'parallelToolCalls that is a text',
    { ...fits, settings: { parallelToolCalls: 'no' } },
    '`settings` of agent billing has "no" as `parallelToolCalls`. Give true or false.',
  ],
  [
    'a stop sequence without characters',
    { ...fits, settings: { stopSequences: [''] } },
    '`settings` of agent billing has a list as `stopSequences`. Give a list of texts.',
  ],
  [
    'an unknown effort',
    { ...fits, settings: { reasoning: 'hard' } },
    "`settings` of agent billing has \"hard\" as `reasoning`. Give 'off', 'low', 'medium', 'high' or { maxTokens: NUMBER }.",
  ],
  [
    'extra fields that are a list',
    { ...fits, settings: { extra: [] } },
    '`settings` of agent billing has a list as `extra`. Give an object with the name of an adapter over each set of fields.',
  ],
  [
    'extra fields of an adapter that are none',
    { ...fits, settings: { extra: { openai: null } } },
    '`settings` of agent billing has an object as `extra`. Give an object with the name of an adapter over each set of fields.',
  ],
  [
    'settings that hold a function',
    { ...fits, settings: { extra: { openai: { seed: () => 1 } } } },
    '`settings` of agent billing has an object as `extra`. Give plain JSON: texts, finite numbers, booleans, null, lists and objects.',
  ],
])('%s is refused', (_what, def, message) => {
  expect(() => define(def)).toThrow(invalid(message));
});

test('an output that is no schema is refused with its place', () => {
  expect(() => define({ ...fits, output: 'text' })).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(/^The output of agent billing is a string, /) }),
  );
});

test('settings in a circle are refused', () => {
  const extra: Record<string, unknown> = {};
  extra.self = extra;
  expect(() => define({ ...fits, settings: { extra } })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
});

const faq = define({ ...fits, name: 'faq' });
const otherFaq = define({ ...fits, name: 'faq' });
const howForHandoffs = 'Give one another name, with handoff(agent, { name }).';
test.each<[string, unknown, string]>([
  [
    'two tools of one name',
    { ...fits, tools: [tool('pay'), tool('pay')] },
    'Tool name pay is used by two tools of agent billing. Give one another name.',
  ],
  [
    'a handoff with the name of a tool',
    { ...fits, tools: [tool('transfer_to_faq')], handoffs: [faq] },
    `Tool name transfer_to_faq is used by a tool and a handoff of agent billing. ${howForHandoffs}`,
  ],
  [
    'two handoffs to one agent',
    { ...fits, handoffs: [faq, faq] },
    `Tool name transfer_to_faq is used by two handoffs of agent billing. ${howForHandoffs}`,
  ],
  [
    'two names that make one tool name',
    { ...fits, handoffs: ['a b', 'a/b'] },
    `Tool name transfer_to_a_b is used by two handoffs of agent billing. ${howForHandoffs}`,
  ],
  [
    'a provider tool with the name of a tool',
    { ...fits, tools: [tool('web_search')], providerTools: [{ name: 'web_search', unguarded: true }] },
    'Tool name web_search is used by a tool and a provider tool of agent billing. Give one another name.',
  ],
  [
    'two guardrails of one name',
    { ...fits, guardrails: [guardrail('g'), guardrail('g', ['output'])] },
    'Guardrail name g is used twice by agent billing. Give one another name, or list it once.',
  ],
  [
    'a guardrail of a tool with the name of one of the agent',
    { ...fits, guardrails: [guardrail('g')], tools: [tool('pay', [guardrail('g')])] },
    'Guardrail name g is used twice at tool pay of agent billing. Give one another name, or list it once.',
  ],
  [
    'a handoff to another agent of its own name',
    { ...fits, handoffs: [handoff(define(fits), { name: 'x' })] },
    'Agent name billing is used by two agents that can be reached from agent billing. Give one another name.',
  ],
  [
    'two agents of one name among the reachable',
    { ...fits, handoffs: [faq, define({ ...fits, name: 'desk', handoffs: [otherFaq] })] },
    'Agent name faq is used by two agents that can be reached from agent billing. Give one another name.',
  ],
])('%s is taken', (_what, def, message) => {
  expect(() => define(def)).toThrow(taken(message));
});

test('one agent that is reached on two ways is one agent', () => {
  const desk = define({ ...fits, name: 'desk', handoffs: [faq] });
  expect(() => define({ ...fits, handoffs: [faq, desk] })).not.toThrow();
});

test('S167: a strict tool that its model cannot be held to is refused, with its place', () => {
  const rules: StrictRules = { ...anyProvider, provider: 'Acme', absent: 'null' };
  const strictModel: Model = { ...model, strictRules: { tools: rules } };
  const of = (input: z.ZodType, strict: unknown) =>
    (defineTool as (def: unknown) => unknown)({ name: 'find', description: '', input, execute: () => '', strict });
  const both = z.object({ note: z.string().nullish() });
  expect(() => define({ ...fits, model: strictModel, tools: [of(both, true)] })).toThrow(
    invalid(
      'Tool find of agent billing has `strict: true`, but Acme cannot be held to the schema of its input: note (required). It may be left out, and it may be null: Acme has null for both. Make it one of the two. Or leave `strict` out.',
    ),
  );
  for (const [given, strict] of [
    [both, 'auto'],
    [both, false],
    [z.object({ note: z.string().optional() }), true],
  ] as const)
    expect(() => define({ ...fits, model: strictModel, tools: [of(given, strict)] })).not.toThrow();
  expect(() => define({ ...fits, model: () => strictModel, tools: [of(both, true)] })).not.toThrow();
  // Of a schema that is still being converted nothing is known yet.
  const late = mini.object({ note: mini.nullish(mini.string()) });
  expect(() => define({ ...fits, model: strictModel, tools: [of(late as never, true)] })).not.toThrow();
});
