import { getEventListeners } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { GuardloopError } from '../errors.js';
import type { ModelEvent } from '../model/types.js';
import type { ProviderWords } from './failure.js';
import type { FrameSink, Send } from './http-call.js';
import { HttpCall } from './http-call.js';
import type { SseFrame } from './sse.js';

const words: ProviderWords = {
  provider: 'made.up',
  name: 'Made-up',
  requestIdHeader: 'x-id',
  connectionErrors: [],
  statusOfWord: {},
};

/** Passes the data of each frame on as text; `!` is the end of an answer, `?` a fault in it. */
class Echo implements FrameSink {
  isDone = false;
  hasDelivered = false;

  get isTerminal(): boolean {
    return this.isDone;
  }

  *push({ data }: SseFrame): Generator<ModelEvent> {
    if (data === '?') throw new Error('a fault');
    this.isDone = data === '!' || data === '[DONE]';
    if (this.isDone) return;
    this.hasDelivered = true;
    yield { type: 'text.delta', text: data };
  }
}

let server: Server;
let url: string;
let answers: ((response: ServerResponse) => void)[];
let closed: number;

beforeEach(async () => {
  answers = [];
  closed = 0;
  server = createServer((_request, response) => {
    response.on('close', () => {
      if (!response.writableFinished) closed += 1;
    });
    answers.shift()?.(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const says =
  (...texts: readonly string[]) =>
  (response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const text of texts) response.write(`data: ${text}\n\n`);
    if (texts.at(-1) === '!') response.end();
  };
const send: Send = (signal) => fetch(url, { signal });
const callOf = (signal: AbortSignal): HttpCall => new HttpCall({ words, model: 'm', signal, maxEventChars: 100 });
const textOf = (events: readonly ModelEvent[]): string => events.map((event) => ('text' in event ? event.text : event.type)).join('');

async function all(events: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  const list: ModelEvent[] = [];
  for await (const event of events) list.push(event);
  return list;
}

test('JSON that is nested too deep ends the call, and no sink sees it; brackets in its texts are no levels', async () => {
  const ask = async (data: string): Promise<readonly ModelEvent[]> => {
    answers = [says(data, '!')];
    const call = new HttpCall({ words, model: 'm', signal: new AbortController().signal, maxEventChars: 100_000 });
    return all(
      call.run(
        () => ({ send, sink: new Echo() }),
        () => [],
      ),
    );
  };
  await expect(ask(`${'['.repeat(1_001)}${']'.repeat(1_001)}`)).rejects.toMatchObject({ code: 'MODEL_PROTOCOL' });
  const flat = JSON.stringify(['[{"'.repeat(1_001), ...Array.from({ length: 1_001 }, () => [])]);
  expect(textOf(await ask(flat))).toBe(flat);
});

test('a request that cannot be made counts as none', async () => {
  const call = callOf(new AbortController().signal);
  const open = (): never => {
    throw new GuardloopError('CONFIG_INVALID', 'It cannot be.', { details: { setting: 'x' } });
  };
  await expect(all(call.run(open, () => []))).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: 'It cannot be.',
    details: { setting: 'x', usage: { requests: 0 } },
  });
});

test('several requests make one call, with one listener at a time and none at its end', async () => {
  answers = [says('a', 'b', '!'), says('c', '!'), says('d', '!')];
  const { signal } = new AbortController();
  const call = callOf(signal);
  let left = 2;
  const counts: number[] = [];
  const events = call.run(
    () => ({ send, sink: new Echo(), warnings: [{ type: 'warning', about: 'part', message: 'w' }] }),
    () => {
      left -= 1;
      return left >= 0 ? { send, sink: new Echo() } : [{ type: 'end', stopReason: 'stop', usage: { requests: call.requests } }];
    },
  );
  const list: ModelEvent[] = [];
  for await (const event of events) {
    list.push(event);
    counts.push(getEventListeners(signal, 'abort').length);
  }
  expect(textOf(list)).toBe('warningabcdend');
  expect(list.at(-1)).toMatchObject({ usage: { requests: 3 } });
  expect(Math.max(...counts)).toBe(1);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});

test('nothing is opened before the first event is asked for', async () => {
  const open = vi.fn(() => ({ send, sink: new Echo() }));
  const call = callOf(AbortSignal.abort());
  const events = call.run(open, () => []);
  expect(open).not.toHaveBeenCalled();
  await expect(events.next()).rejects.toMatchObject({ details: { aborted: true } });
  expect(open).not.toHaveBeenCalled();
  expect(await events.next()).toEqual({ done: true, value: undefined });
});

test('what came before a fault is given out first, however the bytes were cut, and the fault once', async () => {
  for (const pieces of [['data: a\n\ndata: b\n\ndata: ?\n\n'], ['data: a\n\nda', 'ta: b\n\n', 'data: ?\n\n']]) {
    answers = [
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        pieces.forEach((piece, index) => void setTimeout(() => response.write(piece), index * 10));
      },
    ];
    const events = callOf(new AbortController().signal).run(
      () => ({ send, sink: new Echo() }),
      () => [],
    );
    const seen: unknown[] = [];
    for (let turn = 0; turn < 4; turn += 1) seen.push(await events.next().catch((error: unknown) => (error as Error).message));
    const text = (value: string) => ({ done: false, value: { type: 'text.delta', text: value } });
    expect(seen).toEqual([text('a'), text('b'), 'a fault', { done: true, value: undefined }]);
  }
  await expect.poll(() => closed).toBe(2);
});

test('events asked for at the same time come in order', async () => {
  answers = [says('a', 'b', '!')];
  const events = callOf(new AbortController().signal).run(
    () => ({ send, sink: new Echo() }),
    () => [],
  );
  const results = await Promise.all([events.next(), events.next(), events.next(), events.next()]);
  expect(results.map(({ value }) => (value !== undefined && 'text' in value ? value.text : undefined))).toEqual([
    'a',
    'b',
    undefined,
    undefined,
  ]);
});

test.each([
  ['the head', 0, (): void => undefined],
  ['the body', 1, says('a')],
])('whoever leaves while %s is waited for is let go at once, and the connection is cut', async (_name, taken, answer) => {
  answers = [answer];
  const { signal } = new AbortController();
  const events = callOf(signal).run(
    () => ({ send, sink: new Echo() }),
    () => [],
  );
  for (let turn = 0; turn < taken; turn += 1) await events.next();
  const waiting = events.next();
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(await events.return?.()).toEqual({ done: true, value: undefined });
  expect(await waiting).toEqual({ done: true, value: undefined });
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  await expect.poll(() => closed).toBe(1);
});

test('an event that is too long fails after those before it', async () => {
  answers = [says('a', 'x'.repeat(200))];
  const events = callOf(new AbortController().signal).run(
    () => ({ send, sink: new Echo() }),
    () => [],
  );
  expect((await events.next()).value).toEqual({ type: 'text.delta', text: 'a' });
  await expect(events.next()).rejects.toMatchObject({ code: 'MODEL_PROTOCOL', isRetryable: false, details: { delivered: true } });
});

test('a whole answer in JSON is one frame', async () => {
  answers = [(response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":\n\n1}')];
  const events = callOf(new AbortController().signal).run(
    () => ({ send, sink: new Echo() }),
    () => [],
  );
  expect(textOf(await all(events))).toBe('{"a":\n\n1}');
});

test('S155: a signal that lives long holds no listener after any number of calls', async () => {
  const { signal } = new AbortController();
  for (let turn = 0; turn < 200; turn += 1) {
    answers = [says('a', '!')];
    await all(
      callOf(signal).run(
        () => ({ send, sink: new Echo() }),
        () => [],
      ),
    );
  }
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});
