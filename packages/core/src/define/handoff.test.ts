import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Model } from '../model/types.js';
import { defineAgent } from './agent.js';
import { agentSpecOf, returnedHandoff } from './definition.js';
import { handoff } from './handoff.js';
import { defineTool } from './tool.js';

const model: Model = { id: 'none', provider: 'none', async *stream() {} };
const make = handoff as (...given: unknown[]) => unknown;
const specOf = (...given: unknown[]) => returnedHandoff(make(...given));
const invalid = (message: string) => expect.objectContaining({ code: 'CONFIG_INVALID', message });
const named = (name: string) => defineAgent({ name, instructions: '', model });
const billing = named('billing');

test('as an entry of handoffs, what is not said has its default', () => {
  expect(specOf(billing)).toEqual({
    kind: 'handoff',
    target: agentSpecOf(billing, 'It'),
    name: 'transfer_to_billing',
    description: undefined,
    input: undefined,
    brief: undefined,
    history: undefined,
    enabled: true,
    text: undefined,
  });
});

test('as an entry of handoffs, it keeps what is said', () => {
  const [brief, history, enabled] = [() => 'b', () => [], () => true];
  const spec = specOf(billing, { name: 'to_billing', description: 'd', input: z.object({ why: z.string() }), brief, history, enabled });
  expect(spec).toMatchObject({ name: 'to_billing', description: 'd', brief, history, enabled, text: undefined });
  expect(spec?.input?.json).toMatchObject({ properties: { why: { type: 'string' } } });
});

test('as what execute returns, it holds the brief as text', () => {
  const history = () => [];
  const spec = specOf(billing, { brief: 'A refund of 3.', history });
  expect(spec).toMatchObject({ text: 'A refund of 3.', history, target: { name: 'billing' } });
  expect(spec?.brief?.({} as never)).toBe('A refund of 3.');
});

test('an empty brief is a brief', () => {
  expect(specOf(billing, { brief: '' })?.text).toBe('');
});

test('the target may be a name that is looked up later', () => {
  expect(specOf('triage', { brief: 'x' })).toMatchObject({ target: 'triage', name: 'transfer_to_triage' });
});

test('it shows nothing, cannot be changed, and is told apart from all else', () => {
  const made = make(billing);
  expect([JSON.stringify(made), Object.isFrozen(made), Object.isFrozen(specOf(billing))]).toEqual(['{}', true, true]);
  for (const other of [undefined, null, 3, 'x', {}, [], billing, { kind: 'handoff' }]) expect(returnedHandoff(other)).toBeUndefined();
});

test.each([
  ['Customer Service', 'transfer_to_Customer_Service'],
  ['billing/eu: refunds', 'transfer_to_billing_eu_refunds'],
  ['größe', 'transfer_to_gr_e'],
  ['a-b_c', 'transfer_to_a-b_c'],
])('the tool of a handoff to %s is named %s', (agent, tool) => {
  expect(specOf(named(agent))?.name).toBe(tool);
});

test.each(['客服', '—', 'x'.repeat(60)])('where no tool name can be made of %s, it asks for one', (agent) => {
  expect(() => make(named(agent))).toThrow(
    invalid(
      `No tool name can be made of the agent's name "${agent}". Hand over with handoff(agent, { name }), and give it 1 to 64 letters, digits, underscores and hyphens.`,
    ),
  );
  expect(specOf(named(agent), { name: 'to_service' })?.name).toBe('to_service');
});

const tool = defineTool({ name: 'pay', description: '', input: z.object({}), execute: () => '' });
const options = 'name, description, input, brief, history, enabled';
test.each<[string, unknown[], string]>([
  ['no target', [], 'The target of a handoff is undefined. Expected an agent made by defineAgent.'],
  [
    'a definition as the target',
    [{ name: 'billing', instructions: '' }],
    'The target of a handoff is an object. Expected an agent made by defineAgent.',
  ],
  ['a tool as the target', [tool], 'The target of a handoff is a tool pay. Expected an agent made by defineAgent.'],
  ['a handoff as the target', [handoff(billing)], 'The target of a handoff is a handoff. Expected an agent made by defineAgent.'],
  ['a blank name', [''], 'The target of a handoff is a blank name, or one with control characters. Give an agent, or the name of one.'],
  [
    'options that are a text',
    [billing, 'please'],
    `A handoff to billing was given "please" as its options. Give an object with ${options}.`,
  ],
  [
    'a misspelt option',
    [billing, { breif: 'x' }],
    `A handoff to billing has an option "breif", which does not exist. Did you mean brief? The options are ${options}.`,
  ],
  [
    'a name that is no tool name',
    [billing, { name: 'to billing' }],
    'A handoff to billing has "to billing" as `name`, which the model\'s provider would refuse. Give 1 to 64 letters, digits, underscores and hyphens.',
  ],
  [
    'an empty name',
    [billing, { name: '' }],
    'A handoff to billing has "" as `name`, which the model\'s provider would refuse. Give 1 to 64 letters, digits, underscores and hyphens.',
  ],
  [
    'a brief that is a number',
    [billing, { brief: 3 }],
    'A handoff to billing has 3 as `brief`. Give a text, or a function that makes it of the arguments.',
  ],
  [
    'a history that is no function',
    [billing, { history: 'all' }],
    'A handoff to billing has "all" as `history`. Give a function, or leave it out.',
  ],
  [
    'an enabled that is a text',
    [billing, { enabled: 'yes' }],
    'A handoff to billing has "yes" as `enabled`. Give true, false or a function, or leave it out.',
  ],
  [
    'a description that is no text',
    [billing, { description: [] }],
    'A handoff to billing has a list as `description`. Give a text, or leave it out.',
  ],
])('%s is refused', (_what, given, message) => {
  expect(() => make(...given)).toThrow(invalid(message));
});

test('arguments whose root is no object are refused', () => {
  expect(() => make(billing, { input: z.string() })).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(/^The input of the handoff to billing .*object/) }),
  );
});
