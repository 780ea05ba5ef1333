// A long task in a small window: sixty pages are read, of which the model sees a few at a time; and nothing of the record is lost.
import assert from 'node:assert/strict';
import { dropObservations, lastTurns, summarise, tokenBudget, views } from '@guardloop/context';
import type { Message, View } from '@guardloop/core';
import { defineAgent, defineTool, run, usageBy } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const pages = 60;
const readPage = defineTool({
  name: 'read_page',
  description: 'Reads one page of the report.',
  input: z.object({ page: z.number() }),
  flow: { effect: 'read' },
  execute: ({ page }) => `Page ${page} of ${pages}. ${'The committee met and decided nothing. '.repeat(12)}`,
});

/** Stands for a small model: with a real one, the same view runs. */
const writer = () => scriptedModel(() => say('The committee met on each page so far, and decided nothing.'), { id: 'small' });
const small = writer();

const ways: Readonly<Record<string, View | undefined>> = {
  everything: undefined,
  'lastTurns(8, { step: 4 })': lastTurns(8, { step: 4 }),
  'dropObservations({ olderThan: 8 })': dropObservations({ olderThan: 8 }),
  'tokenBudget(2_000)': tokenBudget(2_000),
  'views(summarise, tokenBudget)': views(summarise({ model: small, when: { tokens: 1_000 }, keepTurns: 4 }), tokenBudget(3_000)),
};

const textOf = (message: Message | undefined): string =>
  message?.role === 'user' ? message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('') : '';
const goal = 'What did the committee decide?';

for (const [name, view] of Object.entries(ways)) {
  const model = scriptedModel(({ turn }) => (turn <= pages ? callTool('read_page', { page: turn }) : say('It decided nothing.')));
  const agent = defineAgent({ name: 'reader', instructions: 'Read the report page by page.', model, tools: [readPage] });
  const result = await run(agent, goal, { view, limits: { turns: pages + 1 } });

  assert.equal(result.status, 'completed');
  assert.equal(result.messages.length, 2 * pages + 2); // the record is whole
  assert.deepEqual(auditLog(result.log), []);

  const largest = Math.max(...model.requests.map(({ messages }) => messages.length));
  const last = model.requests.at(-1)?.messages ?? [];
  console.log(`\n== ${name} ==\nlargest request: ${largest} messages`);
  for (const message of last.slice(0, 3)) if (message.role === 'user') console.log(`  ${message.via}: ${textOf(message)}`);
  assert.ok(last.some((message) => textOf(message) === goal)); // the goal is always there
  assert.equal(last.at(-1)?.role, 'tool'); // and the current turn
  if (view !== undefined) {
    assert.ok(largest < 40);
    assert.ok(last.some((message) => message.role === 'user' && message.via === 'view')); // what was cut is told
  }
  if (name.startsWith('views')) {
    assert.equal(usageBy(result.events).byModel.small?.requests, small.requests.length); // what summaries took is counted
    console.log(`summaries: ${small.requests.length}`);
  }
}
