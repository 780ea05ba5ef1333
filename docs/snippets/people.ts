import assert from 'node:assert/strict';
import { defineTool } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const asking = scriptedModel([callTool('ask_human', { question: 'Which colour?', choices: ['red', 'blue'] }), say('The door is blue.')]);

// #region ask
import { defineAgent, resume, run, stream } from '@guardloop/core';
import { askHuman } from '@guardloop/reasoning';

const painter = defineAgent({ name: 'painter', instructions: 'Paint what you are told.', model: asking, tools: [askHuman()] });
const asked = await run(painter, 'Paint the door.');
if (asked.status !== 'interrupted') throw new Error(`ended ${asked.status}`);
for (const { id, input } of asked.approvals.filter(({ surface }) => surface === 'toolInput')) console.log(id, input); // the question
const [question] = asked.approvals;
const painted = await resume(painter, asked.log, { decisions: { [question?.id ?? '']: { decision: { result: 'blue' }, by: 'anna' } } });
// #endregion
assert.equal(painted.status === 'completed' && painted.output, 'The door is blue.');

const model = scriptedModel([callTool('read_page'), say('In short: it rains.'), say('And goes on.')]);
const readPage = defineTool({
  name: 'read_page',
  description: 'Reads a page.',
  input: z.object({}),
  flow: { effect: 'read' },
  execute: () => 'It rains.',
});
const reader = defineAgent({ name: 'reader', instructions: 'Sum up.', model, tools: [readPage] });
// #region steer
const events = stream(reader, 'Sum the page up.');
let taken: Promise<boolean> | undefined;
for await (const event of events) {
  if (event.type === 'tool.start') taken = events.steer('One sentence will do.');
  if (event.type === 'tool.end') events.pause(); // before the next model call
}
const paused = await events.result; // interrupted: nobody is asked anything
const done = await resume(reader, paused.log);
// #endregion
assert.equal(paused.status, 'interrupted');
assert.equal(await taken, false); // paused before it was taken
assert.equal(done.status, 'completed');
