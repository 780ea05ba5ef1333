import { allow, defineAgent, defineGuardrail } from '@guardloop/core';
import { scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { pipeline } from './pipeline.js';
import { planAndExecute } from './plan-and-execute.js';
import { planSchema } from './plan-schema.js';
import { withReflection } from './with-reflection.js';

const model = scriptedModel([]);
const worker = defineAgent({ name: 'worker', instructions: '', model });
const planner = defineAgent({ name: 'planner', instructions: '', model, output: planSchema });
const guardrails = [defineGuardrail({ name: 'g', on: ['input'], check: () => allow() })];

const makers = {
  planAndExecute: { make: planAndExecute, whole: { name: 'd', planner, executor: worker, guardrails, description: 'D.' } },
  withReflection: { make: withReflection, whole: { name: 'd', agent: worker, judge: () => undefined, guardrails, description: 'D.' } },
  pipeline: { make: pipeline, whole: { name: 'd', stages: [worker], guardrails, description: 'D.' } },
} as const;
const refusal = (text: string) => expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(text) });

describe.each(Object.entries(makers))('%s', (name, { make, whole }) => {
  const careless = make as (options?: unknown) => unknown;

  it('takes its own options, and those of every director', () => {
    expect(careless({ ...whole, output: undefined })).toMatchObject({ name: 'd' });
  });

  it.each([
    ['guardrail', 'Did you mean guardrails? '],
    // What it decides itself: what is given would be dropped.
    ['tools', ''],
    ['instructions', ''],
    ['model', ''],
    ['mode', ''],
    ['handoffs', ''],
  ])('refuses an option %s, which it does not have', (option, hint) => {
    expect(() => careless({ ...whole, [option]: [] })).toThrow(refusal(`${name}(…): there is no option ${option}. ${hint}`));
  });

  it.each([undefined, null, 'worker', [worker]])('refuses options that are none: %#', (given) => {
    expect(() => careless(given)).toThrow(refusal(`${name}(…): the options are no object.`));
  });
});

it.each([
  [{ paralel: true }, 'planAndExecute(…): there is no option paralel. Did you mean parallel? '],
  [{ parallel: 'yes' }, 'planAndExecute(…): parallel is no boolean. Give true or false, or leave it out.'],
  [{ check: 'all' }, 'planAndExecute(…): check is no function. Give a function, or leave it out.'],
  [{ replan: { maxx: 1 } }, '`replan` of planAndExecute(…): there is no option maxx. Did you mean max? '],
  [{ replan: 1 }, '`replan` of planAndExecute(…): the options are no object.'],
])('planAndExecute refuses %j', (given, told) => {
  const careless = planAndExecute as (options: unknown) => unknown;
  expect(() => careless({ ...makers.planAndExecute.whole, ...given })).toThrow(refusal(told));
});

it.each([undefined, 'abc', {}])('a pipeline refuses stages that are no list: %#', (stages) => {
  expect(() => (pipeline as (options: unknown) => unknown)({ name: 'd', stages })).toThrow(refusal('pipeline(…): stages is no list.'));
});
