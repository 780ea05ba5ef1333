import assert from 'node:assert/strict';
import { defineAgent, defineTool, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const findOrder = defineTool({
  name: 'find_order',
  description: 'Find.',
  input: z.object({ orderId: z.string() }),
  execute: () => 'found',
});
const refundOrder = defineTool({
  name: 'refund_order',
  description: 'Refund.',
  input: z.object({ orderId: z.string(), cents: z.number() }),
  execute: () => 'refunded',
});
const sendMail = defineTool({
  name: 'send_mail',
  description: 'Mail.',
  input: z.object({ text: z.string() }),
  flow: { effect: 'send' },
  execute: () => 'sent',
});

// #region policy

import { definePolicy } from '@guardloop/core';

const policy = definePolicy({
  name: 'tool-policy',
  rules: [
    { tool: 'find_*', then: 'allow' }, // a name or a pattern: `input` is unknown in `when`
    { tool: refundOrder, when: ({ cents }) => cents <= 1_000, then: 'allow' }, // a tool: `when` is typed by it
    { tool: refundOrder, then: 'ask', reason: 'refunds above 10.00 need a person' },
    { tool: '*', when: (_input, { flow, untrustedReads }) => flow.effect === 'send' && untrustedReads.length > 0, then: 'deny' },
  ],
  otherwise: 'deny',
});
// #endregion
const agent = (name: string, input: Record<string, string | number>) =>
  defineAgent({
    name: 'desk',
    instructions: '',
    model: scriptedModel([callTool(name, input), say('Done.')]),
    tools: [findOrder, refundOrder, sendMail],
    guardrails: [policy],
  });
const ends = async (name: string, input: Record<string, string | number>) => {
  const result = await run(agent(name, input), 'Go.');
  return result.status === 'interrupted'
    ? result.approvals[0]?.reason
    : result.events.flatMap((event) => (event.type === 'tool.end' ? event.status : []))[0];
};
assert.equal(await ends('find_order', { orderId: 'o1' }), 'ok');
assert.equal(await ends('refund_order', { orderId: 'o1', cents: 500 }), 'ok');
assert.equal(await ends('refund_order', { orderId: 'o1', cents: 5_000 }), 'refunds above 10.00 need a person');
assert.equal(await ends('send_mail', { text: 'hi' }), 'denied');
