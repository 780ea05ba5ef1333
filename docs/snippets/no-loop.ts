import assert from 'node:assert/strict';
import { defineTool } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';

const model = scriptedModel([say('{"topic":"refund"}')]);

// #region one-call
import { defineAgent, run } from '@guardloop/core';
import { z } from 'zod';

const topics = z.object({ topic: z.enum(['refund', 'order', 'other']) });
const sorter = defineAgent({ name: 'sorter', instructions: 'Sort letters by topic.', model, output: topics }); // no tools: one model call
const sorted = await run(sorter, 'I want my money back.', { limits: { turns: 2 } }); // one more where the answer must be repaired
// #endregion
assert.deepEqual(sorted.status === 'completed' && sorted.output, { topic: 'refund' });

const find = defineTool({ name: 'find', description: 'Finds.', input: z.object({}), flow: { effect: 'read' }, execute: () => 'Found.' });
const looping = defineAgent({ name: 'looping', instructions: '', model: scriptedModel([callTool('find'), say('Found.')]), tools: [find] });
const logs = [await run(looping, 'one'), await run(looping, 'two')].map(({ log }) => log);

// #region order
import { steps } from '@guardloop/reasoning';

const orders = logs.map((log) => steps(log).flatMap(({ action }) => (action.kind === 'call' ? [action.name] : [])));
const isAlwaysTheSame = new Set(orders.map((order) => order.join(' '))).size === 1; // then a pipeline does it
// #endregion
assert.equal(isAlwaysTheSame, true);

// The figures of the guide: eight lookups of 2,000 characters each, and an answer from what was noted of them.
import type { Message, Model } from '@guardloop/core/model';
import { pipeline, planAndExecute, planSchema } from '@guardloop/reasoning';

const count = 8;
const read = defineTool({
  name: 'read',
  description: 'Reads a page.',
  input: z.object({ page: z.number() }),
  flow: { effect: 'read' },
  execute: ({ page }) => `Page ${page}: ${'x'.repeat(1_990)}`,
});
const charsOf = (messages: readonly Message[]): number =>
  messages.reduce(
    (sum, each) => sum + (each.role === 'assistant' ? each.text : JSON.stringify(each.role === 'tool' ? each.content : each.parts)).length,
    0,
  );
/** What a way of working sends to its models. */
async function measure(make: (model: Model) => Parameters<typeof run>[0], script: Parameters<typeof scriptedModel>[0]) {
  const counted = scriptedModel(script);
  const result = await run(make(counted), 'Sum up the eight pages.', { limits: { turns: 200 } });
  assert.equal(result.status, 'completed');
  return { calls: result.usage.requests, chars: counted.requests.reduce((sum, { messages }) => sum + charsOf(messages), 0) };
}
const pages = Array.from({ length: count }, (_, index) => index + 1);
const reads = (each: Model) => defineAgent({ name: 'reader', instructions: '', model: each, tools: [read] });
const loop = await measure(reads, ({ turn }) => (turn <= count ? callTool('read', { page: turn }) : say('All of it.')));
const planSteps = [
  ...pages.map((page) => ({ id: `p${page}`, goal: `Read page ${page}`, needs: [] })),
  { id: 'sum', goal: 'Sum it up', needs: pages.map((page) => `p${page}`) },
];
const planned = await measure(
  (each) =>
    planAndExecute({
      name: 'planned',
      planner: defineAgent({ name: 'planner', instructions: '', model: each, output: planSchema }),
      executor: reads(each),
    }),
  ({ agent, turn, messages }) => {
    if (agent === 'planner') return say(JSON.stringify({ steps: planSteps }));
    const page = /Read page (\d+)/.exec(JSON.stringify(messages[0]))?.[1];
    return page !== undefined && turn === 1 ? callTool('read', { page: Number(page) }) : say(`Noted: ${'y'.repeat(90)}`);
  },
);
const piped = await measure(
  (each) =>
    pipeline({
      name: 'piped',
      stages: [
        () => pages.map((page) => `Page ${page}: ${'x'.repeat(1_990)}`).join('\n'),
        defineAgent({ name: 'writer', instructions: '', model: each }),
      ],
    }),
  () => say('All of it.'),
);
assert.deepEqual([loop.calls, planned.calls, piped.calls], [9, 18, 1]);
assert.deepEqual(
  [loop, planned, piped].map(({ chars }) => Math.round(chars / 1_000)),
  [73, 19, 16],
);
