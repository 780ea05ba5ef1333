import assert from 'node:assert/strict';
import { auditLog } from '@guardloop/testing';

// #region session

import { defineAgent, memorySession, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';

const session = { store: memorySession(), id: 'chat-1' };
const model = scriptedModel((request) => say(`I have heard ${request.messages.filter(({ role }) => role === 'user').length}.`));
const desk = defineAgent({ name: 'desk', instructions: '', model });

await run(desk, 'First.', { session });
const second = await run(desk, 'Second.', { session });
// #endregion
assert.equal(second.status === 'completed' && second.text, 'I have heard 2.');
assert.deepEqual(auditLog(second.log), []);
assert.equal(new Set(second.log.events.map((event) => event.run)).size, 2);
assert.ok(second.events.every((event) => event.run === second.runId));

// #region history
const imported = await run(desk, 'And now?', {
  history: [
    { role: 'user', text: 'We spoke before.' },
    { role: 'assistant', text: 'Indeed.' },
  ], // untrusted, and guarded on `input` like what the user says now
});
// #endregion
assert.equal(imported.status === 'completed' && imported.text, 'I have heard 2.');

// #region unfinished

import { defineTool, resume } from '@guardloop/core';
import { z } from 'zod';

const openDoor = defineTool({ name: 'open_door', description: 'Open.', input: z.object({}), approval: true, execute: () => 'open' });
const porter = defineAgent({
  name: 'porter',
  instructions: '',
  model: scriptedModel([callTool('open_door'), say('It is open.')]),
  tools: [openDoor],
});
const door = { store: memorySession(), id: 'door' };
const paused = await run(porter, 'Let me in.', { session: door }); // interrupted: its run has not ended

await assert.rejects(run(porter, 'Hello?', { session: door }), /has not ended/); // RESUME_MISMATCH
const answered = await resume(porter, door, { decisions: { [`${paused.runId}/p1`]: 'approve' } });
// or, to give it up: run(porter, 'Hello?', { session: door, unfinished: 'abandon' })
// #endregion
assert.equal(answered.status === 'completed' && answered.text, 'It is open.');
const hall = { store: memorySession(), id: 'hall' };
await run(porter, 'Let me in.', { session: hall });
const given = await run(porter, 'Hello?', { session: hall, unfinished: 'abandon', model: scriptedModel([say('Hello.')]) });
assert.equal(given.status, 'completed');
assert.deepEqual(auditLog(given.log), []);

// #region view

import type { View } from '@guardloop/core';

/** The last ten messages, and a summary of what was before. */
const lastTen: View = (messages) => {
  if (messages.length <= 10) return messages;
  const start = messages.findIndex((message, index) => index >= messages.length - 10 && message.role === 'user');
  const older = messages.slice(0, start);
  return [{ text: `Before this, ${older.length} messages were exchanged.` }, ...messages.slice(start)];
};
const viewed = await run(desk, 'Third.', { session, view: lastTen });
// #endregion
assert.equal(viewed.status === 'completed' && viewed.text, 'I have heard 3.');
let last = viewed;
for (let index = 0; index < 6; index += 1) last = await run(desk, `Question ${index}`, { session, view: lastTen });
assert.match(JSON.stringify(model.requests.at(-1)?.messages[0]), /messages were exchanged/);
assert.ok(last.messages.length > 15);
assert.deepEqual(auditLog(last.log), []);
