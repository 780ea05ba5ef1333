import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import type { Model, RunEvent } from '@guardloop/core';
import {
  defineAgent,
  defineTool,
  memorySession,
  run,
  stream,
  usageBy,
  withConcurrency,
  withFallback,
  withRetry,
  withTimeouts,
} from '@guardloop/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { WireAnswer, WireStep } from '../scenarios/provider-server.js';
import {
  chatAnswer,
  chatChunk,
  messagesAnswer,
  messagesEvent,
  responsesAnswer,
  responsesEvent,
  serve,
} from '../scenarios/provider-server.js';
import { ofType, readAll, sound } from '../scenarios/sound.js';

type Dialect = 'chat' | 'claude' | 'responses';
const dialects = ['chat', 'claude', 'responses'] as const;

const says = (dialect: Dialect, text: string): WireAnswer => {
  if (dialect === 'chat') return chatAnswer({ text });
  if (dialect === 'claude') return messagesAnswer({ text });
  return responsesAnswer({
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  });
};
/** An answer that breaks off in the arguments of a call. */
const cutInCall: { readonly [D in Dialect]: readonly WireStep[] } = {
  chat: [chatChunk({ tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '{"x":' } }] }), 'cut'],
  claude: [
    messagesAnswer({}).steps[0] ?? '',
    messagesEvent('content_block_start', { index: 0, content_block: { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} } }),
    messagesEvent('content_block_delta', { index: 0, delta: { type: 'input_json_delta', partial_json: '{"x":' } }),
    'cut',
  ],
  responses: [
    responsesEvent('response.created', { response: { object: 'response', status: 'in_progress', output: [] } }),
    responsesEvent('response.output_item.added', {
      output_index: 0,
      item: { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'f', arguments: '', status: 'in_progress' },
    }),
    responsesEvent('response.function_call_arguments.delta', { output_index: 0, item_id: 'fc_1', delta: '{"x":' }),
    'cut',
  ],
};
const busy = (headers: Readonly<Record<string, string>> = {}): WireAnswer => ({ status: 503, headers, steps: ['{}'] });
const retried = (model: Model, more = {}): Model => withRetry(model, { baseMs: 1, ...more });

/** Where connections are taken, and nothing is ever said. */
async function mute(): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

describe.each(dialects)('over %s', (dialect) => {
  it('S160: all attempts are made by one layer, each with the wait that the server asks for', async () => {
    const server = await serve(busy({ 'retry-after-ms': '30' }), busy({ 'retry-after': '0' }), says(dialect, 'ok'));
    const model = retried(server[dialect]({ maxRetries: 5 }));
    const { events, result } = await readAll(stream(defineAgent({ name: 'a', instructions: 'Help.', model }), 'go'));
    await sound(Promise.resolve(result));
    expect(result).toMatchObject({ status: 'completed', output: 'ok', usage: { requests: 3 } });
    expect(ofType(events, 'model.retry').map(({ attempt, waitMs }) => [attempt, waitMs])).toEqual([
      [1, 30],
      [2, 1],
    ]);
    expect(server.bodies).toHaveLength(3);
    expect(server.problems).toEqual([]);
  });

  it('S160: as many requests leave as attempts are allowed, whatever the SDK would do', async () => {
    const server = await serve(...Array.from({ length: 9 }, () => busy()));
    const model = retried(server[dialect]({ maxRetries: 4 }), { attempts: 2 });
    const result = await sound(run(defineAgent({ name: 'a', instructions: 'Help.', model }), 'go'));
    expect(result).toMatchObject({ status: 'failed', error: { details: { status: 503, attempts: 2 } }, usage: { requests: 2 } });
    expect(server.bodies).toHaveLength(2);
  });

  it('S160: a server that asks for an hour is not waited for', async () => {
    const server = await serve(busy({ 'retry-after': '3600' }));
    const result = await sound(run(defineAgent({ name: 'a', instructions: 'Help.', model: retried(server[dialect]()) }), 'go'));
    expect(result).toMatchObject({ status: 'failed', error: { isRetryable: true, details: { retryAfterMs: 3_600_000 } } });
    expect(server.bodies).toHaveLength(1);
  });

  it('S160: x-should-retry: false is obeyed', async () => {
    const server = await serve(busy({ 'x-should-retry': 'false' }));
    const result = await sound(run(defineAgent({ name: 'a', instructions: 'Help.', model: retried(server[dialect]()) }), 'go'));
    expect(result).toMatchObject({ status: 'failed', error: { isRetryable: false } });
    expect(server.bodies).toHaveLength(1);
  });

  it('S162: a stream that dies in the arguments of a call is asked again unseen', async () => {
    const server = await serve({ steps: cutInCall[dialect] }, says(dialect, 'ok'));
    let ran = 0;
    const f = defineTool({
      name: 'f',
      description: 'F.',
      input: z.object({ x: z.number() }),
      execute: () => {
        ran += 1;
      },
    });
    const agent = defineAgent({ name: 'a', instructions: 'Help.', model: retried(server[dialect]()), tools: [f] });
    const { events, result } = await readAll(stream(agent, 'go'));
    await sound(Promise.resolve(result));
    expect(result).toMatchObject({ status: 'completed', output: 'ok', usage: { requests: 2 } });
    expect(ran).toBe(0);
    expect(ofType(events, 'tool.delta')).toEqual([]);
    expect(server.problems).toEqual([]);
  });

  it('connectMs is over with the head of the answer, and not before', async () => {
    const first = says(dialect, 'ok');
    const server = await serve({ ...first, steps: [first.steps[0] ?? '', { waitMs: 150 }, ...first.steps.slice(1)] });
    const timed = (options: { readonly baseURL?: string } = {}) =>
      withTimeouts(server[dialect]({ maxRetries: 0, ...options }), { connectMs: 100 });
    const agent = (model: Model) => defineAgent({ name: 'a', instructions: 'Help.', model });
    expect((await sound(run(agent(timed()), 'go'))).status).toBe('completed');
    const late = await sound(run(agent(timed({ baseURL: await mute() })), 'go'));
    expect(late).toMatchObject({ status: 'failed', error: { code: 'MODEL_FAILED', isRetryable: true, details: { timeout: 'connectMs' } } });
  });

  it('every wrapper at once: a hung server is left, and the run completes', async () => {
    const answer = says(dialect, 'ok');
    const server = await serve({ ...answer, steps: [{ waitMs: 5_000 }] }, busy(), answer);
    const inner = withConcurrency(withTimeouts(server[dialect](), { totalMs: 200 }), { limit: 1 });
    const spare = await serve();
    const model = withFallback([retried(inner), spare.chat()]);
    const result = await sound(run(defineAgent({ name: 'a', instructions: 'Help.', model }), 'go'));
    expect(result).toMatchObject({ status: 'completed', output: 'ok', usage: { requests: 3 } });
    expect(spare.bodies).toEqual([]);
  });
});

describe('a fallback over two providers', () => {
  const pairs = dialects.flatMap((first) => dialects.filter((second) => second !== first).map((second) => ({ first, second })));

  it.each(pairs)('$first to $second and back: each request is legal, and says who answered', async ({ first, second }) => {
    const one = await serve(says(first, 'One.'), busy({ 'x-should-retry': 'false' }), says(first, 'Three.'));
    const two = await serve(says(second, 'Two.'));
    const model = withFallback([one[first](), two[second]()]);
    const agent = defineAgent({ name: 'a', instructions: 'Help.', model, settings: { seed: 1, metadata: { team: 't' } } });
    const session = { store: memorySession(), id: 's' };
    const events: RunEvent[] = [];
    for (const [question, output] of [
      ['1?', 'One.'],
      ['2?', 'Two.'],
      ['3?', 'Three.'],
    ] as const) {
      const read = await readAll(stream(agent, question, { session }));
      events.push(...read.events);
      expect(await sound(Promise.resolve(read.result))).toMatchObject({ status: 'completed', output });
    }
    expect([...one.problems, ...two.problems]).toEqual([]);
    const answers = ofType(events, 'model.end');
    expect(answers.map(({ model: id }) => id)).toEqual([undefined, two[second]().id, undefined]);
    expect(answers.map(({ native }) => native?.provider ?? 'none')).toEqual(
      [one[first](), two[second](), one[first]()].map(({ provider }, turn) => (answers[turn]?.native === undefined ? 'none' : provider)),
    );
    expect(ofType(events, 'model.warning').filter(({ about }) => about === 'fallback')).toHaveLength(1);
    expect(usageBy(await session.store.load('s')).total.requests).toBe(4);
  });
});
