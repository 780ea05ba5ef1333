import assert from 'node:assert/strict';

const orders = (customer: string, since: string | undefined, limit: number) => `${limit} orders of ${customer} since ${since ?? 'ever'}`;

// #region tool
import { defineTool } from '@guardloop/core';
import { z } from 'zod';

const findOrders = defineTool({
  name: 'find_orders',
  description: 'Find the orders of a customer.',
  input: z.object({ customer: z.string(), since: z.iso.date().optional(), limit: z.int().max(50).default(10) }),
  strict: true, // left out: 'auto'
  execute: ({ customer, since, limit }) => orders(customer, since, limit),
});
// #endregion
const tagOrder = defineTool({
  name: 'tag_order',
  description: 'Tag an order.',
  input: z.object({ orderId: z.string(), tags: z.record(z.string(), z.string()) }),
  execute: () => 'tagged',
});

// #region coverage
import { coverage, defineAgent } from '@guardloop/core';
import { openai } from '@guardloop/openai';

const desk = defineAgent({ name: 'desk', instructions: 'Be brief.', model: openai('gpt-5'), tools: [findOrders, tagOrder] });
const strictness = coverage(desk).flatMap(({ tool, strict }) => (strict === undefined ? [] : [{ tool, ...strict }]));
// [{ tool: 'find_orders', asked: true, isStrict: true },
//  { tool: 'tag_order', asked: 'auto', isStrict: false, why: 'tags (propertyNames). It takes fields of any name. Name the fields, …' }]
// #endregion
assert.deepEqual(
  strictness.map(({ tool, asked, isStrict }) => [tool, asked, isStrict]),
  [
    ['find_orders', true, true],
    ['tag_order', 'auto', false],
  ],
);
assert.match(strictness[1]?.why ?? '', /^tags \(propertyNames\)\. It takes fields of any name\. Name the fields, /);
