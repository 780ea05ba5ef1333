import assert from 'node:assert/strict';
import { defineAgent, defineTool, memorySession } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const readPage = defineTool({
  name: 'read_page',
  description: 'Reads a page.',
  input: z.object({ page: z.number() }),
  flow: { effect: 'read' },
  execute: ({ page }) => `Page ${page}: ${'text '.repeat(200)}`,
});
const pages = 30;
const model = scriptedModel(({ turn }) => (turn <= pages ? callTool('read_page', { page: turn }) : say('I have read all of it.')));
const small = scriptedModel(() => say('The pages so far hold nothing but text.'), { id: 'small' });
const limits = { turns: 40 };
const session = { store: memorySession(), id: 'reading' };

// #region budget
import { tokenBudget } from '@guardloop/context';
import { run } from '@guardloop/core';

const reader = defineAgent({ name: 'reader', instructions: 'Read the pages.', model, tools: [readPage] });
const result = await run(reader, 'Read all pages.', { view: tokenBudget(4_000), limits });
// #endregion
assert.equal(result.status, 'completed');
assert.equal(result.messages.length, 62);
assert.ok(Math.max(...model.requests.map(({ messages }) => messages.length)) < 40);
assert.deepEqual(auditLog(result.log), []);

// #region compose
import { dropObservations, summarise, views } from '@guardloop/context';

const view = views(
  dropObservations({ olderThan: 20, step: 5 }), // results of the last 20 turns are seen
  summarise({ model: small, when: { tokens: 3_000 }, keepTurns: 6 }), // older turns as a summary
  tokenBudget(8_000), // and never more than this
);
const summed = await run(reader, 'Read all pages.', { view, session, limits });
// #endregion
assert.equal(summed.status, 'completed');
assert.ok(small.requests.length > 0);
assert.deepEqual(auditLog(summed.log), []);

// #region turns
import { lastTurns } from '@guardloop/context';

const lastTen = lastTurns(10); // exactly the last ten
const tenToNineteen = lastTurns(10, { step: 10 }); // cut once in ten turns
// #endregion
for (const each of [lastTen, tenToNineteen])
  assert.equal((await run(reader, 'Read all pages.', { view: each, limits })).status, 'completed');
