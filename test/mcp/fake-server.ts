// Servers of the protocol written out by hand, so that they can break it.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export type Json = { readonly [key: string]: unknown };
/** A message that reached the server. */
export interface Message extends Json {
  readonly method?: string;
  readonly id?: number | string;
  readonly params?: Json;
}
/** What it answers: a result, an error, nothing for ever, a broken connection, or a response of its own making. */
export type Reply =
  | { readonly result: Json }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } }
  | { readonly status: number; readonly body?: string; readonly headers?: Readonly<Record<string, string>> }
  | { readonly stream: (response: ServerResponse, message: Message) => void }
  | 'never'
  | 'die';
export interface FakeOptions {
  /** As `tools/list` gives them; asked each time. */
  readonly tools?: (() => readonly unknown[]) | undefined;
  readonly capabilities?: Json | undefined;
  readonly onCall?: ((name: string, input: Json, message: Message) => Reply | Promise<Reply>) | undefined;
  /** Before all else: undefined lets the usual answer be given. */
  readonly onMessage?: ((message: Message, request: IncomingMessage) => Reply | undefined | Promise<Reply | undefined>) | undefined;
  /** Of the stream for the server's own messages. Default: 405. */
  readonly onStream?: ((response: ServerResponse, request: IncomingMessage) => void) | undefined;
  /** Answers in the form of an event stream. Default false. */
  readonly events?: boolean | undefined;
}
export interface FakeServer {
  readonly url: string;
  readonly messages: Message[];
  /** Headers of each POST, beside `messages`. */
  readonly headers: IncomingMessage['headers'][];
  /** Sessions that are known. Empty it, and they have expired. */
  readonly sessions: Set<string>;
  readonly ended: string[];
  methods(): readonly (string | undefined)[];
  close(): Promise<void>;
}

export const tool = (name: string, more: Json = {}): Json => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: 'object', properties: {} },
  ...more,
});
export const text = (words: string): Reply => ({ result: { content: [{ type: 'text', text: words }] } });

const usual = (message: Message, { tools, capabilities, onCall }: FakeOptions): Reply | Promise<Reply> => {
  switch (message.method) {
    case 'initialize':
      return {
        result: {
          protocolVersion: '2025-06-18',
          capabilities: capabilities ?? { tools: { listChanged: true } },
          serverInfo: { name: 'fake', version: '1.0.0' },
        },
      };
    case 'tools/list':
      return { result: { tools: tools?.() ?? [] } };
    case 'tools/call':
      return onCall?.(String(message.params?.name), (message.params?.arguments ?? {}) as Json, message) ?? text('ok');
    case 'ping':
      return { result: {} };
    default:
      return { error: { code: -32_601, message: 'Method not found' } };
  }
};

/** Serves over HTTP on a port of this machine until the test is over. */
export async function fakeServer(options: FakeOptions = {}): Promise<FakeServer> {
  const messages: Message[] = [];
  const headers: IncomingMessage['headers'][] = [];
  const sessions = new Set<string>();
  const ended: string[] = [];
  let next = 0;

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const session = request.headers['mcp-session-id'];
    if (request.method === 'GET') {
      if (options.onStream) options.onStream(response, request);
      else response.writeHead(405).end();
      return;
    }
    if (request.method === 'DELETE') {
      ended.push(String(session));
      sessions.delete(String(session));
      response.writeHead(200).end();
      return;
    }
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const message = JSON.parse(body) as Message;
    messages.push(message);
    headers.push(request.headers);
    const own = await options.onMessage?.(message, request);
    if (own === undefined && message.method !== 'initialize' && (typeof session !== 'string' || !sessions.has(session))) {
      response.writeHead(404).end('Session not found');
      return;
    }
    if (message.id === undefined || message.method === undefined) {
      if (own === 'never') return;
      response.writeHead(202).end();
      return;
    }
    const reply = own ?? (await usual(message, options));
    if (reply === 'never') return;
    if (reply === 'die') {
      response.destroy();
      return;
    }
    if ('stream' in reply) {
      reply.stream(response, message);
      return;
    }
    if ('status' in reply) {
      response.writeHead(reply.status, reply.headers ?? {}).end(reply.body ?? '');
      return;
    }
    const given: Record<string, string> = {};
    if (message.method === 'initialize') {
      next += 1;
      sessions.add(`s${next}`);
      given['mcp-session-id'] = `s${next}`;
    }
    const json = JSON.stringify({ jsonrpc: '2.0', id: message.id, ...reply });
    if (options.events) response.writeHead(200, { ...given, 'content-type': 'text/event-stream' }).end(`event: message\ndata: ${json}\n\n`);
    else response.writeHead(200, { ...given, 'content-type': 'application/json' }).end(json);
  };

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  onTestFinished(close);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    messages,
    headers,
    sessions,
    ended,
    methods: () => messages.map(({ method }) => method),
    close,
  };
}

/**
 * A program that speaks the protocol over its standard input and output, for `command` and `args`. `reply` is the body of a function of
 * `message`, `send` and `write`: it answers what is not usual, and returns true for that.
 */
export function fakeProgram(
  reply: string,
  tools: readonly unknown[] = [tool('go')],
): { readonly command: string; readonly args: readonly string[] } {
  const source = `
    const write = (line) => process.stdout.write(line + '\\n');
    const send = (message) => write(JSON.stringify({ jsonrpc: '2.0', ...message }));
    const own = (message) => { ${reply} };
    let rest = '';
    process.stdin.on('data', (chunk) => {
      rest += chunk;
      const lines = rest.split('\\n');
      rest = lines.pop();
      for (const line of lines) {
        const message = JSON.parse(line);
        if (own(message) === true || message.id === undefined || message.method === undefined) continue;
        const { id, method } = message;
        if (method === 'initialize') send({ id, result: { protocolVersion: '2025-06-18', capabilities: { tools: { listChanged: true } }, serverInfo: { name: 'fake', version: '1' } } });
        else if (method === 'tools/list') send({ id, result: { tools: ${JSON.stringify(tools)} } });
        else if (method === 'tools/call') send({ id, result: { content: [{ type: 'text', text: 'ok' }] } });
        else send({ id, error: { code: -32601, message: 'Method not found' } });
      }
    });
    process.stdin.on('end', () => process.exit(0));
  `;
  return { command: process.execPath, args: ['-e', source] };
}
