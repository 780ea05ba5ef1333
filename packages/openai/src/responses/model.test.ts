import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Model, ModelEvent, ModelRequest, ToolSpec } from '@guardloop/core/model';
import { collect, GuardloopError, SseReader, withRetry } from '@guardloop/core/model';
import fc from 'fast-check';
import OpenAI7 from 'openai-7';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkResponsesRequest } from '../../../testing/src/requests/openai-responses.js';
import type { Item } from '../../test/responses-events.js';
import { answerOf, call, completed, created, message, reasoning, sse, streamed, usage } from '../../test/responses-events.js';
import { ResponsesAssembly } from './assembly.js';
import { openaiResponses } from './model.js';
import type { ResponsesOptions } from './options.js';

type Step = string | Uint8Array | 'cut';

interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}

/** A server on 127.0.0.1 that gives its answers in order, writes their steps one by one, and checks every request it gets. */
class ResponsesServer {
  readonly bodies: Record<string, unknown>[] = [];
  readonly urls: (string | undefined)[] = [];
  readonly problems: string[] = [];
  answers: Answer[] = [];
  readonly #server: Server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    request.on('end', () => {
      const body = JSON.parse(text) as Record<string, unknown>;
      this.bodies.push(body);
      this.urls.push(request.url);
      this.problems.push(...checkResponsesRequest(body));
      const answer = this.answers.shift() ?? { status: 500, steps: ['no answer left'] };
      response.writeHead(answer.status ?? 200, { 'content-type': 'text/event-stream', 'x-request-id': 'req_1', ...answer.headers });
      response.flushHeaders();
      void (async () => {
        for (const step of answer.steps) {
          if (step === 'cut') {
            await sleep(5);
            response.destroy();
            return;
          }
          await new Promise((resolve) => response.write(step, resolve));
        }
        response.end();
      })();
    });
  });

  async open(): Promise<string> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

let server: ResponsesServer;
let baseURL: string;

beforeEach(async () => {
  server = new ResponsesServer();
  baseURL = await server.open();
});
afterEach(() => {
  server.close();
  expect(server.problems).toEqual([]);
});

const find: ToolSpec = { name: 'find', description: 'Finds.', schema: { type: 'object', properties: { id: { type: 'string' } } } };
const baseRequest: ModelRequest = {
  agent: 'a',
  turn: 1,
  system: 'Be brief.',
  messages: [
    { role: 'user', id: 'u1', via: 'user', parts: [{ type: 'text', text: 'hi' }], label: { origin: 'user', integrity: 'trusted' } },
  ],
  tools: [find],
  settings: {},
};

function responses(options: ResponsesOptions = {}): Model {
  return openaiResponses('gpt-5', { apiKey: 'k', baseURL, maxRetries: 0, ...options });
}

const signal = (): AbortSignal => new AbortController().signal;

async function eventsOf(model: Model, request: ModelRequest = baseRequest): Promise<ModelEvent[]> {
  const list: ModelEvent[] = [];
  for await (const event of model.stream(request, { signal: signal() })) list.push(event);
  return list;
}

function streams(...events: readonly object[]): Answer {
  return { steps: [sse(events)] };
}

/** What comes of a stream of these events. */
async function answered(events: readonly object[], options: ResponsesOptions = {}) {
  server.answers = [streams(...events)];
  return collect(responses(options).stream(baseRequest, { signal: signal() }));
}

/** The events up to the failure, and the failure. */
async function failing(model: Model): Promise<{ seen: ModelEvent[]; error: GuardloopError }> {
  const seen: ModelEvent[] = [];
  try {
    for await (const event of model.stream(baseRequest, { signal: signal() })) seen.push(event);
  } catch (error) {
    if (GuardloopError.is(error)) return { seen, error };
    throw error;
  }
  throw new Error('expected a failure');
}

async function failedOn(...events: readonly object[]) {
  server.answers = [streams(...events)];
  return failing(responses());
}

/** Answers with these bytes, in exactly these chunks. */
function chunked(chunks: readonly Uint8Array[]): typeof fetch {
  return () => {
    let index = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const chunk = chunks[index];
        index += 1;
        if (chunk === undefined) controller.close();
        else controller.enqueue(chunk);
      },
    });
    return Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
  };
}

const text = (piece: string): ModelEvent => ({ type: 'text.delta', text: piece });
const hello = message('msg_1', 'Grüße 😀.');
const items = [reasoning('rs_1', 'E1', ['Hm, 東京.']), message('msg_1', 'Looking 😀.'), call('fc_1', 'call_1', '{"id":  "ö1"}')];

describe('an answer', () => {
  test('text flows as it comes, and the end holds stop reason, usage and the items to replay', async () => {
    server.answers = [streams(...answerOf(hello))];
    expect(await eventsOf(responses())).toEqual([
      text('Grüße'),
      text(' 😀.'),
      {
        type: 'end',
        stopReason: 'stop',
        usage: { requests: 1, inputTokens: 12, outputTokens: 5, cacheReadTokens: 4, cacheWriteTokens: 3, reasoningTokens: 2 },
        native: [hello],
      },
    ]);
    expect(server.urls).toEqual(['/v1/responses']);
  });

  test('reasoning flows apart, calls come when the answer is whole, and all of it is replayed', async () => {
    server.answers = [streams(...answerOf(...items))];
    const events = await eventsOf(responses());
    expect(events.map(({ type }) => type)).toEqual([
      'reasoning.delta',
      'reasoning.delta',
      'text.delta',
      'text.delta',
      'tool.delta',
      'tool.delta',
      'tool.call',
      'end',
    ]);
    expect(events.at(-2)).toEqual({ type: 'tool.call', call: { providerId: 'call_1', name: 'find', input: { id: 'ö1' } } });
    expect(events.at(-1)).toMatchObject({ stopReason: 'tools', native: items });
  });

  test('an answer goes into the next request as it came', async () => {
    server.answers = [streams(...answerOf(...items)), streams(...answerOf(hello))];
    const model = responses();
    const { end, text: said } = await collect(model.stream(baseRequest, { signal: signal() }));
    const label = { origin: 'agent:a', integrity: 'untrusted' } as const;
    const native = { provider: model.provider, message: end?.native ?? null };
    const answer = { role: 'assistant', id: 'a1', agent: 'a', text: said, native, label } as const;
    const calls = [{ id: '1.0', providerId: 'call_1', name: 'find', input: { id: 'ö1' } }];
    const result = { role: 'tool', id: 't1', callId: '1.0', tool: 'find', content: 'found', isError: false, label } as const;
    await eventsOf(model, { ...baseRequest, messages: [...baseRequest.messages, { ...answer, calls }, result] });
    const sent = server.bodies[1]?.input as readonly Item[];
    expect(sent.slice(1, 4).map((item) => JSON.stringify(item))).toEqual(items.map((item) => JSON.stringify(item)));
    expect(sent[4]).toEqual({ type: 'function_call_output', call_id: 'call_1', output: 'found' });
  });

  test('what is told only at the end of an item, or only at the end of the answer, is told then', async () => {
    const ends = items.map((item, index) => ({ type: 'response.output_item.done', output_index: index, item }));
    for (const events of [[created, ...ends, completed([])], [completed(items)], [created, ...ends, completed(items)]]) {
      const answer = await answered(events);
      expect(answer).toMatchObject({ text: 'Looking 😀.', reasoning: 'Hm, 東京.', end: { stopReason: 'tools', native: items } });
      expect(answer.calls).toEqual([{ providerId: 'call_1', name: 'find', input: { id: 'ö1' } }]);
    }
  });

  test('a server that ignores stream is read too', async () => {
    const whole = { object: 'response', status: 'completed', output: items, usage };
    server.answers = [{ headers: { 'content-type': 'application/json' }, steps: [JSON.stringify(whole)] }];
    const answer = await collect(responses().stream(baseRequest, { signal: signal() }));
    expect(answer).toMatchObject({ text: 'Looking 😀.', end: { stopReason: 'tools', native: items, usage: { inputTokens: 12 } } });
  });

  test('the encrypted content is that of the item that ended, not of the one that began', async () => {
    const begun = { ...items[0], encrypted_content: 'PARTIAL' };
    const added = { type: 'response.output_item.added', output_index: 0, item: begun };
    const { end } = await answered([created, added, ...streamed(hello, 1), completed([])]);
    expect(JSON.stringify(end?.native)).not.toContain('PARTIAL');
    const whole = await answered([created, added, ...streamed(hello, 1), completed([items[0] ?? {}, hello])]);
    expect(whole.end?.native).toMatchObject([{ encrypted_content: 'E1' }, hello]);
  });

  test('cost comes from the prices, cached tokens at their own', async () => {
    const counts = { input_tokens: 1_000_000, output_tokens: 100_000, input_tokens_details: { cached_tokens: 400_000 } };
    const { end } = await answered([created, completed([hello], { usage: counts })], { prices: { input: 2, output: 10, cacheRead: 0.5 } });
    expect(end?.usage).toEqual({
      requests: 1,
      inputTokens: 1_000_000,
      outputTokens: 100_000,
      cacheReadTokens: 400_000,
      cost: 1.2 + 0.2 + 1,
    });
  });

  test('the provider’s own tools are passed over, and replayed with the answer', async () => {
    const search: Item = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'rain' } };
    const busy = { type: 'response.web_search_call.searching', item_id: 'ws_1', output_index: 0 };
    const events = [created, busy, ...streamed(search, 0), ...streamed(hello, 1), completed([search, hello])];
    const answer = await answered(events, { providerTools: [{ type: 'web_search' }] });
    expect(answer).toMatchObject({ calls: [], text: 'Grüße 😀.', end: { stopReason: 'stop', native: [search, hello] } });
    expect(server.bodies[0]?.tools).toMatchObject([{ name: 'find' }, { type: 'web_search' }]);
  });
});

describe('calls', () => {
  const pieces = (item: Item, index: number | undefined, id?: string): readonly object[] => [
    { type: 'response.output_item.added', output_index: index, item: { ...item, id, arguments: '' } },
    { type: 'response.function_call_arguments.delta', output_index: index, item_id: id, delta: item.arguments },
    { type: 'response.output_item.done', output_index: index, item: { ...item, id } },
  ];
  const one = call('fc_1', 'call_1', '{"id":"a"}');
  const two = call('fc_2', 'call_2', '{"id":"b"}');
  const inputs = (calls: readonly object[]): readonly unknown[] => calls.map((each) => ('input' in each ? each.input : each));

  test.each<[string, readonly (number | undefined)[], readonly (string | undefined)[]]>([
    ['without indexes', [undefined, undefined], ['fc_1', 'fc_2']],
    ['with one index', [0, 0], ['fc_1', 'fc_2']],
    ['without ids', [0, 1], [undefined, undefined]],
    ['with one id', [0, 1], ['fc_1', 'fc_1']],
    ['with neither ids nor indexes', [undefined, undefined], [undefined, undefined]],
  ])('S040: two calls %s stay apart', async (_name, indexes, ids) => {
    const events = [one, two].flatMap((item, place) => pieces(item, indexes[place], ids[place]));
    const answer = await answered([created, ...events, completed([])]);
    expect(answer.calls).toEqual([
      { providerId: 'call_1', name: 'find', input: { id: 'a' } },
      { providerId: 'call_2', name: 'find', input: { id: 'b' } },
    ]);
  });

  test('S040: two calls with one call id are two calls', async () => {
    const again = { ...two, call_id: 'call_1' };
    for (const events of [answerOf(one, again), [completed([one, again])]]) {
      const { calls } = await answered(events);
      expect(inputs(calls)).toEqual([{ id: 'a' }, { id: 'b' }]);
    }
  });

  test('an item that gets another id in every event is one item', async () => {
    const answer = await answered([
      created,
      { type: 'response.output_item.added', output_index: 0, item: { ...one, id: 'x1', arguments: '' } },
      { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'x2', delta: '{"id":' },
      { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'x3', delta: '"a"}' },
      { type: 'response.output_item.done', output_index: 0, item: { ...one, id: 'x4' } },
      completed([{ ...one, id: 'x5' }]),
    ]);
    expect(inputs(answer.calls)).toEqual([{ id: 'a' }]);
  });

  test('arguments as an object, or told in pieces alone, are taken', async () => {
    const asObject = await answered([created, completed([{ ...one, arguments: { id: 'a' } }])]);
    expect(inputs(asObject.calls)).toEqual([{ id: 'a' }]);
    expect(asObject.end?.native).toMatchObject([{ arguments: '{"id":"a"}' }]);
    const inPieces = await answered([created, ...pieces(one, 0, 'fc_1').slice(0, 2), completed([])]);
    expect(inputs(inPieces.calls)).toEqual([{ id: 'a' }]);
    expect(inPieces.end?.native).toMatchObject([{ call_id: 'call_1', arguments: '{"id":"a"}' }]);
  });

  test('an item that is said to go on still, in a response that is complete, goes back as complete', async () => {
    const open = [reasoning('rs_1', 'E1'), one].map((item) => ({ ...item, status: 'in_progress' }));
    for (const events of [answerOf(...open), [completed(open)]]) {
      const { calls, end } = await answered(events);
      expect(inputs(calls)).toEqual([{ id: 'a' }]);
      expect(end?.native).toMatchObject([{ status: 'completed' }, { status: 'completed' }]);
    }
  });

  test('S026: arguments that are no object leave no items to replay', async () => {
    for (const input of ['null', '[1]', '7', '{"id":']) {
      const { calls, end } = await answered(answerOf(call('fc_1', 'call_1', input)));
      expect(calls).toHaveLength(1);
      expect(end?.native).toBeUndefined();
    }
  });
});

describe('an answer that is none', () => {
  test.each<[string, string | undefined]>([
    ['max_output_tokens', 'length'],
    ['content_filter', 'refusal'],
    ['', 'length'],
  ])('an incomplete response (%s) gives out no call and no items', async (reason, stopReason) => {
    const end = { status: 'incomplete', incomplete_details: reason === '' ? null : { reason }, output: items, usage };
    const answer = await answered([created, ...items.flatMap(streamed), { type: 'response.incomplete', response: end }]);
    expect(answer).toMatchObject({ calls: [], end: { stopReason, usage: { inputTokens: 12 } } });
    expect(answer.end?.native).toBeUndefined();
  });

  test.each(['message', 'function_call'])('S038: a %s that was cut makes a response that says it is complete none', async (type) => {
    const cut = items.map((item) => ('type' in item && item.type === type ? { ...item, status: 'incomplete' } : item));
    const answer = await answered([
      created,
      ...cut.flatMap(streamed),
      { type: 'response.completed', response: { status: 'completed', output: cut } },
    ]);
    expect(answer).toMatchObject({ calls: [], end: { stopReason: 'length' } });
    expect(answer.end?.native).toBeUndefined();
  });

  test('an incomplete response of another reason is no success', async () => {
    const { error } = await failedOn(created, { type: 'response.incomplete', response: { incomplete_details: { reason: 'tired' } } });
    expect(error).toMatchObject({ code: 'MODEL_PROTOCOL', message: expect.not.stringContaining('tired') as string });
  });

  test('a refusal by the model is told, without its words', async () => {
    const item = { ...message('msg_1', ''), content: [{ type: 'refusal', refusal: 'SECRET WORDS' }] };
    const delta = { type: 'response.refusal.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'SECRET WORDS' };
    for (const events of [[created, delta, completed([item])], [completed([item])]]) {
      const answer = await answered(events);
      expect(answer.end).toMatchObject({ stopReason: 'refusal', detail: 'refusal by the model' });
      expect(JSON.stringify(answer)).not.toContain('SECRET');
    }
  });

  test.each(['content_filter', 'content_policy_violation', 'bio_policy', 'misalignment_policy_violation'])(
    'the content filter refuses in the middle (%s)',
    async (code) => {
      const failed = { type: 'response.failed', response: { status: 'failed', error: { code, message: 'SECRET' } } };
      for (const event of [failed, { type: 'error', code, message: 'SECRET' }, { type: 'error', error: { code, message: 'SECRET' } }]) {
        const answer = await answered([created, ...streamed(hello, 0), event]);
        expect(answer).toMatchObject({ calls: [], end: { stopReason: 'refusal', detail: 'content filter' } });
      }
    },
  );

  test.each<[string, object, object]>([
    [
      'response.failed',
      { type: 'response.failed', response: { status: 'failed', error: { code: 'server_error', message: 'SECRET' } } },
      { status: 500, type: 'server_error' },
    ],
    ['an error event', { type: 'error', code: 'rate_limit_exceeded', message: 'SECRET', param: null }, { status: 429 }],
    ['an error event that nests', { type: 'error', error: { type: 'server_error', message: 'SECRET' } }, { status: 500 }],
    ['an error without a type', { error: { code: 'server_error', message: 'SECRET' } }, { status: 500 }],
    ['a response that was cancelled', { type: 'response.completed', response: { status: 'cancelled', output: [] } }, {}],
  ])('%s is MODEL_FAILED, to be repeated only where nothing was delivered', async (_name, event, details) => {
    const first = await failedOn(created, event);
    expect(first.error).toMatchObject({ code: 'MODEL_FAILED', isRetryable: true, details: { ...details, delivered: false } });
    expect(first.seen).toEqual([]);
    const later = await failedOn(created, ...streamed(hello, 0), event);
    expect(later.error).toMatchObject({ code: 'MODEL_FAILED', isRetryable: false, details: { delivered: true } });
    for (const { error } of [first, later]) expect(JSON.stringify([error.message, error.details])).not.toContain('SECRET');
  });

  test('an image that the provider cannot take is not asked for again', async () => {
    for (const code of ['image_too_large', 'invalid_image', 'failed_to_download_image']) {
      const { error } = await failedOn(created, { type: 'response.failed', response: { status: 'failed', error: { code } } });
      expect(error).toMatchObject({ code: 'MODEL_FAILED', isRetryable: false, details: { type: code } });
    }
  });

  test('what a failed response used is told with the error', async () => {
    const response = { status: 'failed', error: { code: 'server_error' }, usage };
    const { error } = await failedOn(created, { type: 'response.failed', response });
    expect(error.details.usage).toMatchObject({ inputTokens: 12, outputTokens: 5 });
  });

  test('a tool that the provider ran may have changed something: the answer is not asked for again unseen', async () => {
    const ran: Item = {
      type: 'mcp_call',
      id: 'mcp_1',
      status: 'completed',
      server_label: 'shop',
      name: 'refund',
      arguments: '{}',
      output: 'ok',
    };
    const { error } = await failedOn(created, ...streamed(ran, 0));
    expect(error).toMatchObject({ code: 'MODEL_PROTOCOL', isRetryable: false });
    const read: Item = { type: 'web_search_call', id: 'ws_1', status: 'completed' };
    expect((await failedOn(created, ...streamed(read, 0))).error.isRetryable).toBe(true);
  });

  test.each(['custom_tool_call', 'computer_call', 'local_shell_call', 'apply_patch_call', 'mcp_approval_request'])(
    'a %s waits for an answer that nobody would give: it is no success',
    async (type) => {
      const { error } = await failedOn(...answerOf({ type, id: 'x_1', call_id: 'call_1' }));
      expect(error).toMatchObject({ code: 'MODEL_PROTOCOL', isRetryable: false });
    },
  );

  test('text that ends otherwise than its pieces said is no success: what was checked is not what would be replayed', async () => {
    const { error } = await failedOn(created, ...streamed(hello, 0).slice(0, -2), completed([message('msg_1', 'Something else.')]));
    expect(error).toMatchObject({ code: 'MODEL_PROTOCOL', message: expect.not.stringContaining('Something') as string });
  });

  test.each<[string, readonly object[]]>([
    ['nothing', []],
    ['a response that has begun', [created]],
    ['a whole call', [created, ...streamed(call('fc_1', 'call_1', '{}'), 0)]],
    ['a response that goes on', [{ type: 'response.completed', response: { status: 'in_progress', output: [] } }]],
  ])('a stream that ends behind %s was cut', async (_name, events) => {
    const { seen, error } = await failedOn(...events);
    expect(error).toMatchObject({ code: 'MODEL_PROTOCOL', isRetryable: true });
    expect(seen.filter(({ type }) => type === 'tool.call' || type === 'end')).toEqual([]);
    server.answers = [{ steps: [`${sse(events)}data: [DONE]\n\n`] }];
    expect((await failing(responses())).error.code).toBe('MODEL_PROTOCOL');
  });
});

describe('the bytes of a stream', { timeout: 120_000 }, () => {
  const whole = new TextEncoder().encode(`${sse([...answerOf(...items), { type: 'response.future', deep: ['東京'] }])}data: [DONE]\n\n`);
  const read = (chunks: readonly Uint8Array[]): Promise<ModelEvent[]> => eventsOf(responses({ fetch: chunked(chunks) }));

  test('decide the events, not how they are cut: at every byte', () => {
    const assembled = (...chunks: readonly Uint8Array[]): readonly ModelEvent[] => {
      const failed = (what: unknown): never => {
        throw new Error(String(what));
      };
      const assembly = new ResponsesAssembly({
        names: new Map(),
        server: '127.0.0.1',
        prices: undefined,
        maxChars: 100_000,
        protocolError: failed,
        providerError: failed,
      });
      const reader = new SseReader(100_000);
      const frames = [...chunks.map((chunk) => reader.push(chunk)), reader.end()].flat();
      return [...frames.flatMap((frame) => [...assembly.push(frame)]), ...assembly.finish(1)];
    };
    const expected = assembled(whole);
    expect(expected.at(-1)).toMatchObject({ type: 'end', native: items });
    for (let at = 0; at <= whole.length; at += 1) expect(assembled(whole.subarray(0, at), whole.subarray(at))).toEqual(expected);
  });

  test('decide the events, however often they are cut', async () => {
    const expected = await read([whole]);
    const cuts = fc.uniqueArray(fc.integer({ min: 1, max: whole.length - 1 }), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(cuts, async (places) => {
        const sorted = [0, ...places.toSorted((one, other) => one - other), whole.length];
        expect(await read(sorted.slice(1).map((end, index) => whole.subarray(sorted[index], end)))).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  test('flipped, cut short or random: an answer or an error, never a hang or half a call', async () => {
    const flips = fc.array(fc.tuple(fc.integer({ min: 0, max: whole.length - 1 }), fc.integer({ min: 0, max: 255 })), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(flips, fc.integer({ min: 0, max: whole.length }), async (changes, length) => {
        const bytes = whole.slice(0, length);
        for (const [at, byte] of changes) if (at < length) bytes[at] = byte;
        const seen: ModelEvent[] = [];
        try {
          for await (const event of responses({ fetch: chunked([bytes]) }).stream(baseRequest, { signal: signal() })) seen.push(event);
          expect(seen.at(-1)?.type).toBe('end');
        } catch (error) {
          if (!GuardloopError.is(error)) throw error;
          expect(error.code).toMatch(/^MODEL_(PROTOCOL|FAILED)$/);
          expect(seen.filter(({ type }) => type === 'tool.call' || type === 'end')).toEqual([]);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('of one event, and of an answer, are bounded', async () => {
    server.answers = [streams(...answerOf(message('msg_1', 'x'.repeat(5_000))))];
    const { error } = await failing(responses({ maxEventChars: 1_000 }));
    expect(error).toMatchObject({ code: 'MODEL_PROTOCOL', isRetryable: false });
    const piece = { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'x'.repeat(500) };
    const item = (index: number): object => ({
      type: 'response.output_item.added',
      output_index: index,
      item: call(`fc_${index}`, `c${index}`, ''),
    });
    for (const endless of [Array.from({ length: 50 }, () => piece), Array.from({ length: 200 }, (_, index) => item(index))]) {
      server.answers = [streams(created, ...endless, completed([]))];
      const { error: tooLong } = await failing(responses({ maxEventChars: 1_000 }));
      expect(tooLong).toMatchObject({ code: 'MODEL_PROTOCOL', message: expect.stringContaining('longer than 16000') as string });
    }
  });
});

describe('S162: a stream that breaks', () => {
  const begun = [created, ...streamed(items[2] ?? {}, 0).slice(0, 1)];
  const retrying = (): Model => withRetry(responses(), { attempts: 2, baseMs: 1 });

  test.each<[string, readonly object[]]>([
    ['behind the beginning of an item', begun],
    ['within the arguments of a call', [created, ...streamed(items[2] ?? {}, 0).slice(0, 2)]],
    ['behind a whole call, before the response is complete', [created, ...streamed(items[2] ?? {}, 0)]],
  ])('%s runs nothing, and may be asked again', async (_name, events) => {
    server.answers = [{ steps: [sse(events), 'cut'] }];
    const { seen, error } = await failing(responses());
    expect(error).toMatchObject({ code: 'MODEL_FAILED', isRetryable: true, details: { delivered: false } });
    expect(seen.filter(({ type }) => type === 'tool.call' || type === 'end')).toEqual([]);
  });

  test('before anything was delivered is asked again unseen', async () => {
    server.answers = [{ steps: [sse(begun), 'cut'] }, streams(...answerOf(hello))];
    const events = await eventsOf(retrying());
    expect(events.map(({ type }) => type)).toEqual(['retry', 'text.delta', 'text.delta', 'end']);
    expect(server.bodies).toHaveLength(2);
    expect(server.bodies[1]).toEqual(server.bodies[0]);
  });

  test('behind text is not asked again', async () => {
    server.answers = [{ steps: [sse([created, ...streamed(hello, 0).slice(0, 3)]), 'cut'] }, streams(...answerOf(hello))];
    const { seen, error } = await failing(retrying());
    expect(seen).toEqual([text('Grüße')]);
    expect(error).toMatchObject({ code: 'MODEL_FAILED', isRetryable: false, details: { delivered: true } });
    expect(server.bodies).toHaveLength(1);
  });
});

describe('S072: a response that begins within another', () => {
  const second = { ...created, response: { ...created.response, id: 'resp_2' } };
  const pay = (id: string) => call(`fc_${id}`, `call_${id}`, '{"cents":5}');

  test.each<[string, readonly object[]]>([
    ['after text', [created, ...streamed(hello, 0), second, ...streamed(message('msg_2', 'Hm.'), 0), completed([])]],
    ['after a whole call', [created, ...streamed(pay('1'), 0), second, ...streamed(pay('2'), 0), completed([pay('2')])]],
    ['within a call', [created, ...streamed(pay('1'), 0).slice(0, 2), second, ...streamed(pay('2'), 0), completed([pay('2')])]],
  ])('%s is no answer, and runs nothing', async (_name, events) => {
    const { seen, error } = await failedOn(...events);
    expect(seen.filter(({ type }) => type === 'tool.call' || type === 'end')).toEqual([]);
    expect(error).toMatchObject({ code: 'MODEL_PROTOCOL', message: expect.stringContaining('two answers') as string });
  });

  test.each<[string, readonly object[]]>([
    ['under the same id', [created, ...streamed(hello, 0).slice(0, 2), created, ...streamed(hello, 0).slice(2), completed([hello])]],
    ['before anything was said', [created, second, ...streamed(hello, 0), completed([hello])]],
  ])('%s is that response', async (_name, events) => {
    expect((await answered(events)).text).toBe('Grüße 😀.');
  });
});

describe('the other SDK, and errors', () => {
  test('a client of openai 7 is taken', async () => {
    const client = new OpenAI7({ apiKey: 'k', baseURL, maxRetries: 0 });
    server.answers = [streams(...answerOf(hello))];
    const answer = await collect(openaiResponses('gpt-5', { client: client as never }).stream(baseRequest, { signal: signal() }));
    expect(answer).toMatchObject({ text: 'Grüße 😀.', end: { native: [hello] } });
  });

  test('a request that is refused names what not every model takes, and none of its words', async () => {
    const steps = [JSON.stringify({ error: { message: 'SECRET', type: 'invalid_request_error', param: 'include', code: null } })];
    server.answers = [{ status: 400, headers: { 'content-type': 'application/json' }, steps }];
    const { error } = await failing(responses());
    expect(error).toMatchObject({
      code: 'MODEL_FAILED',
      isRetryable: false,
      message: expect.stringContaining("reasoningItems: 'none'") as string,
    });
    expect(JSON.stringify([error.message, error.details])).not.toContain('SECRET');
  });
});

describe('options', () => {
  test.each<[string, ResponsesOptions, string]>([
    ['an unknown option', { store: true } as never, 'store'],
    ['an unknown choice', { reasoningItems: 'all' as never }, 'reasoningItems'],
    ['a price that is none', { prices: { input: -1, output: 1 } }, 'prices.input'],
    ['tools that are no list', { providerTools: {} as never }, 'providerTools'],
    ['a tool without a type', { providerTools: [{} as never] }, 'type'],
    ['a function', { providerTools: [{ type: 'function', name: 'f' } as never] }, 'function'],
    ['computer use, which the caller runs', { providerTools: [{ type: 'computer' } as never] }, 'computer'],
    ['a shell of the caller', { providerTools: [{ type: 'shell', environment: { type: 'local' } }] }, 'shell'],
    ['MCP with approvals', { providerTools: [{ type: 'mcp', server_label: 'shop', server_url: 'https://x.example' }] }, 'require_approval'],
    ['MCP without a label', { providerTools: [{ type: 'mcp', require_approval: 'never' } as never] }, 'server_label'],
    ['the same tool twice', { providerTools: [{ type: 'web_search' }, { type: 'web_search' }] }, 'web_search'],
  ])('%s is CONFIG_INVALID at once, and named', (_name, options, named) => {
    expect(() => responses(options)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(named) as string }) as Error,
    );
  });

  test('the names of provider tools tell MCP servers apart', () => {
    const mcp = (label: string) =>
      ({ type: 'mcp', server_label: label, server_url: 'https://x.example', require_approval: 'never' }) as const;
    const shell = { type: 'shell', environment: { type: 'container_auto' } } as const;
    const { providerTools } = responses({ providerTools: [{ type: 'web_search' }, mcp('shop'), mcp('mail'), shell] });
    expect(providerTools).toEqual(['web_search', 'mcp:shop', 'mcp:mail', 'shell']);
    expect(responses().providerTools).toEqual([]);
  });
});
