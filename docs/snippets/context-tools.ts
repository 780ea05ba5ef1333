import assert from 'node:assert/strict';
import { defineAgent, defineTool, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const catalogue = ['order', 'invoice', 'parcel', 'refund', 'address', 'coupon', 'review', 'product'].flatMap((thing) =>
  ['find', 'list', 'change'].map((verb) =>
    defineTool({
      name: `${verb}_${thing}`,
      description: `To ${verb} the ${thing} of a customer.`,
      input: z.object({ id: z.string() }),
      flow: { effect: verb === 'change' ? 'write' : 'read' },
      execute: ({ id }) => `${thing} ${id}`,
    }),
  ),
);
const getCustomer = defineTool({
  name: 'get_customer',
  description: 'Who this conversation is with.',
  input: z.object({}),
  flow: { effect: 'read' },
  execute: () => 'Anna',
});
const model = scriptedModel([
  callTool('find_parcel', { id: '7' }),
  callTool('search_tools', { query: 'change the address' }),
  callTool('change_address', { id: '7' }),
  say('Done.'),
]);

// #region select
import { searchTools, selectTools } from '@guardloop/context';

const select = selectTools({ top: 5, always: [getCustomer] });
const agent = defineAgent({
  name: 'desk',
  instructions: 'Help customers with their orders.',
  model: select(model),
  tools: [getCustomer, ...catalogue, searchTools],
});
// #endregion
const result = await run(agent, 'Where is my parcel 7? Send it to my new address.');
assert.equal(result.status, 'completed');
assert.deepEqual(auditLog(result.log), []);
for (const { tools } of model.requests) assert.ok(tools.length < catalogue.length / 2);

const vectors: Readonly<Record<string, readonly number[]>> = {};
const embed = async (texts: readonly string[], _signal: AbortSignal): Promise<readonly (readonly number[])[]> =>
  texts.map((text) => vectors[text] ?? [text.includes('parcel') ? 1 : 0, 1]);

// #region by
import type { ToolRanker } from '@guardloop/context';
import { byEmbeddings, byWords } from '@guardloop/context';

const near = byEmbeddings((texts, { signal }) => embed(texts, signal)); // your service: one vector for each text
const exact = byWords();
const both: ToolRanker = async (words, tools, info) => [
  ...(await exact(words, tools, { ...info, limit: 3 })),
  ...(await near(words, tools, info)),
];
const selectByBoth = selectTools({ by: both });
// #endregion
const second = scriptedModel([say('It is on its way.')]);
const other = await run(
  defineAgent({ name: 'desk', instructions: '', model: selectByBoth(second), tools: catalogue }),
  'Where is my parcel?',
);
assert.equal(other.status, 'completed');
assert.equal(second.requests[0]?.tools.length, 10);
