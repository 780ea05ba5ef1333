// A tool: a name, a schema, and a function. Bad input and failures are told to the model, which can try again.
import assert from 'node:assert/strict';
import { assertCompleted, defineAgent, defineTool, run, toolError } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const prices = new Map([
  ['tent', 24_000],
  ['headlamp', 3_500],
]);

const findPrice = defineTool({
  name: 'find_price',
  description: 'Finds what an item costs, in cents.',
  input: z.object({ item: z.string().min(1), amount: z.number().int().positive().default(1) }),
  // What it does to the world. Policies rely on it; left out, they expect the worst.
  flow: { effect: 'read', results: 'trusted' },
  execute: ({ item, amount }) => {
    const cents = prices.get(item);
    // What a tool throws never ends the run: it becomes a result that says what went wrong.
    if (cents === undefined) throw toolError(`There is no ${item}.`, { errorClass: 'not_found' });
    return { item, amount, cents: cents * amount };
  },
});

// The model errs twice, and is told so: first its input does not fit the schema, then the item is not there.
const model = scriptedModel([
  callTool('find_price', { item: 'tent', amount: 'two' }),
  // Two calls in one answer run together; their results stand in call order.
  [callTool('find_price', { item: 'tent', amount: 2 }), callTool('find_price', { item: 'kayak' })],
  say('Two tents cost €480. We have no kayaks.'),
]);

const shop = defineAgent({ name: 'shop', instructions: 'Tell people what things cost.', model, tools: [findPrice] });
const result = await run(shop, 'What do two tents and a kayak cost?');

for (const message of result.messages) if (message.role === 'tool') console.log(message.isError ? 'error ' : 'result', message.content);
assertCompleted(result);
console.log(result.text);

// Each call has ended exactly once, and stands in the transcript in call order, whichever was faster.
const ends = result.messages.flatMap((message) =>
  message.role === 'tool' ? [`${message.callId} ${message.isError ? 'error' : 'ok'}`] : [],
);
assert.deepEqual(ends, ['1.0 error', '2.0 ok', '2.1 error']);
