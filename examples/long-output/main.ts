// Tools give more than a model should read. A projection makes of the output what the model sees; guardrails have seen the whole.
import assert from 'node:assert/strict';
import { assertCompleted, defineAgent, defineTool, headTail, jsonFields, run, spill } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const noInput = z.object({});
const lines = Array.from({ length: 2_000 }, (_, index) => `${index}: ${index === 1_234 ? 'disk is full' : 'all is well'}`).join('\n');

// 1. The beginning and the end, with a mark that says how much is missing.
const tailLog = defineTool({
  name: 'tail_log',
  description: 'Shows the log.',
  input: noInput,
  flow: { effect: 'read' },
  project: headTail({ maxChars: 200 }),
  execute: () => lines,
});

// 2. Some fields of a large record. The names are checked by the compiler.
const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds the order.',
  input: noInput,
  flow: { effect: 'read' },
  project: jsonFields({ keep: ['id', 'status'], maxChars: 500 }),
  execute: () => ({ id: 'A-1001', status: 'shipped', history: lines, raw: { blob: 'x'.repeat(10_000) } }),
});

// 3. The whole is kept aside; the model reads on with the tool `read_observation`, which the agent is given along with it.
const kept = new Map<string, string>();
const store = { put: (key: string, text: string) => void kept.set(key, text), get: (key: string) => kept.get(key) };
const readLog = defineTool({
  name: 'read_log',
  description: 'Reads the log.',
  input: noInput,
  flow: { effect: 'read' },
  project: spill({ maxChars: 200, store }),
  execute: () => lines,
});

const model = scriptedModel([
  [callTool('tail_log'), callTool('find_order'), callTool('read_log')],
  () => callTool('read_observation', { key: [...kept.keys()][0] ?? '', from: lines.indexOf('1234:'), count: 60 }),
  say('Line 1234 says that the disk is full.'),
]);
const agent = defineAgent({ name: 'operator', instructions: 'Find out what is wrong.', model, tools: [tailLog, findOrder, readLog] });
const result = await run(agent, 'What is wrong?');
assertCompleted(result);

const shown = result.messages.flatMap((message) => (message.role === 'tool' && typeof message.content === 'string' ? [message] : []));
for (const { tool, content } of shown) console.log(`── ${tool}\n${content}`);

// The log keeps what was shown, and how large the whole was.
for (const event of result.events) {
  if (event.type !== 'tool.end' || event.tool === 'read_observation') continue;
  console.log(`${event.tool}: ${event.chars} characters, shown as ${String(event.content).length}`);
  assert.ok(event.chars > 20_000 && String(event.content).length < 600);
}
assert.match(String(shown.at(-1)?.content), /disk is full/);
