// People in a run that is under way: a question to one, a word from one, a pause.
import assert from 'node:assert/strict';
import { allow, defineAgent, defineGuardrail, defineTool, deny, resume, run, stream } from '@guardloop/core';
import { askHuman } from '@guardloop/reasoning';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

// The model asks: the run waits, travels as JSON, and goes on with the answer in whatever process.
const painter = defineAgent({
  name: 'painter',
  instructions: 'Paint what you are told.',
  model: scriptedModel([callTool('ask_human', { question: 'Which colour?', choices: ['red', 'blue'] }), say('The door is blue.')]),
  tools: [askHuman()],
});
const asked = await run(painter, 'Paint the door.');
if (asked.status !== 'interrupted') throw new Error(`ended ${asked.status}`);
const [question] = asked.approvals;
if (question?.surface === 'toolInput') console.log('asked:', question.input);
const stored = JSON.stringify(asked.log);
const painted = await resume(painter, JSON.parse(stored), {
  decisions: { [question?.id ?? '']: { decision: { result: 'blue' }, by: 'anna@house.example' } },
});
assert.equal(painted.status === 'completed' && painted.output, 'The door is blue.');

// Somebody says something meanwhile: it is judged as input, and the next model call sees it.
const readPage = defineTool({
  name: 'read_page',
  description: 'Reads a page.',
  input: z.object({}),
  flow: { effect: 'read' },
  execute: () => 'It rains in Warsaw.',
});
const noSecrets = defineGuardrail({
  name: 'no-secrets',
  on: ['input'],
  check: ({ content }) => (content.includes('password') ? deny('no passwords here') : allow()),
});
const reader = () =>
  defineAgent({
    name: 'reader',
    instructions: 'Sum up.',
    model: scriptedModel([callTool('read_page'), say('Rain.')]),
    tools: [readPage],
    guardrails: [noSecrets],
  });
const steer = async (words: string) => {
  const events = stream(reader(), 'Sum the page up.');
  let taken: Promise<boolean> | undefined;
  for await (const event of events) if (event.type === 'tool.start') taken = events.steer(words);
  return { result: await events.result, taken: await taken };
};
const steered = await steer('One word will do.');
assert.deepEqual([steered.result.status, steered.taken], ['completed', true]);
const refused = await steer('My password is hunter2.');
assert.deepEqual([refused.result.status, refused.taken], ['blocked', false]);
assert.doesNotMatch(JSON.stringify(refused.result.log), /hunter2/);

// A pause stops before the next model call; the log goes on later.
const events = stream(reader(), 'Sum the page up.');
for await (const event of events) if (event.type === 'tool.end') events.pause();
const paused = await events.result;
assert.equal(paused.status, 'interrupted');
const done = await resume(reader(), paused.log);
assert.equal(done.status, 'completed');
for (const { log } of [painted, steered.result, refused.result, done]) assert.deepEqual(auditLog(log), []);
console.log('asked, steered, refused, paused and resumed');
