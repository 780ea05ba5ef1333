import type { IncomingHttpHeaders, Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Anthropic from '@anthropic-ai/sdk';
import type { Model, ModelAnswer, ModelRequest, StreamOptions } from '@guardloop/core/model';
import { collect, GuardloopError } from '@guardloop/core/model';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { AnthropicOptions } from './anthropic.js';
import { anthropic } from './anthropic.js';
import type { MessagesClient } from './client.js';

interface Reply {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body: unknown;
}

const events = [
  {
    type: 'message_start',
    message: { id: 'm1', type: 'message', role: 'assistant', content: [], usage: { input_tokens: 3, output_tokens: 1 } },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hello' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
];
const answer = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

let server: Server;
let baseURL: string;
let seen: { readonly url: string | undefined; readonly headers: IncomingHttpHeaders; readonly body: unknown }[];
let replies: Reply[];

beforeEach(async () => {
  seen = [];
  replies = [];
  server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      seen.push({ url: request.url, headers: request.headers, body: JSON.parse(Buffer.concat(pieces).toString()) as unknown });
      const reply = replies.shift();
      const type = reply === undefined ? 'text/event-stream' : 'application/json';
      response.writeHead(reply?.status ?? 200, { 'content-type': type, 'request-id': 'req_1', ...reply?.headers });
      response.end(reply === undefined ? answer : JSON.stringify(reply.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  vi.unstubAllEnvs();
});

const signal = new AbortController().signal;
const request: ModelRequest = {
  agent: 'a',
  turn: 1,
  system: 'Be brief.',
  messages: [
    {
      role: 'user',
      id: 'u1',
      via: 'user',
      parts: [{ type: 'text', text: 'grüße 😀 \ud800' }],
      label: { origin: 'user', integrity: 'trusted' },
    },
  ],
  tools: [{ name: 'look.up', description: 'Looks up.', schema: { type: 'object', properties: { key: { type: 'string' } } } }],
  settings: {},
};
const ask = (model: Model, options: Partial<StreamOptions> = {}): Promise<ModelAnswer> =>
  collect(model.stream(request, { signal, ...options }));
const transports = ['sdk', 'fetch'] as const;

const options: readonly [string, () => AnthropicOptions][] = [
  ['a key', () => ({ apiKey: 'k1', baseURL })],
  [
    'headers and a time limit',
    () => ({ apiKey: 'k1', baseURL, headers: { 'X-Team': 'billing', 'anthropic-beta': 'one' }, timeoutMs: 5_000 }),
  ],
  ['a token of the environment', () => ({ baseURL })],
  ['sampling, which changes headers', () => ({ apiKey: 'k1', baseURL, settings: { temperature: 0.5 } })],
  [
    'a client of the caller’s',
    () => ({ client: new Anthropic({ apiKey: 'k2', baseURL, defaultHeaders: { 'x-default': 'd' }, defaultQuery: { tenant: 't' } }) }),
  ],
  ['a client with a key function', () => ({ client: new Anthropic({ apiKey: async () => 'k3', baseURL }) })],
];

it.each(options)('transport fetch sends what the SDK sends, with %s', async (_name, given) => {
  vi.stubEnv('ANTHROPIC_API_KEY', undefined);
  vi.stubEnv('ANTHROPIC_AUTH_TOKEN', 't1');
  for (const transport of transports) {
    const model = anthropic('claude-opus-4-8', { ...given(), transport });
    for (let turn = 0; turn < 2; turn += 1) expect((await ask(model)).text).toBe('hello');
  }
  const [bySdk, again, byFetch, cached] = seen;
  expect(bySdk?.body).toMatchObject({ model: 'claude-opus-4-8', stream: true });
  expect(again).toEqual(bySdk);
  expect(byFetch).toEqual(bySdk);
  expect(cached).toEqual(bySdk);
});

it.each([
  [400, 'invalid_request_error', {}],
  [401, 'authentication_error', {}],
  [429, 'rate_limit_error', { 'retry-after': '3' }],
  [529, 'overloaded_error', { 'x-should-retry': 'false' }],
])('transport fetch fails as the SDK does with status %i', async (status, type, headers) => {
  replies = transports.map(() => ({ status, headers, body: { type: 'error', error: { type, message: 'SECRET' } } }));
  const failures = [];
  for (const transport of transports) {
    const error = await ask(anthropic('claude-opus-4-8', { apiKey: 'k', baseURL, maxRetries: 0, transport })).catch(
      (thrown: unknown) => thrown,
    );
    if (!GuardloopError.is(error)) throw error;
    failures.push({ code: error.code, words: error.message, isRetryable: error.isRetryable, details: error.details });
  }
  expect(failures[0]).toMatchObject({ code: 'MODEL_FAILED', details: { status, type, requestId: 'req_1', attempts: 1 } });
  expect(failures[1]).toEqual(failures[0]);
  expect(JSON.stringify(failures)).not.toContain('SECRET');
});

it('S160: transport fetch retries by itself, unless its caller does', async () => {
  const down: Reply = { status: 529, headers: { 'retry-after-ms': '5' }, body: {} };
  for (const given of [{ apiKey: 'k', baseURL, maxRetries: 1 }, { client: new Anthropic({ apiKey: 'k', baseURL, maxRetries: 1 }) }]) {
    replies = [down];
    expect((await ask(anthropic('claude-opus-4-8', { ...given, transport: 'fetch' }))).end?.usage.requests).toBe(2);
    for (const transport of transports) {
      replies = [down];
      const model = anthropic('claude-opus-4-8', { ...given, transport });
      await expect(ask(model, { isRetried: true })).rejects.toMatchObject({ details: { status: 529 } });
    }
  }
  expect(seen).toHaveLength(8);
});

it('a client that cannot be asked for its requests is refused with transport fetch', () => {
  const client: MessagesClient = { messages: new Anthropic({ apiKey: 'k' }).messages };
  expect(() => anthropic('claude-opus-4-8', { client, transport: 'fetch' })).toThrow(/asks the client to build its requests/);
});
