import type { Mode } from '@guardloop/core';
import { defineAgent, defineGuardrail, defineTool, deny, run } from '@guardloop/core';
import { react, textReact } from '@guardloop/reasoning';
import { auditLog } from '@guardloop/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { evaluate } from '../evaluate.js';
import { hopModel } from './hop-model.js';
import { hopTasks } from './hop-tasks.js';
import { hopTools } from './hop-tools.js';

const modes: readonly (readonly [string, Mode | undefined])[] = [
  ['tools', undefined],
  ['react', react()],
  ['text-react', textReact()],
];

it.each(modes)('the embedded model answers all five tasks in %s, on the evidence, with the calls that they take', async (name, mode) => {
  const result = await evaluate({
    name,
    tasks: hopTasks,
    agent: () => defineAgent({ name: 'a', instructions: 'Answer.', model: hopModel(), mode, tools: hopTools() }),
    run: { limits: { turns: 12 } },
    onTrial: ({ log }) => expect(auditLog(log)).toEqual([]),
  });
  expect(result.tasks.length).toBe(5);
  expect(result.scores).toMatchObject({ success: 1, recall: 1, justified: 1, recovery: 1, redundant: 0 });
});

it('the embedded model decides by what tools say, not by what they are called: others, in another order, with other words', async () => {
  const tools = [
    defineTool({
      name: 'zoo',
      description: 'Gets an animal: its keeper.',
      input: z.object({ animal: z.string() }),
      flow: { effect: 'read' },
      execute: ({ animal }) => ({ animal, keeper: 'Ida', keeperId: 'k1' }),
    }),
    defineTool({
      name: 'staff',
      description: 'Gets the salary of somebody.',
      input: z.object({ workerId: z.string() }),
      flow: { effect: 'read' },
      execute: ({ workerId }) => ({ workerId, salary: workerId === 'k1' ? 3_000 : 0 }),
    }),
  ];
  for (const [, mode] of modes) {
    const agent = defineAgent({ name: 'a', instructions: '', model: hopModel(), mode, tools: tools.toReversed() });
    const result = await run(agent, 'What is the salary of the keeper of the lion?');
    expect(result.status === 'completed' && result.text).toBe('the salary of the keeper of the lion: 3000');
  }
});

it('the embedded model says so when it finds no way', async () => {
  const agent = defineAgent({ name: 'a', instructions: '', model: hopModel(), tools: hopTools() });
  const result = await run(agent, 'What is the shoe size of the discoverer of radium?', { limits: { turns: 12 } });
  expect(result.status === 'completed' && result.text).toBe('I could not find the shoe size of Marie Curie.');
});

it('the embedded model takes a refusal for an answer, and does not ask again', async () => {
  const closed = defineGuardrail({ name: 'closed', on: ['toolInput'], tools: ['search_*'], check: () => deny('closed') });
  for (const [, mode] of modes) {
    const agent = defineAgent({ name: 'a', instructions: '', model: hopModel(), mode, tools: hopTools(), guardrails: [closed] });
    const result = await run(agent, 'What is the population of the birthplace of the discoverer of oxygen?', { limits: { turns: 12 } });
    expect(result.status === 'completed' && result.text).toBe('I could not find the birthplace of Joseph Priestley.');
    expect(result.events.filter((event) => event.type === 'guard.verdict' && event.action === 'deny').length).toBe(1);
  }
});
