import assert from 'node:assert/strict';
// #region agent
import { allow, defineAgent, defineGuardrail, defineTool, deny, run } from '@guardloop/core';
import { openai } from '@guardloop/openai';
import { z } from 'zod';

const refundOrder = defineTool({
  name: 'refund_order',
  description: 'Refund one order, in cents.',
  input: z.object({ orderId: z.string(), cents: z.number().int().positive() }),
  flow: { effect: 'send' },
  execute: ({ orderId, cents }) => ({ refundId: `r-${orderId}`, cents }),
});

const smallRefunds = defineGuardrail({
  name: 'small-refunds',
  on: ['toolInput'],
  tools: ['refund_order'],
  check: ({ raw }) => (Number(raw.cents) <= 5_000 ? allow() : deny('a person makes refunds above 50.00; say so')),
});

const instructions = 'You refund orders for customers. Be brief.';
const billing = defineAgent({ name: 'billing', instructions, model: openai('gpt-5'), tools: [refundOrder], guardrails: [smallRefunds] });

const result = await run(billing, 'Refund my order o1, it cost 120.00.');
if (result.status === 'completed') console.log(result.text);
else console.log(result.status, result.status === 'failed' ? result.error.message : '');
// #endregion
assert.equal(result.status, 'completed');
assert.match(result.status === 'completed' ? result.text : '', /I was told: .*a person makes refunds above 50/);
assert.ok(result.events.every(({ type }) => type !== 'tool.start'));
