// What a model is told of results: parts that say so, fields that no cut takes away, failures that pass, summaries that are measured.
import assert from 'node:assert/strict';
import { evaluateSummariser, summariseObservation } from '@guardloop/context';
import { defineAgent, defineTool, jsonFields, partial, stream, toolError, usageBy } from '@guardloop/core';
import { printSteps, react, steps } from '@guardloop/reasoning';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const article = (sku: string) => ({ sku, name: `Lamp ${sku}`, status: 'listed', text: 'A lamp for every room. '.repeat(40) });

const searchArticles = defineTool({
  name: 'search_articles',
  description: 'Search articles by words, 2 a page.',
  input: z.object({ words: z.string(), page: z.number().int().min(1).default(1) }),
  flow: { effect: 'read' },
  execute: ({ page }) =>
    partial([article(`A-${page * 2 - 1}`), article(`A-${page * 2}`)], {
      summary: `Page ${page} of 40.`,
      more: `Call again with page: ${page + 1}.`,
    }),
  project: jsonFields({ keep: 'arguments', maxChars: 1_000 }), // `sku` is an argument of read_stock
});

let asked = 0;
const readStock = defineTool({
  name: 'read_stock',
  description: 'How many of an article are there.',
  input: z.object({ sku: z.string() }),
  output: z.object({ sku: z.string(), count: z.number() }),
  flow: { effect: 'read' },
  retry: { attempts: 3, backoffMs: 5 },
  execute: async ({ sku }) => {
    asked += 1;
    if (asked === 1) throw toolError('the warehouse does not answer', { errorClass: 'unavailable' });
    // The warehouse does not know every article: it sends null, which the tool's `output` refuses.
    return JSON.parse(`{"sku":"${sku}","count":${sku === 'A-1' ? null : 7}}`) as { sku: string; count: number };
  },
});

/** With a real model this would be a small and cheap one. */
const small = scriptedModel(() => say('Articles A-1 and A-2 are listed, with long texts.'), { id: 'small' });
const reviews = { sku: 'A-2', count: 3, status: 'moderated', reviews: Array.from({ length: 3 }, () => 'I like this lamp. '.repeat(60)) };
const summarised = summariseObservation({ model: small, maxChars: 500, keep: 'arguments' });
const readReviews = defineTool({
  name: 'read_reviews',
  description: 'What customers say of an article.',
  input: z.object({ sku: z.string() }),
  flow: { effect: 'read', results: 'untrusted' },
  execute: () => reviews,
  project: summarised,
});

const agent = defineAgent({
  name: 'shop',
  instructions: 'Answer from what the tools say.',
  model: scriptedModel([
    [say('I look for lamps, then for their stock, then for reviews.'), callTool('search_articles', { words: 'lamp' })],
    [say('A-1 and A-2 are on this page. The stock of the first.'), callTool('read_stock', { sku: 'A-1' })],
    [say('The stock gave no count for A-1. The plan goes on with A-2.'), callTool('read_stock', { sku: 'A-2' })],
    [say('Seven. Now the reviews.'), callTool('read_reviews', { sku: 'A-2' })],
    [say('That is enough.'), callTool('final_answer', { answer: 'There are seven lamps A-2, and people like them.' })],
  ]),
  tools: [searchArticles, readStock, readReviews],
  mode: react(),
});

const running = stream(agent, 'Have you got lamps?');
const attempts: unknown[] = [];
for await (const event of running) if (event.type === 'tool.progress') attempts.push(`${event.callId} attempt ${event.step}`);
const result = await running.result;
console.log(printSteps(result.log));
assert.equal(result.status, 'completed');
assert.deepEqual(auditLog(result.log), []);

// The failure that passed cost no turn: attempts are seen by watchers, and the log has one call.
assert.deepEqual(attempts, ['2.0 attempt 1', '2.0 attempt 2', '3.0 attempt 1']);
const observations = steps(result.log).flatMap(({ observation }) => (observation ? [observation] : []));
assert.deepEqual(
  observations.map(({ completeness, errorClass }) => errorClass ?? completeness),
  ['partial', 'bad_result', 'full', 'partial'],
);
const [page, missing] = observations;
assert.deepEqual(JSON.parse(page?.text ?? ''), {
  completeness: 'partial',
  summary: 'Page 1 of 40.',
  more: 'Call again with page: 2.',
  result: [
    { sku: 'A-1', status: 'listed' },
    { sku: 'A-2', status: 'listed' },
  ],
});
assert.match(missing?.text ?? '', /count: expected number/); // the field by its name: the model goes on with its plan
assert.equal(usageBy(result.log).byModel.small?.requests, 1); // the summary counts with the run

// A summariser is measured by itself, before an agent depends on it.
const { total, cases } = await evaluateSummariser([{ name: 'reviews', output: reviews, arguments: ['sku'] }], summarised);
console.log(`\nOf ${total.facts} facts ${total.lost} got lost in ${total.shownChars} of ${total.chars} characters.`);
assert.deepEqual(cases[0]?.lost, []);
