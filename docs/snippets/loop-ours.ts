import assert from 'node:assert/strict';
// #region ours
import { allow, defineAgent, defineGuardrail, defineTool, deny, run } from '@guardloop/core';
import { openai } from '@guardloop/openai';
import { z } from 'zod';

const refundOrder = defineTool({
  name: 'refund_order',
  description: 'Refund one order, in cents.',
  input: z.object({ orderId: z.string(), cents: z.number().int().positive() }),
  flow: { effect: 'send' },
  execute: async ({ orderId, cents }) => ({ refundId: `r-${orderId}`, cents }),
});
const smallRefunds = defineGuardrail({
  name: 'small-refunds',
  on: ['toolInput'],
  check: ({ raw }) => (Number(raw.cents) <= 5_000 ? allow() : deny('a person makes refunds above 50.00; say so')),
});
const billing = defineAgent({
  name: 'billing',
  instructions: 'You refund orders for customers. Be brief.',
  model: openai('gpt-5'),
  tools: [refundOrder],
  guardrails: [smallRefunds],
});

export async function runWithGuardloop(question: string): Promise<string> {
  const result = await run(billing, question, { limits: { turns: 8 } });
  if (result.status === 'completed') return result.text;
  throw new Error(`the run ended ${result.status}`);
}
// #endregion
assert.match(await runWithGuardloop('Refund my order o1, it cost 120.00.'), /I was told: .*a person makes refunds above 50/);
