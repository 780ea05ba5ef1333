import type { Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BenchReply, ModelBench } from '../../testing/src/conformance.js';
import { modelConformance } from '../../testing/src/conformance.js';
import { checkMessagesRequest } from '../../testing/src/requests/anthropic.js';
import { anthropic } from './anthropic.js';

type AnswerReply = Extract<BenchReply, { type: 'answer' }>;

const start = {
  type: 'message_start',
  message: { id: 'msg_1', type: 'message', role: 'assistant', content: [], usage: { input_tokens: 12, output_tokens: 1 } },
};
const end = (reason: string): readonly object[] => [
  { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
];
const open = (index: number, block: object): object => ({ type: 'content_block_start', index, content_block: block });
const delta = (index: number, piece: object): object => ({ type: 'content_block_delta', index, delta: piece });
const close = (index: number): object => ({ type: 'content_block_stop', index });
const openText = (text: readonly string[]): readonly object[] => [
  open(0, { type: 'text', text: '' }),
  ...text.map((piece) => delta(0, { type: 'text_delta', text: piece })),
];
const frames = (events: readonly object[]): string =>
  events.map((event) => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

function answerEvents({ text = [], calls = [] }: AnswerReply): readonly object[] {
  const first = text.length > 0 ? 1 : 0;
  return [
    start,
    ...(first > 0 ? [...openText(text), close(0)] : []),
    ...calls.flatMap(({ id, name, arguments: given }, at) => {
      const index = first + at;
      const half = Math.ceil(given.length / 2);
      return [
        open(index, { type: 'tool_use', id, name, input: {} }),
        ...[given.slice(0, half), given.slice(half)].map((part) => delta(index, { type: 'input_json_delta', partial_json: part })),
        close(index),
      ];
    }),
    ...end(calls.length > 0 ? 'tool_use' : 'end_turn'),
  ];
}

function play(reply: BenchReply, response: ServerResponse): void {
  if (reply.type === 'status') {
    response.writeHead(reply.status, {
      'content-type': 'application/json',
      ...(reply.retryAfter === undefined ? {} : { 'retry-after': `${reply.retryAfter}` }),
    });
    response.end(JSON.stringify({ type: 'error', error: { type: 'api_error', message: reply.secret } }));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  switch (reply.type) {
    case 'answer':
      response.end(frames(answerEvents(reply)));
      return;
    case 'length':
      response.end(frames([start, ...openText([reply.text]), close(0), ...end('max_tokens')]));
      return;
    case 'refusal':
      response.end(frames([start, ...end('refusal')]));
      return;
    case 'unfinished':
      response.end(frames([start, ...openText([reply.text])]));
      return;
    case 'broken':
      response.write(frames([start, ...openText([reply.text])]), () => setTimeout(() => response.destroy(), 10));
      return;
    case 'empty':
      response.end();
      return;
    case 'hang':
      if (reply.text !== '') response.write(frames([start, ...openText([reply.text])]));
      return;
    default:
      reply satisfies never;
  }
}

async function startBench(): Promise<ModelBench> {
  const replies: BenchReply[] = [];
  const requests: unknown[] = [];
  let left = 0;
  const server: Server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (piece: string) => {
      body += piece;
    });
    request.on('end', () => {
      requests.push(JSON.parse(body));
      response.on('close', () => {
        if (!response.writableFinished) left += 1;
      });
      const reply = replies.shift();
      if (reply === undefined) response.writeHead(500).end();
      else play(reply, response);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    model: anthropic('claude-opus-4-8', { apiKey: 'key', baseURL, maxRetries: 0 }),
    reply: (...more) => replies.push(...more),
    requests,
    get left() {
      return left;
    },
    check: (body) => checkMessagesRequest(body),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

modelConformance('anthropic', startBench);
