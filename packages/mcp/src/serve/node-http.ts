// Streamable HTTP on a port, by Node's own server.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { GuardloopError } from '@guardloop/core';
import { isLoopback } from '../client/options.js';
import type { HttpOptions, httpHandler, ListenOptions } from './http-handler.js';
import { checkHttpOptions } from './http-handler.js';

const thisMachine = ['localhost', '127.0.0.1', '[::1]'];

export async function listenOn(
  options: ListenOptions,
  makeHandler: (http: HttpOptions) => ReturnType<typeof httpHandler>,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  checkHttpOptions(options, ['port', 'host', 'path']);
  const { port = 0, host = '127.0.0.1', path = '/mcp', authenticate, hosts, ...more } = options;
  checkPlace({ port, host, path });
  const name = host.includes(':') ? `[${host}]` : host;
  if (!isLoopback(name) && (authenticate === undefined || hosts === undefined))
    throw new GuardloopError(
      'CONFIG_INVALID',
      `serveAgent would listen on ${host}, where others than this machine reach it. Give \`authenticate\`, which says who calls, and \`hosts\`, the names under which it is reached.`,
    );
  const handler = makeHandler({ ...more, authenticate: authenticate ?? 'anyone', hosts: hosts ?? thisMachine });
  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing, { path, handle: handler.handle }).catch(() => {
      if (!outgoing.headersSent) outgoing.writeHead(500);
      outgoing.end();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://${name}:${bound}${path}`,
    close: async () => {
      await handler.close();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Throws CONFIG_INVALID. */
function checkPlace({ port, host, path }: { readonly port: unknown; readonly host: unknown; readonly path: unknown }): void {
  const refuse = (what: string): never => {
    throw new GuardloopError('CONFIG_INVALID', `serveAgent would listen ${what}`);
  };
  if (!(Number.isSafeInteger(port) && (port as number) >= 0 && (port as number) <= 65_535))
    refuse('on a `port` that is no whole number from 0 to 65535. Give one, or leave it out for a free one.');
  if (typeof host !== 'string' || host === '') refuse('on a `host` that is no name. Leave it out for this machine alone.');
  if (typeof path !== 'string' || !/^\/[^?#\s]*$/.test(path)) refuse("under a `path` that is none. Give one such as '/mcp'.");
}

/** Undefined where the client names no host, or no place, that could be. */
function addressOf({ url = '/', headers }: IncomingMessage): URL | undefined {
  try {
    return new URL(url, `http://${headers.host ?? 'localhost'}`);
  } catch {
    return undefined;
  }
}

async function answer(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { path, handle }: { readonly path: string; readonly handle: (request: Request) => Promise<Response> },
): Promise<void> {
  const url = addressOf(incoming);
  // What `Request` does not take, nobody has a use for.
  if (url === undefined || incoming.method === 'TRACE') {
    outgoing.writeHead(url === undefined ? 400 : 405, { connection: 'close' }).end();
    return;
  }
  if (url.pathname !== path) {
    outgoing.writeHead(404).end();
    return;
  }
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers))
    if (value !== undefined) for (const one of Array.isArray(value) ? value : [value]) headers.append(name, one);
  const controller = new AbortController();
  outgoing.once('close', () => controller.abort());
  const hasBody = incoming.method !== 'GET' && incoming.method !== 'HEAD';
  const response = await handle(
    new Request(url, {
      method: incoming.method ?? 'GET',
      headers,
      signal: controller.signal,
      ...(hasBody ? { body: Readable.toWeb(incoming) as ReadableStream<Uint8Array>, duplex: 'half' } : {}),
    } as RequestInit),
  );
  // What was refused unread would stand before the next request on the connection.
  if (!incoming.complete) response.headers.set('connection', 'close');
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) {
    outgoing.end();
    return;
  }
  outgoing.flushHeaders();
  const reader = response.body.getReader();
  outgoing.once('close', () => void reader.cancel().catch(() => undefined));
  for (let read = await reader.read(); !read.done; read = await reader.read()) outgoing.write(read.value);
  outgoing.end();
}
