// Rules about tool calls as a table: the first rule that fits answers. It compiles to one guardrail on `toolInput`.
import assert from 'node:assert/strict';
import { definePolicy, defineTool, run, withContext } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

// The context is yours: core hands it to tools and guardrails, and never to the model. `withContext` binds its type once.
interface Clerk {
  readonly mayRefund: boolean;
}
const { defineAgent, definePolicy: defineClerkPolicy } = withContext<Clerk>();

const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order.',
  input: z.object({ orderId: z.string() }),
  flow: { effect: 'read', results: 'trusted' },
  execute: ({ orderId }) => ({ orderId, cents: 12_000 }),
});
const paid: number[] = [];
const refundOrder = defineTool({
  name: 'refund_order',
  description: 'Refunds an order, in cents.',
  input: z.object({ orderId: z.string(), cents: z.number().int().positive() }),
  flow: { effect: 'send', results: 'trusted', authority: ['orderId', 'cents'] },
  execute: ({ cents }) => {
    paid.push(cents);
    return { refunded: cents };
  },
});

const policy = defineClerkPolicy({
  name: 'refunds',
  rules: [
    { tool: 'find_*', then: 'allow' }, // a pattern
    { tool: refundOrder, when: (_input, { context }) => !context.mayRefund, then: 'deny', reason: 'this clerk may not refund' },
    { tool: refundOrder, when: ({ cents }) => cents <= 5_000, then: 'allow' }, // `cents` is typed by the tool
    { tool: refundOrder, then: 'ask', reason: 'more than €50' }, // a person decides
  ],
  otherwise: 'deny', // a tool that nobody thought of
});

async function ask(cents: number, context: Clerk): Promise<string> {
  const model = scriptedModel([
    callTool('find_order', { orderId: 'o1' }),
    callTool('refund_order', { orderId: 'o1', cents }),
    say('Done.'),
  ]);
  const agent = defineAgent({ name: 'clerk', instructions: 'Refund.', model, tools: [findOrder, refundOrder], guardrails: [policy] });
  const result = await run(agent, `Refund ${cents} cents for order o1.`, { context });
  const verdict = result.events.findLast((event) => event.type === 'guard.verdict');
  const answer = verdict?.type === 'guard.verdict' ? `${verdict.action}${verdict.reason ? ` (${verdict.reason})` : ''}` : 'nothing';
  console.log(`${cents} cents, ${context.mayRefund ? 'may' : 'may not'} refund → ${answer}; the run is ${result.status}`);
  return answer;
}

assert.equal(await ask(4_000, { mayRefund: true }), 'allow');
assert.equal(await ask(9_000, { mayRefund: true }), 'ask (more than €50)');
assert.equal(await ask(4_000, { mayRefund: false }), 'deny (this clerk may not refund)');
assert.deepEqual(paid, [4_000]);

// A rule about a tool that the agent does not have is a mistake, and is found when the agent is defined.
const typo = definePolicy({ name: 'typo', rules: [{ tool: 'refund_ordr', then: 'ask' }], otherwise: 'allow' });
const model = scriptedModel([]);
assert.throws(() => defineAgent({ name: 'clerk', instructions: '', model, tools: [refundOrder], guardrails: [typo] }), /refund_ordr/);
