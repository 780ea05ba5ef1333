import assert from 'node:assert/strict';
// #region context
import { allow, deny, memorySession, run, stream, withContext } from '@guardloop/core';
import { openai } from '@guardloop/openai';
import { z } from 'zod';

interface Shop {
  readonly userId: string;
  readonly orders: ReadonlyMap<string, { readonly owner: string; readonly status: string }>;
}
const { defineAgent, defineTool, defineGuardrail } = withContext<Shop>();
// #endregion

// #region agent
const findOrder = defineTool({
  name: 'find_order',
  description: 'Find one order by its id.',
  input: z.object({ orderId: z.string().describe('For example o1.') }),
  flow: { effect: 'read' },
  execute: ({ orderId }, { context }) => context.orders.get(orderId) ?? 'There is no such order.',
});

const ownOrders = defineGuardrail({
  name: 'own-orders',
  on: ['toolInput'],
  tools: ['find_order'],
  check: ({ raw }, { context }) => {
    const order = context.orders.get(String(raw.orderId));
    return order === undefined || order.owner === context.userId ? allow() : deny('this order is not of the signed-in customer');
  },
});

const desk = defineAgent({
  name: 'desk',
  instructions: ({ context }) => `You serve customer ${context.userId}. Be brief.`,
  model: openai('gpt-5'),
  tools: [findOrder],
  guardrails: [ownOrders],
  refusal: 'I cannot help with that here.',
});
// #endregion

// #region run
const context: Shop = { userId: 'u1', orders: new Map([['o1', { owner: 'u1', status: 'shipped' }]]) };
const sessions = memorySession();

const result = await run(desk, 'Where is order o1?', { context, session: { store: sessions, id: 'chat-1' } });
switch (result.status) {
  case 'completed': // result.output, result.text, result.agent
    console.log(result.text);
    break;
  case 'blocked': // result.by, result.surface, result.reason
    console.log(result.reply ?? 'Refused.');
    break;
  case 'interrupted': // result.approvals: ask a person, then `resume`
  case 'exhausted': // result.limit
  case 'cancelled':
    console.log(result.status);
    break;
  case 'failed': // no key, for example
    console.log(result.error.message);
}
// #endregion
assert.match(result.status === 'completed' ? result.text : '', /shipped/);

// #region stream
const events = stream(desk, 'And order o2?', { context, session: { store: sessions, id: 'chat-1' } });
for await (const event of events) {
  if (event.type === 'text.delta') process.stdout.write(event.text);
}
const last = await events.result;
// #endregion
assert.equal(last.status, 'completed');
assert.equal(last.messages.filter(({ role }) => role === 'user').length, 2);
