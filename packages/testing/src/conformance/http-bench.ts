import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject, Model } from '@guardloop/core/model';
import type { BenchReply, BenchRequest, BenchStream, ModelBench } from './model-bench.js';

/** What a provider over HTTP has of its own; the rest of a {@link ModelBench} is the same for all. */
export interface FakeProvider {
  /** The adapter's model for a provider at this address, with so many further attempts of its own. */
  model(url: string, maxRetries: number): Model;
  /** The whole body of a stream that says this. */
  stream(said: BenchStream): string | Promise<string>;
  /** Every breach of the provider's grammar in a request. */
  check(request: BenchRequest): readonly string[];
  /** The names under which a request body offers its tools, in order. */
  toolNames(body: unknown): readonly string[];
  /** Fields of the provider's requests for which the contract has no setting, with values that it takes. */
  readonly extra?: JsonObject | undefined;
  /** Of streams (`text/event-stream`). */
  readonly contentType?: string | undefined;
  /** True for an adapter that never makes further attempts of its own. */
  readonly neverRetries?: boolean | undefined;
  /** False for an adapter that is given a client by its caller, and is not told of that client's attempts. */
  readonly countsAttempts?: boolean | undefined;
}

/** Starts a fake provider on 127.0.0.1, and makes the adapter's model for it. */
export async function httpBench(provider: FakeProvider): Promise<ModelBench> {
  const replies: BenchReply[] = [];
  const requests: BenchRequest[] = [];
  let left = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    requests.push({ body: JSON.parse(await textOf(request)), headers: headersOf(request) });
    response.on('close', () => {
      if (!response.writableFinished) left += 1;
    });
    await play(provider, replies.shift() ?? { type: 'status', status: 500, secret: 'nothing more was to be said' }, response);
  };
  const server: Server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    model: provider.model(url, 0),
    retryingModel: provider.neverRetries === true ? undefined : provider.model(url, 2),
    reply: (...more) => void replies.push(...more),
    requests,
    get left() {
      return left;
    },
    check: (request) => provider.check(request),
    toolNames: (body) => provider.toolNames(body),
    extra: provider.extra,
    countsAttempts: provider.countsAttempts,
    async close() {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function play(provider: FakeProvider, reply: BenchReply, response: ServerResponse): Promise<void> {
  if (reply.type === 'status') {
    const wait = reply.retryAfter === undefined ? {} : { 'retry-after': `${reply.retryAfter}` };
    response.writeHead(reply.status, { 'content-type': 'application/json', ...wait });
    response.end(JSON.stringify({ error: { type: 'error', message: reply.secret } }));
    return;
  }
  if (reply.type === 'silent') return;
  response.writeHead(200, { 'content-type': provider.contentType ?? 'text/event-stream' });
  response.flushHeaders();
  switch (reply.type) {
    case 'answer':
    case 'length':
    case 'refusal':
      response.end(await provider.stream(reply));
      return;
    case 'unfinished':
      response.end(await provider.stream({ ...reply, type: 'beginning' }));
      return;
    case 'broken':
      response.write(await provider.stream({ ...reply, type: 'beginning' }), () => setTimeout(() => response.destroy(), 10));
      return;
    case 'empty':
      response.end();
      return;
    case 'hang':
      if (reply.text !== '') response.write(await provider.stream({ ...reply, type: 'beginning' }));
      return;
    default:
      reply satisfies never;
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString('utf8');
}

function headersOf(request: IncomingMessage): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
}
