import type { ChatCompletionRequest, Fixture, FixtureFileResponse, ServerInstance } from '@copilotkit/aimock';
import { createServer, normalizeResponse } from '@copilotkit/aimock';
import { checkChatRequest, checkMessagesRequest, checkResponsesRequest } from '@guardloop/testing';
import type { Dialect, WireRequest } from './wire-request.js';
import { wireRequest } from './wire-request.js';

type Match = Fixture['match'];
/** What the server says: a text, calls, both, or an error; or a function that makes it of the request. */
type Reply = FixtureFileResponse | ((request: ChatCompletionRequest) => { readonly content: string });
/** How it says it: latency, chunk size, where it is cut. */
type Manner = Omit<Fixture, 'match' | 'response'>;

/**
 * A model server that is not ours, on 127.0.0.1, behind our strict request checkers: what a checker refuses is answered with 400 and kept in
 * `problems`. It has the replies that a test gives it, and 404 for everything else.
 */
export class ModelServer {
  /** Every request that the SDKs sent, retries included, in order. */
  readonly requests: WireRequest[] = [];
  readonly problems: string[] = [];
  /** Requests whose connection the server holds open now, and those that were closed on it before the reply was whole. */
  open = 0;
  leftEarly = 0;
  readonly #fixtures: Fixture[] = [];
  #instance: ServerInstance | undefined;

  /** In place of the global `fetch`, for the SDKs' clients. */
  readonly fetch: typeof fetch = async (input, init) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    const body: unknown = JSON.parse(String(init?.body));
    const dialect = dialectOf(pathname);
    const problems = checkRequest(dialect, body, new Headers(init?.headers));
    this.requests.push(wireRequest(dialect, body));
    if (problems.length === 0) return fetch(input, init);
    this.problems.push(...problems.map((problem) => `request ${this.requests.length}: ${problem}`));
    return Response.json({ error: { type: 'invalid_request_error', message: problems.join('; ') } }, { status: 400 });
  };

  static async start(): Promise<ModelServer> {
    const server = new ModelServer();
    const instance = await createServer(server.#fixtures, { port: 0, host: '127.0.0.1', chunkSize: 5 });
    server.#instance = instance;
    instance.server.on('request', (_, response) => {
      server.open += 1;
      response.on('close', () => {
        server.open -= 1;
        if (!response.writableFinished) server.leftEarly += 1;
      });
    });
    return server;
  }

  get url(): string {
    if (this.#instance === undefined) throw new Error('The server has not started.');
    return this.#instance.url;
  }

  /** Answers every request that matches. The first that was given and matches answers. */
  on(match: Match, reply: Reply, manner: Manner = {}): this {
    this.#fixtures.push({ match, response: typeof reply === 'function' ? reply : normalizeResponse(reply), ...manner });
    return this;
  }

  /** Answers by the number of assistant messages that a request holds. */
  turns(...replies: readonly Reply[]): this {
    for (const [turnIndex, reply] of replies.entries()) this.on({ turnIndex }, reply);
    return this;
  }

  /** Answers one request each, in order, whatever they hold. */
  inOrder(...replies: readonly (Reply | readonly [Reply, Manner])[]): this {
    const before = this.requests.length;
    for (const [index, given] of replies.entries()) {
      const [reply, manner] = isWithManner(given) ? given : [given];
      this.on({ predicate: () => this.requests.length === before + index + 1 }, reply, manner);
    }
    return this;
  }

  /** Settles once the server holds no request open; rejects after a second. */
  async whenClosed(): Promise<void> {
    for (let waited = 0; this.open > 0; waited += 5) {
      if (waited > 15_000) throw new Error(`${this.open} requests are still open.`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  forget(): void {
    this.requests.length = 0;
    this.problems.length = 0;
    this.leftEarly = 0;
    this.#fixtures.length = 0;
    this.#instance?.journal.clear();
  }

  stop(): void {
    this.#instance?.server.close();
    this.#instance?.server.closeAllConnections();
  }
}

function dialectOf(pathname: string): Dialect {
  if (pathname.endsWith('/messages')) return 'messages';
  return pathname.endsWith('/responses') ? 'responses' : 'chat';
}

/** What the strict checker of the dialect says about a request. */
export function checkRequest(dialect: Dialect, body: unknown, headers: Headers): readonly string[] {
  switch (dialect) {
    case 'chat':
      return checkChatRequest(body);
    case 'responses':
      return checkResponsesRequest(body);
    case 'messages':
      return checkMessagesRequest(body, { apiVersion: headers.get('anthropic-version') ?? undefined });
    default:
      return dialect satisfies never;
  }
}

function isWithManner(given: Reply | readonly [Reply, Manner]): given is readonly [Reply, Manner] {
  return Array.isArray(given);
}
