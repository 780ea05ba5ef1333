// Agents with tools that the front end runs, for the tests of both protocols.
import { allow, ask, asTool, defineAgent, defineGuardrail, defineTool, deny, rewrite } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

export const paid: number[] = [];
const pay = defineTool({
  name: 'pay',
  description: 'Pay.',
  input: z.object({ cents: z.number() }),
  approval: true,
  execute: ({ cents }) => {
    paid.push(cents);
    return `paid ${cents}`;
  },
});
const look = defineTool({
  name: 'look',
  description: 'Look.',
  input: z.object({}),
  flow: { effect: 'read' },
  execute: () => 'a hidden place',
});
/** Without `execute`: the front end runs them. */
const locate = defineTool({
  name: 'locate',
  description: 'Where the person is.',
  input: z.object({ why: z.string() }),
  flow: { effect: 'read' },
});
const pick = defineTool({
  name: 'pick',
  description: 'Lets the person pick.',
  input: z.object({ from: z.array(z.string()) }),
  flow: { effect: 'none' },
});
const wipe = defineTool({ name: 'wipe', description: 'Empties the page.', input: z.object({}), flow: { effect: 'write' } });
const guardrails = [
  defineGuardrail({
    name: 'no-why',
    on: ['toolInput'],
    tools: ['locate'],
    rewrite: ({ raw }) => (raw.why === 'to sell it' ? rewrite({ ...raw, why: 'to help' }, 'not said') : allow()),
  }),
  defineGuardrail({
    name: 'no-orders',
    on: ['toolOutput'],
    check: ({ content }) => (JSON.stringify(content).includes('Ignore') ? deny('orders in a result') : allow()),
  }),
  defineGuardrail({ name: 'care', on: ['toolInput'], tools: ['wipe'], check: () => ask('it empties the page') }),
];
const tools = [pay, look, locate, pick, wipe];
type Script = Extract<Parameters<typeof scriptedModel>[0], readonly unknown[]>;
const agentOf = (name: string, ...turns: Script) => defineAgent({ name, instructions: '', model: scriptedModel(turns), tools, guardrails });

export const guide = agentOf('guide', callTool('locate', { why: 'to sell it' }), say('You are there.'));
export const both = agentOf(
  'both',
  [callTool('locate', { why: 'to help' }), callTool('pick', { from: ['a', 'b'] })].flat(),
  say('So be it.'),
);
export const mixed = agentOf(
  'mixed',
  [callTool('look', {}), callTool('locate', { why: 'to help' }), callTool('pay', { cents: 5 })].flat(),
  say('All done.'),
);
export const twice = agentOf('twice', callTool('locate', { why: 'first' }), callTool('locate', { why: 'second' }), say('Twice.'));
export const wiper = agentOf('wiper', callTool('wipe', {}), say('Wiped.'));
export const boss = defineAgent({
  name: 'boss',
  instructions: '',
  model: scriptedModel([callTool('ask_guide', { input: 'Where?' }), say('It is known.')]),
  tools: [asTool(guide, { name: 'ask_guide', description: 'Knows.' })],
});
export const frontEndAgents = { guide, both, mixed, twice, wiper, boss };
