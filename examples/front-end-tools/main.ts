// A tool that the front end runs: the agent asks the browser where the person is, over AG-UI. The browser here is a loop of twenty lines that
// does what an `HttpAgent` with a handler for the tool does: it reads the events, runs the calls that are left open, and sends their results
// back, once more after its connection was lost. No key, no network beyond this machine.
import assert from 'node:assert/strict';
import { allow, defineAgent, defineGuardrail, defineTool, deny } from '@guardloop/core';
import { durable } from '@guardloop/durable';
import { anonymous, guardloopServer } from '@guardloop/server';
import { memoryStore } from '@guardloop/store';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const locate = defineTool({
  name: 'locate',
  description: 'Where the person is, as their browser says.',
  input: z.object({ why: z.string() }),
  flow: { effect: 'read', results: 'untrusted' }, // no `execute`: the front end runs it
});
const noOrders = defineGuardrail({
  name: 'no-orders',
  on: ['toolOutput'],
  check: ({ content }) => (JSON.stringify(content).includes('Ignore') ? deny('orders in a place') : allow()),
});
const model = scriptedModel([callTool('locate', { why: 'to find a shop' }), say('There is a shop around the corner.')]); // stands for yours
const guide = defineAgent({ name: 'guide', instructions: 'Show the way.', model, tools: [locate], guardrails: [noOrders] });

const store = memoryStore();
const runs = durable({ store, agents: { guide } });
const worker = await runs.worker();
const app = guardloopServer({ runs, agents: { guide: {} }, authenticate: anonymous(), protocols: ['ag-ui'] });

interface Event {
  readonly type: string;
  readonly toolCallId?: string;
  readonly toolCallName?: string;
  readonly delta?: string;
  readonly outcome?: { readonly pendingToolCallIds?: readonly string[] };
}
const messages: object[] = [{ id: 'm1', role: 'user', content: 'Where is a shop?' }];
let requests = 0;
/** One leg of the conversation. */
async function runAgent(): Promise<{ readonly status: number; readonly events: readonly Event[] }> {
  requests += 1;
  const response = await app.request('http://localhost/v1/ag-ui/guide', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ threadId: 'chat-1', runId: `leg-${requests}`, messages }),
  });
  const text = await response.text();
  const events = text.split('\n\n').flatMap((block) => (block.startsWith('data: ') ? [JSON.parse(block.slice(6)) as Event] : []));
  return { status: response.status, events };
}
const textOf = (events: readonly Event[]): string =>
  events.map(({ type, delta }) => (type === 'TEXT_MESSAGE_CONTENT' ? delta : '')).join('');

const asked = await runAgent();
const [id = ''] = asked.events.at(-1)?.outcome?.pendingToolCallIds ?? [];
const input = asked.events.find(({ type, toolCallId }) => type === 'TOOL_CALL_ARGS' && toolCallId === id)?.delta ?? '';
console.log(`the browser is asked: ${input}`);
assert.deepEqual(JSON.parse(input), { why: 'to find a shop' });

// The same call with an input that it was not asked with, then as it was asked.
const answer = (toolCallId: string, content: string) => messages.splice(1, 1, { id: 't1', role: 'tool', toolCallId, content });
answer(`${id.split('#')[0]}#${'0'.repeat(64)}`, '{"city":"Linz"}');
const forged = await runAgent();
answer(id, '{"city":"Graz"}');
const first = await runAgent();
const again = await runAgent(); // its connection was lost, it thinks
answer(id, '{"city":"Linz"}');
const other = await runAgent();
console.log(`another input: ${forged.status}, the result: ${first.status}, again: ${again.status}, another result: ${other.status}`);
console.log(textOf(first.events));
assert.deepEqual([forged.status, first.status, again.status, other.status], [422, 200, 200, 409]);
assert.equal(textOf(first.events), 'There is a shop around the corner.');
assert.equal(textOf(again.events), textOf(first.events));

const [session] = (await store.sessions.list()).items;
const events = await store.load(session?.id ?? '');
const results = events.flatMap((event) => (event.type === 'tool.end' ? [event.content] : []));
console.log(`the model read: ${results.join(', ')}`);
assert.deepEqual(results, ['{"city":"Graz"}']);
assert.deepEqual(auditLog({ version: 1, events }), []);

await worker.stop();
await runs.close();
await store.close();
