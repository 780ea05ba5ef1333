import type { Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BenchReply, ModelBench } from '../../testing/src/conformance.js';
import { modelConformance } from '../../testing/src/conformance.js';
import { checkChatRequest } from '../../testing/src/requests/openai-chat.js';
import { openai } from './chat/model.js';

type AnswerReply = Extract<BenchReply, { type: 'answer' }>;

const chunk = (choice: object, more: object = {}): object => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'gpt-5',
  choices: [{ index: 0, delta: {}, finish_reason: null, ...choice }],
  ...more,
});
const textChunk = (content: string): object => chunk({ delta: { content } });
const finish = (reason: string): object => chunk({ finish_reason: reason });
const usage = { ...chunk({}), choices: [], usage: { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 } };
const frames = (chunks: readonly object[]): string => chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('');
const done = 'data: [DONE]\n\n';

function answerChunks({ text = [], calls = [] }: AnswerReply): readonly object[] {
  return [
    chunk({ delta: { role: 'assistant', content: '' } }),
    ...text.map(textChunk),
    ...calls.flatMap(({ id, name, arguments: given }, index) => {
      const half = Math.ceil(given.length / 2);
      const piece = (fields: object): object => chunk({ delta: { tool_calls: [{ index, ...fields }] } });
      return [
        piece({ id, type: 'function', function: { name, arguments: '' } }),
        ...[given.slice(0, half), given.slice(half)].map((part) => piece({ function: { arguments: part } })),
      ];
    }),
    finish(calls.length > 0 ? 'tool_calls' : 'stop'),
    usage,
  ];
}

function play(reply: BenchReply, response: ServerResponse): void {
  if (reply.type === 'status') {
    response.writeHead(reply.status, {
      'content-type': 'application/json',
      ...(reply.retryAfter === undefined ? {} : { 'retry-after': `${reply.retryAfter}` }),
    });
    response.end(JSON.stringify({ error: { message: reply.secret, type: 'error', code: null } }));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  switch (reply.type) {
    case 'answer':
      response.end(frames(answerChunks(reply)) + done);
      return;
    case 'length':
      response.end(frames([textChunk(reply.text), finish('length'), usage]) + done);
      return;
    case 'refusal':
      response.end(frames([chunk({ delta: { refusal: 'No.' } }), finish('stop'), usage]) + done);
      return;
    case 'unfinished':
      response.end(frames([textChunk(reply.text)]));
      return;
    case 'broken':
      response.write(frames([textChunk(reply.text)]), () => setTimeout(() => response.destroy(), 10));
      return;
    case 'empty':
      response.end();
      return;
    case 'hang':
      if (reply.text !== '') response.write(frames([textChunk(reply.text)]));
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
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return {
    model: openai('gpt-5', { apiKey: 'key', baseURL, maxRetries: 0 }),
    reply: (...more) => replies.push(...more),
    requests,
    get left() {
      return left;
    },
    check: checkChatRequest,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

modelConformance('openai', startBench);
