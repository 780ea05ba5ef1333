import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Model } from '../model/types.js';
import { defineAgent } from './agent.js';
import { agentSpecOf, guardrailSpecOf, publish, returnedHandoff, specBehind, toolSpecOf } from './definition.js';
import { defineGuardrail } from './guardrail.js';
import { handoff } from './handoff.js';
import { definePolicy } from './policy.js';
import { spec } from './specs.js';
import { defineTool } from './tool.js';
import { allow } from './verdict.js';

const model: Model = { id: 'none', provider: 'none', async *stream() {} };
const agent = defineAgent({ name: 'billing', instructions: '', model });
const tool = defineTool({ name: 'pay', description: '', input: z.object({}), execute: () => '' });
const guardrail = defineGuardrail({ name: 'own', on: ['input'], check: () => allow() });
const policy = definePolicy({ name: 'rules', rules: [], otherwise: 'deny' });
const handing = handoff(agent);
const invalid = (message: string) => expect.objectContaining({ code: 'CONFIG_INVALID', message });

test('what users hold shows what it shall, is frozen, and hides its spec', () => {
  const hidden = agentSpecOf(agent, 'It');
  const shown = publish<object>({ name: 'x' }, hidden);
  expect([{ ...shown }, JSON.stringify(shown), Object.keys(shown), Object.isFrozen(shown)]).toEqual([
    { name: 'x' },
    '{"name":"x"}',
    ['name'],
    true,
  ]);
  expect(specBehind(shown)).toBe(hidden);
});

test('the spec of each kind is found by its kind', () => {
  expect(agentSpecOf(agent, 'It')).toBe(specBehind(agent));
  expect(toolSpecOf(tool, 'It')).toBe(specBehind(tool));
  expect(guardrailSpecOf(guardrail, 'It')).toBe(specBehind(guardrail));
  expect(guardrailSpecOf(policy, 'It')).toBe(specBehind(policy));
  expect(returnedHandoff(handing)).toBe(specBehind(handing));
  expect([agent, tool, guardrail, policy, undefined, {}].map(returnedHandoff)).toEqual(Array.from({ length: 6 }, () => undefined));
});

test('nothing is behind what no define function made', () => {
  const throwing = new Proxy(
    {},
    {
      get() {
        throw new Error('no');
      },
    },
  );
  for (const other of [undefined, null, 3, 'x', {}, [], () => agent, throwing]) expect(specBehind(other)).toBeUndefined();
  for (const behind of [undefined, null, 'agent', {}, { kind: 'run' }, { kind: 'toString' }, { kind: 3 }, { kind: Object.create(null) }])
    expect(specBehind({ [spec]: behind })).toBeUndefined();
});

const made = {
  agent: 'Expected an agent made by defineAgent.',
  tool: 'Expected a tool made by defineTool or asTool.',
  guardrail: 'Expected a guardrail made by defineGuardrail or definePolicy.',
};
test.each<[unknown, string]>([
  [undefined, 'undefined'],
  ['pay', '"pay"'],
  [{ name: 'pay' }, 'an object'],
  [handing, 'a handoff'],
])('%o in the place of any of them is refused in words', (given, described) => {
  expect(() => agentSpecOf(given, 'It')).toThrow(invalid(`It is ${described}. ${made.agent}`));
  expect(() => toolSpecOf(given, 'It')).toThrow(invalid(`It is ${described}. ${made.tool}`));
  expect(() => guardrailSpecOf(given, 'It')).toThrow(invalid(`It is ${described}. ${made.guardrail}`));
});

test('one kind in the place of another is refused by its kind and name', () => {
  expect(() => agentSpecOf(tool, 'It')).toThrow(invalid(`It is a tool pay. ${made.agent}`));
  expect(() => agentSpecOf(policy, 'It')).toThrow(invalid(`It is a guardrail rules. ${made.agent}`));
  expect(() => toolSpecOf(agent, 'It')).toThrow(invalid(`It is the agent billing. ${made.tool}`));
  expect(() => guardrailSpecOf(agent, 'It')).toThrow(invalid(`It is the agent billing. ${made.guardrail}`));
});
