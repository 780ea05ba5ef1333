import type { IncomingHttpHeaders, Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Model, ModelAnswer, ModelEvent, ModelRequest, StreamOptions } from '@guardloop/core/model';
import { collect, GuardloopError } from '@guardloop/core/model';
import OpenAI, { AzureOpenAI } from 'openai';
import OpenAI7, { AzureOpenAI as AzureOpenAI7 } from 'openai-7';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ChatOptions } from './chat/options.js';
import { openaiChat, openaiResponses } from './index.js';

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

interface Reply {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body: unknown;
}

/** Answers in the form of the path asked for, unless it is told how to fail. */
class RecordingServer {
  readonly seen: Seen[] = [];
  replies: Reply[] = [];
  baseURL = '';
  readonly #server: Server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const { method, url = '', headers } = request;
      this.seen.push({ method, url, headers, body: JSON.parse(Buffer.concat(pieces).toString()) as unknown });
      const reply = this.replies.shift();
      if (reply !== undefined) {
        response.writeHead(reply.status, { 'content-type': 'application/json', 'x-request-id': 'req_1', ...reply.headers });
        response.end(JSON.stringify(reply.body));
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': 'req_1' });
      response.end(url.includes('/responses') ? responsesAnswer : chatAnswer);
    });
  });

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.baseURL = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

const frames = (events: readonly object[]): string => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
const chatAnswer = `${frames([
  { choices: [{ index: 0, delta: { content: 'hello' }, finish_reason: null }] },
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
])}data: [DONE]\n\n`;
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'hello', annotations: [] }],
};
const responsesAnswer = frames([
  { type: 'response.created', response: { id: 'resp_1', object: 'response', status: 'in_progress', output: [] } },
  { type: 'response.output_item.added', output_index: 0, item: { ...message, status: 'in_progress', content: [] } },
  {
    type: 'response.content_part.added',
    item_id: 'msg_1',
    output_index: 0,
    content_index: 0,
    part: { type: 'output_text', text: '', annotations: [] },
  },
  { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'hello' },
  { type: 'response.output_text.done', item_id: 'msg_1', output_index: 0, content_index: 0, text: 'hello' },
  { type: 'response.output_item.done', output_index: 0, item: message },
  {
    type: 'response.completed',
    response: {
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      output: [message],
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    },
  },
]);

let server: RecordingServer;
beforeEach(async () => {
  server = new RecordingServer();
  await server.open();
});
afterEach(() => {
  server.close();
  vi.unstubAllEnvs();
});

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
  settings: { temperature: 0, headers: { 'x-turn': '1' } },
};
const signal = new AbortController().signal;
const ask = (model: Model, options: Partial<StreamOptions> = {}): Promise<ModelAnswer> =>
  collect(model.stream(request, { signal, ...options }));
const transports = ['sdk', 'fetch'] as const;

describe('transport fetch sends what the SDK sends', () => {
  type Given = Pick<ChatOptions, 'client' | 'apiKey' | 'baseURL' | 'headers' | 'timeoutMs'>;
  const clients: readonly [string, () => Given][] = [
    ['a key', () => ({ apiKey: 'k1', baseURL: server.baseURL })],
    ['headers and a time limit', () => ({ apiKey: 'k1', baseURL: server.baseURL, headers: { 'X-Team': 'billing' }, timeoutMs: 5_000 })],
    ['a key function', () => ({ apiKey: async () => 'k2', baseURL: server.baseURL })],
    ['a client of version 6', () => ({ client: new OpenAI(clientOptions()) })],
    ['a client of version 7', () => ({ client: new OpenAI7(clientOptions()) as unknown as OpenAI })],
    ['a client of version 6 with a key function', () => ({ client: new OpenAI({ ...clientOptions(), apiKey: async () => 'k4' }) })],
    [
      'a client of version 7 with a key function',
      () => ({ client: new OpenAI7({ ...clientOptions(), apiKey: async () => 'k4' }) as unknown as OpenAI }),
    ],
    ['an Azure client of version 6', () => ({ client: new AzureOpenAI(azureOptions()) })],
    ['an Azure client of version 7', () => ({ client: new AzureOpenAI7(azureOptions()) as unknown as OpenAI })],
    [
      'an Azure client with tokens',
      () => {
        const { apiKey: _, ...options } = azureOptions();
        return { client: new AzureOpenAI({ ...options, azureADTokenProvider: async () => 'token' }) };
      },
    ],
  ];
  const clientOptions = () => ({
    apiKey: 'k3',
    baseURL: server.baseURL,
    organization: 'org_1',
    project: 'proj_1',
    defaultHeaders: { 'x-default': 'd' },
    defaultQuery: { tenant: 't' },
  });
  const azureOptions = () => ({ apiKey: 'k5', endpoint: server.baseURL.replace('/v1', ''), apiVersion: '2024-10-21', deployment: 'mine' });

  test.each(clients)('with %s', async (_name, options) => {
    vi.stubEnv('OPENAI_API_KEY', '');
    vi.stubEnv('OPENAI_ORG_ID', 'org_env');
    for (const make of [openaiChat, openaiResponses]) {
      server.seen.length = 0;
      for (const transport of transports) {
        const model = make('gpt-5', { ...options(), transport });
        for (let turn = 0; turn < 2; turn += 1) expect((await ask(model)).text).toBe('hello');
      }
      const [bySdk, again, byFetch, cached] = server.seen;
      expect(bySdk?.headers).toMatchObject({ 'x-turn': '1', 'content-type': 'application/json' });
      expect(bySdk?.body).toMatchObject({ model: 'gpt-5', stream: true });
      expect(again).toEqual(bySdk);
      expect(byFetch).toEqual(bySdk);
      expect(cached).toEqual(bySdk);
    }
  });

  test('a key function is asked for each request, and headers are those of the request', async () => {
    let count = 0;
    const model = openaiChat('gpt-5', { baseURL: server.baseURL, apiKey: async () => `k${++count}`, transport: 'fetch' });
    await ask(model);
    await ask(model);
    expect(server.seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer k1', 'Bearer k2']);
    const plain = openaiChat('gpt-5', { baseURL: server.baseURL, apiKey: 'k', transport: 'fetch' });
    for (const team of ['a', 'b', 'a']) {
      await collect(plain.stream({ ...request, settings: { headers: { 'x-team': team } } }, { signal }));
    }
    expect(server.seen.slice(2).map(({ headers }) => headers['x-team'])).toEqual(['a', 'b', 'a']);
  });

  test('a fetch of the caller’s, and that of a client of the caller’s with its options, are used', async () => {
    const seen: unknown[] = [];
    const own: typeof fetch = (input, init) => {
      seen.push(String(input), (init as { readonly mark?: string }).mark);
      return fetch(input, init);
    };
    await ask(openaiChat('gpt-5', { baseURL: server.baseURL, apiKey: 'k', fetch: own, transport: 'fetch' }));
    const client = new OpenAI({ baseURL: server.baseURL, apiKey: 'k', fetch: own, fetchOptions: { mark: 'proxy' } as object });
    await ask(openaiChat('gpt-5', { client, transport: 'fetch' }));
    const url = `${server.baseURL}/chat/completions`;
    expect(seen).toEqual([url, undefined, url, 'proxy']);
  });
});

describe('transport fetch fails as the SDK does', () => {
  const failure = async (options: ChatOptions, streamOptions: Partial<StreamOptions> = {}): Promise<GuardloopError> => {
    const error = await ask(openaiChat('gpt-5', { apiKey: 'k', maxRetries: 0, baseURL: server.baseURL, ...options }), streamOptions).catch(
      (thrown: unknown) => thrown,
    );
    if (!GuardloopError.is(error)) throw error;
    return error;
  };
  const about = ({ code, message: words, isRetryable, details, cause }: GuardloopError) => ({ code, words, isRetryable, details, cause });

  test.each([
    [400, { error: { code: 'invalid_value', type: 'invalid_request_error', message: 'SECRET' } }, {}],
    [401, { error: { code: 'invalid_api_key', message: 'SECRET' } }, {}],
    [404, { error: null }, {}],
    [429, { error: { code: 'rate_limit_exceeded' } }, { 'retry-after': '7' }],
    [500, 'SECRET', {}],
    [503, {}, { 'x-should-retry': 'false' }],
  ])('status %i', async (status, body, headers) => {
    const clients = [{}, { client: () => new OpenAI7({ apiKey: 'k', maxRetries: 0, baseURL: server.baseURL }) as unknown as OpenAI }];
    for (const { client } of clients) {
      server.replies = transports.map(() => ({ status, headers, body }));
      const given = client === undefined ? {} : { client: client(), apiKey: undefined, maxRetries: undefined, baseURL: undefined };
      const [bySdk, byFetch] = [await failure({ ...given, transport: 'sdk' }), await failure({ ...given, transport: 'fetch' })];
      expect(about(byFetch)).toEqual({ ...about(bySdk), details: { ...bySdk.details, attempts: 1 } });
      expect(byFetch.details).toMatchObject({ status, requestId: 'req_1' });
      expect(JSON.stringify(about(byFetch))).not.toContain('SECRET');
    }
  });

  test('a content filter is a refusal', async () => {
    server.replies = [{ status: 400, body: { error: { code: 'content_filter' } } }];
    const { end } = await ask(openaiChat('gpt-5', { apiKey: 'k', baseURL: server.baseURL, transport: 'fetch' }));
    expect(end).toMatchObject({ stopReason: 'refusal', detail: 'content filter' });
  });

  test('a server that is not there, and one that gives no answer in time, are told apart from a fault of the options', async () => {
    const silent: typeof fetch = (_input, init) =>
      new Promise((_resolve, reject) => init?.signal?.addEventListener('abort', () => reject(new DOMException('x', 'AbortError'))));
    const deaf: typeof fetch = () => new Promise(() => undefined);
    const late = (given: typeof fetch): ChatOptions => ({ client: new OpenAI({ apiKey: 'k', fetch: given, timeout: 20, maxRetries: 0 }) });
    const without = { apiKey: undefined, maxRetries: undefined, baseURL: undefined };
    const gone = new RecordingServer();
    await gone.open();
    gone.close();
    const failures = [
      await failure({ baseURL: gone.baseURL, transport: 'fetch' }),
      await failure({ client: new OpenAI({ apiKey: 'k', baseURL: gone.baseURL, maxRetries: 0 }), ...without, transport: 'fetch' }),
      await failure({ fetch: silent, timeoutMs: 20, transport: 'fetch' }),
      await failure({ fetch: deaf, timeoutMs: 20, transport: 'fetch' }),
      await failure({ ...late(silent), ...without, transport: 'fetch' }),
    ];
    for (const error of failures) {
      expect(about(error)).toMatchObject({ code: 'MODEL_FAILED', isRetryable: true });
      expect(error.message).toContain('could not be reached, or did not answer in time');
    }
    expect(failures.slice(0, 2).map(({ cause }) => cause?.code)).toEqual(['ECONNREFUSED', 'ECONNREFUSED']);
    const faulty = async (): Promise<string> => {
      throw new Error('SECRET');
    };
    const error = await failure({ apiKey: faulty, transport: 'fetch' });
    expect([error.code, error.isRetryable, JSON.stringify(about(error)).includes('SECRET')]).toEqual(['MODEL_FAILED', false, false]);
  });

  test.each(transports)('a fetch of the caller’s that throws at once failed as one that rejects (%s)', async (transport) => {
    const broken = (): never => {
      throw new Error('SECRET');
    };
    const error = await failure({ fetch: broken, transport, maxRetries: 0 });
    expect([error.code, error.isRetryable, error.message.includes('could not be reached')]).toEqual(['MODEL_FAILED', true, true]);
  });

  test('no key is told at the first call', async () => {
    vi.stubEnv('OPENAI_API_KEY', '');
    expect((await failure({ apiKey: '', transport: 'fetch' })).code).toBe('CONFIG_INVALID');
  });
});

test('an address in the environment is that of another server, with none of the limits of OpenAI', async () => {
  const tools = Array.from({ length: 129 }, (_, index) => ({ name: `t${index}`, description: '', schema: { type: 'object' } }));
  const sent = (): Promise<ModelAnswer> => collect(openaiChat('m').stream({ ...request, tools }, { signal }));
  vi.stubEnv('OPENAI_API_KEY', 'k');
  await expect(sent()).rejects.toThrow('OpenAI takes at most 128');
  vi.stubEnv('OPENAI_BASE_URL', server.baseURL);
  expect((await sent()).text).toBe('hello');
});

describe('transport fetch retries as withRetry does', () => {
  const down: Reply = { status: 503, headers: { 'retry-after-ms': '5' }, body: {} };
  const model = (options: ChatOptions = {}): Model =>
    openaiChat('gpt-5', { apiKey: 'k', baseURL: server.baseURL, transport: 'fetch', ...options });
  const eventsOf = async (events: AsyncIterable<ModelEvent>): Promise<string[]> => {
    const seen: string[] = [];
    for await (const event of events) seen.push(event.type);
    return seen;
  };

  test('twice, each is told, and all attempts are counted', async () => {
    server.replies = [down, down];
    expect(await eventsOf(model().stream({ ...request, tools: [] }, { signal }))).toEqual(['retry', 'retry', 'text.delta', 'end']);
    server.replies = [down];
    expect((await ask(model())).end?.usage.requests).toBe(2);
  });

  test('S223: as often as maxRetries says, also that of a client', async () => {
    for (const options of [{ maxRetries: 1 }, { client: new OpenAI({ apiKey: 'k', baseURL: server.baseURL, maxRetries: 1 }) }]) {
      server.replies = [down, down, down];
      const given = 'client' in options ? { ...options, apiKey: undefined, baseURL: undefined } : options;
      await expect(ask(model(given))).rejects.toMatchObject({ code: 'MODEL_FAILED', details: { status: 503, attempts: 2 } });
      expect(server.replies).toHaveLength(1);
      server.replies = [];
    }
  });

  test.each(transports)('S160: one layer, so a caller that retries itself gets one attempt (%s)', async (transport) => {
    server.replies = [down, down];
    for (const options of [
      { maxRetries: 2 },
      { client: new OpenAI({ apiKey: 'k', baseURL: server.baseURL }), apiKey: undefined, baseURL: undefined },
    ]) {
      await expect(ask(model({ transport, ...options }), { isRetried: true })).rejects.toMatchObject({ details: { status: 503 } });
    }
    expect(server.seen).toHaveLength(2);
  });
});

test('transport is checked, and so is a client that could not be asked', () => {
  expect(() => openaiChat('gpt-5', { transport: 'http' as 'sdk' })).toThrow(/transport must be 'sdk' or 'fetch'/);
  expect(() => openaiChat('gpt-5', { transport: 'fetch', client: {} as OpenAI })).toThrow(/asks the client to build its requests/);
});
