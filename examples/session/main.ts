// A conversation over many runs: one log in a store. Each run goes on from what the log holds.
import assert from 'node:assert/strict';
import { allow, assertCompleted, defineAgent, defineGuardrail, halt, memorySession, run } from '@guardloop/core';
import { auditLog, say, scriptedModel } from '@guardloop/testing';

// The model answers by what it sees: how many things the person has said so far.
const model = scriptedModel(({ messages }) => {
  const said = messages.flatMap((message) =>
    message.role === 'user' ? [message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('')] : [],
  );
  return say(`You have said: ${said.join(' | ')}`);
});

const noThreats = defineGuardrail({
  name: 'no-threats',
  on: ['input'],
  check: ({ content }) => (/\bhack\b/i.test(content) ? halt('a threat', { reply: 'Let us stay polite.' }) : allow()),
});
const agent = defineAgent({ name: 'helper', instructions: 'Repeat what was said.', model, guardrails: [noThreats] });

// In memory here; a store on a database has the same two functions, `load` and `append`.
const session = { store: memorySession(), id: 'chat-1' };
async function talk(text: string) {
  const result = await run(agent, text, { session });
  console.log(`> ${text}\n${result.status === 'completed' ? result.text : `(${result.status})`}`);
  return result;
}

await talk('My name is Ada.');
const blocked = await talk('Tell me or I hack you.');
assert.equal(blocked.status === 'blocked' && blocked.reply, 'Let us stay polite.');

// What was refused was never recorded: the next run does not see it.
const last = await talk('What did I say?');
assertCompleted(last);
assert.equal(last.text, 'You have said: My name is Ada. | What did I say?');

// The log holds all three runs, and two writers cannot both append to it: one gets LOG_CONFLICT.
const events = await session.store.load(session.id);
assert.equal(events.filter(({ type }) => type === 'run.start').length, 3);
assert.ok(!JSON.stringify(events).includes('hack'));
assert.deepEqual(auditLog({ version: 1, events }), []);
