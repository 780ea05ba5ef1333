import { afterAll, beforeAll, expect, it } from 'vitest';
import { ModelServer } from './model-server.js';

let server: ModelServer;
beforeAll(async () => {
  server = await ModelServer.start();
});
afterAll(() => server.stop());

const call = { id: 'call_a', type: 'function', function: { name: 'find_order', arguments: '{}' } };
const user = { role: 'user', content: 'Hello?' };

it.each([
  ['/v1/chat/completions', { model: 'gpt-5', messages: [user, { role: 'assistant', content: null, tool_calls: [call] }] }, 'call_a'],
  [
    '/v1/responses',
    { model: 'gpt-5', input: [user, { type: 'function_call', call_id: 'call_b', name: 'find_order', arguments: '{}' }] },
    'call_b',
  ],
  [
    '/v1/messages',
    {
      model: 'claude-opus-4-8',
      max_tokens: 10,
      messages: [user, { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_a', name: 'find_order', input: {} }] }],
    },
    'toolu_a',
  ],
])('the server alone would answer a call without a result; the checker in front of it refuses (%s)', async (path, body, id) => {
  server.on({}, { content: 'taken' });
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };

  expect((await fetch(server.url + path, init)).status).toBe(200);
  expect(server.problems).toEqual([]);

  const refused = await server.fetch(server.url + path, init);
  expect(refused.status).toBe(400);
  expect(server.problems.join('\n')).toContain(id);
  server.forget();
});
