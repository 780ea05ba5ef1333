// A swarm: agents hand over to each other, as the talk goes. Nobody is in charge; the one that speaks last has the conversation, in the next run too.
import assert from 'node:assert/strict';
import { allow, assertCompleted, defineAgent, defineGuardrail, defineTool, deny, memorySession, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const changeSeat = defineTool({
  name: 'change_seat',
  description: 'Gives a passenger another seat.',
  input: z.object({ seat: z.string() }),
  flow: { effect: 'write' },
  execute: ({ seat }) => `Your seat is ${seat}.`,
});

// Who says what depends on who speaks, and on what was said.
const model = scriptedModel(({ agent, messages }) => {
  const said = JSON.stringify(messages);
  const isDone = messages.at(-1)?.role === 'tool';
  switch (agent) {
    case 'desk':
      return callTool(said.includes('refund') ? 'transfer_to_refunds' : 'transfer_to_seats');
    case 'seats':
      if (isDone) return say('You sit at 4A now.');
      return said.includes('refund') ? callTool('transfer_to_refunds') : callTool('change_seat', { seat: '4A' });
    default:
      return said.includes('window') && !said.includes('fee')
        ? callTool('transfer_to_seats')
        : say('The fee of 10 euro is on its way back to you.');
  }
});
const seats = defineAgent({
  name: 'seats',
  description: 'Seats.',
  instructions: 'Change seats.',
  model,
  tools: [changeSeat],
  handoffs: ['refunds'], // by name: the two lead to each other
});
// Stands at the door of refunds, whoever hands over to it.
const noThreats = defineGuardrail({
  name: 'no-threats',
  on: ['input'],
  check: ({ content }) => (/lawyer/i.test(content) ? deny('threats go to a person') : allow()),
});
const refunds = defineAgent({
  name: 'refunds',
  description: 'Money.',
  instructions: 'Pay back what is owed.',
  model,
  handoffs: [seats],
  guardrails: [noThreats],
});
const desk = defineAgent({
  name: 'desk',
  description: 'The front desk.',
  instructions: 'Find out who can help.',
  model,
  handoffs: [seats, refunds],
});

const session = { store: memorySession(), id: 'passenger-7' };
const first = await run(desk, 'I want to sit at the window.', { session });
assertCompleted(first);
console.log(`${first.agent}: ${first.text}`);
assert.equal(first.agent, 'seats');

// The next run begins with who had the conversation, which hands it on.
const second = await run(desk, 'Good. I paid a fee for that: I want a refund.', { session, limits: { handoffs: 3 } });
assertCompleted(second);
console.log(`${second.agent}: ${second.text}`);
const handoffs = second.log.events.flatMap((event) => (event.type === 'handoff' ? [`${event.from} → ${event.to}`] : []));
console.log(handoffs.join(', '));
assert.deepEqual(handoffs, ['desk → seats', 'seats → refunds']);
// Refunds was asked about the whole conversation before it saw it.
assert.ok(second.events.some((event) => event.type === 'guard.verdict' && event.guardrail === 'no-threats' && event.action === 'allow'));
// Two that pass someone to and fro are stopped by the limit of handoffs.
const circle = scriptedModel(({ agent }) => callTool(agent === 'seats' ? 'transfer_to_refunds' : 'transfer_to_seats'));
const lost = await run(refunds, 'Who can help?', { model: circle, limits: { handoffs: 4 } });
assert.equal(lost.status === 'exhausted' && lost.limit, 'handoffs');
for (const { log } of [second, lost]) assert.deepEqual(auditLog(log), []);
