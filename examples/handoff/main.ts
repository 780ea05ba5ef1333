// One agent hands the conversation over to another. What the other sees, and what it is told, is checked before it speaks.
import assert from 'node:assert/strict';
import { allow, assertCompleted, defineAgent, defineGuardrail, deny, handoff, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const noLegalAdvice = defineGuardrail({
  name: 'no-legal-advice',
  on: ['output'],
  check: ({ content }) => (/\bsue\b/i.test(content) ? deny('no legal advice') : allow()),
});
// Stands at the boundary itself. `to` says who would take over, `brief` what that agent would be told.
const noEmptyBrief = defineGuardrail({
  name: 'no-empty-brief',
  on: ['handoff'],
  check: ({ brief }) => (brief.length < 25 ? deny('say in the brief what the customer wants') : allow()),
});

// The first brief is too short: a refused handoff is something the model can act on, and the old agent stays.
const model = scriptedModel({
  triage: [callTool('to_billing', { wish: 'money' }), callTool('to_billing', { wish: 'was charged twice for A-1001' })],
  billing: [say('I have cancelled the second charge.')],
});
const billing = defineAgent({
  name: 'billing',
  description: 'Invoices and refunds.',
  instructions: 'Set charges right.',
  model,
  // By name, since the two lead to each other; names are looked up when a run starts.
  handoffs: ['triage'],
  guardrails: [noLegalAdvice],
});
const triage = defineAgent({
  name: 'triage',
  description: 'Finds out what people want.',
  instructions: 'Find out what the customer wants, then hand over.',
  model,
  // `handoffs: [billing]` alone would do; this gives the call a name, a typed brief, and a shorter history.
  handoffs: [
    handoff(billing, {
      name: 'to_billing',
      input: z.object({ wish: z.string() }),
      brief: ({ wish }) => `The customer ${wish}.`,
      history: (messages) => messages.filter(({ role }) => role === 'user'),
    }),
  ],
  guardrails: [noEmptyBrief],
});

const result = await run(triage, 'Hello! You took my money twice.');
assertCompleted(result);

for (const event of result.events) {
  if (event.type === 'tool.end') console.log(`${event.tool} ${event.status}: ${event.content}`);
  if (event.type !== 'handoff') continue;
  const names = event.manifest.agent.map(({ name }) => name);
  console.log(`${event.from} → ${event.to}: "${event.brief}" Guardrails from here on: ${names.join(', ')}`);
}
console.log(`${result.agent}: ${result.text}`);

// What billing's model saw: the customer's words and the brief, nothing of the failed attempt.
const seen = model.requests.at(-1)?.messages.map(({ role }) => role);
assert.deepEqual(seen, ['user', 'user']);
assert.equal(result.agent, 'billing');
assert.deepEqual(auditLog(result.log), []);
