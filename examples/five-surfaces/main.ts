// The five places where a guardrail can stand. Everything that crosses one is seen by it first, in the form in which it crosses.
import assert from 'node:assert/strict';
import type { Surface } from '@guardloop/core';
import { allow, assertCompleted, defineAgent, defineGuardrail, defineTool, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

// This one stands everywhere, allows everything, and notes what it was shown.
const seen: { readonly surface: Surface; readonly content: string }[] = [];
const witness = defineGuardrail({
  name: 'witness',
  on: ['input', 'toolInput', 'toolOutput', 'handoff', 'output'],
  check: ({ surface, content }) => {
    seen.push({ surface, content });
    return allow();
  },
});

const findInvoice = defineTool({
  name: 'find_invoice',
  description: 'Finds an invoice.',
  input: z.object({ orderId: z.string() }),
  flow: { effect: 'read' },
  execute: ({ orderId }) => ({ orderId, cents: 5_990 }),
});

const model = scriptedModel({
  triage: [callTool('transfer_to_billing')],
  billing: [[say('Let me look.'), callTool('find_invoice', { orderId: 'A-1001' })], say('It was €59.90.')],
});
const billing = defineAgent({ name: 'billing', instructions: 'Answer about invoices.', model, tools: [findInvoice] });
const triage = defineAgent({ name: 'triage', instructions: 'Route the customer.', model, handoffs: [billing] });

// Guardrails of the run stand before every agent in it; an agent's own stand only while it is active.
const result = await run(triage, 'What did order A-1001 cost?', { guardrails: [witness] });
assertCompleted(result);

for (const { surface, content } of seen) console.log(surface.padEnd(10), content.replaceAll('\n', ' ⏎ '));

assert.deepEqual(
  seen.map(({ surface }) => surface),
  [
    'input', // what the person said, before triage's first model call
    'handoff', // from triage to billing, with the brief
    'input', // what is new in billing's view: the brief, before billing's first model call
    'output', // "Let me look.": text beside a call is guarded like an answer
    'toolInput', // the call, before the tool starts
    'toolOutput', // its result, before the model sees it
    'output', // the answer, before the person sees it
  ],
);
// The answers stand in the log, so an audit can tell from the log alone that nothing crossed unseen.
assert.deepEqual(auditLog(result.log), []);
