import assert from 'node:assert/strict';
// #region partial
import { defineAgent, defineTool, jsonFields, partial, run, toolError } from '@guardloop/core';
import { react, steps } from '@guardloop/reasoning';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const searchOrders = defineTool({
  name: 'search_orders',
  description: 'Search orders by words. 20 a page.',
  input: z.object({ words: z.string(), page: z.number().int().min(1).default(1) }),
  flow: { effect: 'read' },
  execute: async ({ words, page }) => {
    const { found, total } = await index.search(words, page);
    if (total <= page * 20) return found;
    return partial(found, { summary: `Page ${page} of ${total} orders.`, more: `Call again with page: ${page + 1}.` });
  },
  project: jsonFields({ keep: 'arguments', maxChars: 4_000 }), // `sku`, which read_stock below asks for, is not cut
});
// #endregion
const index = {
  async search(_words: string, _page: number): Promise<{ found: readonly object[]; total: number }> {
    return { found: [{ orderId: 'o1', lines: [{ sku: 'A-1', text: 'x'.repeat(900) }] }], total: 312 };
  },
};

// #region retry
const readStock = defineTool({
  name: 'read_stock',
  description: 'How many of an article are there.',
  input: z.object({ sku: z.string() }),
  flow: { effect: 'read' },
  timeoutMs: 10_000, // of all attempts and waits together
  retry: { attempts: 4, backoffMs: 200, maxBackoffMs: 2_000, on: ['unavailable', 'rate_limited'] },
  execute: async ({ sku }, { idempotencyKey, signal }) => {
    const answer = await warehouse.stock(sku, { idempotencyKey, signal });
    if (answer.status === 503) throw toolError('the warehouse does not answer', { errorClass: 'unavailable' });
    return { sku, count: answer.count };
  },
});
// #endregion
let asked = 0;
const warehouse = {
  async stock(_sku: string, _options: object): Promise<{ status: number; count: number }> {
    asked += 1;
    return { status: asked === 1 ? 503 : 200, count: 7 };
  },
};

const model = scriptedModel([callTool('search_orders', { words: 'lamp' }), callTool('read_stock', { sku: 'A-1' }), say('Seven.')]);
const agent = defineAgent({ name: 'stock', instructions: '', model, tools: [searchOrders, readStock] });
const result = await run(agent, 'How many lamps are there?');
assert.equal(result.status, 'completed');
// #region completeness
const whole = result.events.flatMap((event) => (event.type === 'tool.end' ? [event.completeness] : [])); // ['partial', 'full']
// #endregion
assert.deepEqual(whole, ['partial', 'full']);
assert.equal(asked, 2);
assert.equal(result.events.filter(({ type }) => type === 'tool.start').length, 2);
const [found] = result.messages.filter((message) => message.role === 'tool');
assert.deepEqual(JSON.parse(String(found?.content)), {
  completeness: 'partial',
  summary: 'Page 1 of 312 orders.',
  more: 'Call again with page: 2.',
  result: [{ orderId: 'o1', lines: [{ sku: 'A-1' }] }],
});
assert.equal(found?.note, '[left out: 1 field]');
assert.deepEqual(auditLog(result.log), []);

// #region identifier
const findPerson = defineTool({
  name: 'find_person',
  description: 'Find a person by name.',
  input: z.object({ name: z.string() }),
  output: z.object({ personId: z.string() }), // what the next action needs
  flow: { effect: 'read' },
  execute: async ({ name }) => people.byName(name),
});
// #endregion
const people = {
  async byName(name: string): Promise<{ personId: string }> {
    // The service sends null for whom it does not know.
    return JSON.parse(name === 'Curie' ? '{"personId":null}' : '{"personId":"p7"}') as { personId: string };
  },
};
const birthplace = defineTool({
  name: 'birthplace',
  description: 'Where a person was born.',
  input: z.object({ personId: z.string() }),
  flow: { effect: 'read' },
  execute: ({ personId }) => (personId === 'p7' ? 'Warsaw' : 'unknown'),
});
const thinker = scriptedModel([
  [say('First the person, then the place.'), callTool('find_person', { name: 'Curie' })],
  [say('There was no personId. I try the full name.'), callTool('find_person', { name: 'Marie Curie' })],
  [say('Now the place.'), callTool('birthplace', { personId: 'p7' })],
  [say('That is all.'), callTool('final_answer', { answer: 'Warsaw.' })],
]);
const historian = defineAgent({ name: 'historian', instructions: '', model: thinker, tools: [findPerson, birthplace], mode: react() });
const told = await run(historian, 'Where was Curie born?');
assert.equal(told.status === 'completed' && told.text, 'Warsaw.');
const [first] = steps(told.log);
assert.equal(first?.observation?.errorClass, 'bad_result');
assert.match(first?.observation?.text ?? '', /its result does not have its declared form: personId: expected string/);
assert.deepEqual(auditLog(told.log), []);
