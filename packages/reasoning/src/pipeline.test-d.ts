import type { Agent, Answer } from '@guardloop/core';
import { defineAgent, withContext } from '@guardloop/core';
import { scriptedModel } from '@guardloop/testing';
import { z } from 'zod';
import { pipeline } from './pipeline.js';
import { planAndExecute } from './plan-and-execute.js';
import { planSchema } from './plan-schema.js';
import { verdictSchema, withReflection } from './with-reflection.js';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <T extends true>(): T | undefined => undefined;

const model = scriptedModel([]);
const order = z.object({ id: z.string(), cents: z.number() });
const reads = defineAgent({ name: 'reads', instructions: '', model, output: order });
const writes = defineAgent({ name: 'writes', instructions: '', model });

// What a stage takes is what the one before it gives.
export const fits = pipeline({
  name: 'fits',
  stages: [(text) => text.length, (count) => count.toFixed(1), reads, ({ cents }) => cents + 1],
});
is<Equal<typeof fits, Agent<unknown, Answer<'fits', string>>>>();
export const typed = pipeline({ name: 'typed', stages: [reads], output: order });
is<Equal<typeof typed, Agent<unknown, Answer<'typed', { id: string; cents: number }>>>>();
// @ts-expect-error the first stage is given a text
export const first = pipeline({ name: 'first', stages: [(count: number) => count + 1] });
// @ts-expect-error an agent's answer is no number
export const second = pipeline({ name: 'second', stages: [reads, (count: number) => count + 1] });
// @ts-expect-error a field that the answer does not have
export const third = pipeline({ name: 'third', stages: [reads, ({ euros }: { euros: number }) => euros] });
// What goes on is JSON: a date is its text.
export const dated = pipeline({ name: 'dated', stages: [() => ({ at: new Date() }), ({ at }) => at.slice(0, 4)] });
// @ts-expect-error so it is no date
export const undated = pipeline({ name: 'undated', stages: [() => ({ at: new Date() }), ({ at }: { at: Date }) => at.getTime()] });

// The context of an agent is the context of the whole.
interface Shop {
  readonly user: string;
}
const shop = withContext<Shop>();
const inShop = shop.defineAgent({ name: 'in_shop', instructions: '', model });
export const shopping = pipeline({ name: 'shopping', stages: [inShop, (text, { context }) => `${text} ${context.user}`] });
is<Equal<typeof shopping, Agent<Shop, Answer<'shopping', string>>>>();

const planner = defineAgent({ name: 'planner', instructions: '', model, output: planSchema });
export const planned = planAndExecute({ name: 'planned', planner, executor: reads });
is<Equal<typeof planned, Agent<unknown, Answer<'planned', string>>>>();
// @ts-expect-error a planner answers with a plan
export const unplanned = planAndExecute({ name: 'unplanned', planner: writes, executor: writes });
// @ts-expect-error the finisher answers what the agent is to answer
export const unfinished = planAndExecute({ name: 'unfinished', planner, executor: writes, finisher: writes, output: order });

export const careful = withReflection({
  name: 'careful',
  agent: reads,
  output: order,
  judge: ({ output }) => (output?.cents ? undefined : 'no'),
});
is<Equal<typeof careful, Agent<unknown, Answer<'careful', { id: string; cents: number }>>>>();
const judge = defineAgent({ name: 'judge', instructions: '', model, output: verdictSchema });
export const judged = withReflection({ name: 'judged', agent: writes, judge });
is<Equal<typeof judged, Agent<unknown, Answer<'judged', string>>>>();
// @ts-expect-error an agent that answers with an object needs `output`
export const loose = withReflection({ name: 'loose', agent: reads, judge });
// @ts-expect-error a judge answers with a verdict
export const unjudged = withReflection({ name: 'unjudged', agent: writes, judge: writes });
