// Streamable HTTP over the web's own Request and Response: no Node.
import type { Awaitable } from '@guardloop/core';
import { GuardloopError } from '@guardloop/core';
import { suggest } from '@guardloop/core/model';
import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { Caller } from './types.js';

/** Who may call over HTTP. */
export interface HttpOptions {
  /**
   * Says who calls, from the request's headers: undefined refuses it with 401, as does throwing, or a caller whose `id` is no text or empty. `anyone`: whoever reaches the port, for this
   * machine alone or behind a gateway that asks.
   */
  readonly authenticate: 'anyone' | ((request: Request) => Awaitable<Caller | undefined>);
  /**
   * Names under which this server is reached, without ports: a request for another name, or from a page of another, is refused. Guards against
   * pages that make a name of theirs mean this machine.
   */
  readonly hosts: readonly string[];
  /** Sessions kept at the same time; of the caller who has most of them the one that was quiet longest goes first. Default 1,000. */
  readonly maxSessions?: number | undefined;
  /** A session that is quiet for so long ends, milliseconds. Default 1,800,000. */
  readonly idleMs?: number | undefined;
  /** Of a request. Default 1,000,000. */
  readonly maxBodyBytes?: number | undefined;
}

/** What `listen` takes. Beyond this machine, `authenticate` and `hosts` are needed. */
export interface ListenOptions extends Partial<HttpOptions> {
  /** Default: a free one. */
  readonly port?: number | undefined;
  /** Default `127.0.0.1`. */
  readonly host?: string | undefined;
  /** Default `/mcp`. */
  readonly path?: string | undefined;
}

interface Session {
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly owner: string | undefined;
  lastUsed: number;
  /** Requests whose answer has not ended. */
  underway: number;
}

const refusal = (status: number, message: string, headers: Readonly<Record<string, string>> = {}): Response =>
  Response.json({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }, { status, headers });

function hostOf(value: string | null, isOrigin: boolean): string | undefined {
  if (value === null) return undefined;
  try {
    return new URL(isOrigin ? value : `http://${value}`).hostname;
  } catch {
    return undefined;
  }
}

const optionNames: readonly string[] = ['authenticate', 'hosts', 'maxSessions', 'idleMs', 'maxBodyBytes'];

/** Throws CONFIG_INVALID: a misspelt `authenticate` would let everybody in. `more`: options of the caller's own. */
export function checkHttpOptions(given: object, more: readonly string[] = []): void {
  const refuse = (what: string): never => {
    throw new GuardloopError('CONFIG_INVALID', `serveAgent over HTTP ${what}`);
  };
  const known = [...optionNames, ...more];
  for (const option of Object.keys(given))
    if (!known.includes(option)) refuse(`has no option \`${option}\`. ${suggest(option, known)}The options are ${known.join(', ')}.`);
  const { authenticate, hosts, ...numbers } = given as { readonly [option: string]: unknown };
  if (authenticate !== undefined && authenticate !== 'anyone' && typeof authenticate !== 'function')
    refuse("needs `authenticate`: a function that says who calls, or 'anyone'.");
  if (hosts !== undefined && !(Array.isArray(hosts) && hosts.length > 0 && hosts.every((name) => typeof name === 'string')))
    refuse('needs `hosts`: the names under which it is reached.');
  for (const option of ['maxSessions', 'idleMs', 'maxBodyBytes']) {
    const value = numbers[option];
    if (value !== undefined && !(Number.isSafeInteger(value) && (value as number) > 0))
      refuse(`has \`${option}\` that is no whole number from 1 on.`);
  }
}

/** The one to give up for another: a caller who opens many gives up his own. */
function leastMissed(sessions: ReadonlyMap<string, Session>): readonly [string, Session] | undefined {
  const counts = new Map<string | undefined, number>();
  for (const { owner } of sessions.values()) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  const most = Math.max(0, ...counts.values());
  let found: readonly [string, Session] | undefined;
  for (const entry of sessions) {
    const [, session] = entry;
    if (counts.get(session.owner) === most && (found === undefined || isQuieter(session, found[1]))) found = entry;
  }
  return found;
}

/** What is at work is not quiet. */
const isQuieter = (one: Session, other: Session): boolean =>
  one.underway > 0 === other.underway > 0 ? one.lastUsed < other.lastUsed : one.underway === 0;

/** The connection of a request, as the SDK hands it on: what it keeps for a caller's token has room for it. */
const connectionOf = (request: Request): AuthInfo => ({ token: '', clientId: '', scopes: [], extra: { gone: request.signal } });

/** Aborted when the connection on which a call came is gone: its answer would reach nobody, since no stream is taken up again. */
export function goneOf(authInfo: AuthInfo | undefined): AbortSignal | undefined {
  const gone = authInfo?.extra?.gone;
  return gone instanceof AbortSignal ? gone : undefined;
}

async function answerIn(session: Session, request: Request): Promise<Response> {
  session.lastUsed = Date.now();
  session.underway += 1;
  let isOver = false;
  const over = (): void => {
    if (!isOver) session.underway -= 1;
    isOver = true;
    session.lastUsed = Date.now();
  };
  try {
    return watched(await session.transport.handleRequest(request, { authInfo: connectionOf(request) }), over);
  } catch (thrown) {
    over();
    throw thrown;
  }
}

/** The response, with word of when its body has ended or was left. */
function watched(response: Response, onEnd: () => void): Response {
  if (response.body === null) {
    onEnd();
    return response;
  }
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        controller.close();
      } catch (thrown) {
        controller.error(thrown);
      }
      onEnd();
    },
    async cancel(reason) {
      onEnd();
      await reader.cancel(reason).catch(() => undefined);
    },
  });
  return new Response(body, { status: response.status, statusText: response.statusText, headers: response.headers });
}

export function httpHandler(
  makeServer: (callerOf: () => Caller | undefined) => Server,
  options: HttpOptions,
): { readonly handle: (request: Request) => Promise<Response>; close(): Promise<void> } {
  checkHttpOptions(options);
  const { authenticate, hosts, maxSessions = 1_000, idleMs = 1_800_000, maxBodyBytes = 1_000_000 } = options;
  if (authenticate === undefined)
    throw new GuardloopError('CONFIG_INVALID', "serveAgent over HTTP needs `authenticate`: a function that says who calls, or 'anyone'.");
  if (hosts === undefined)
    throw new GuardloopError('CONFIG_INVALID', 'serveAgent over HTTP needs `hosts`: the names under which it is reached.');
  const sessions = new Map<string, Session>();
  let isClosed = false;

  const drop = (id: string, session: Session): void => {
    sessions.delete(id);
    void session.server.close().catch(() => undefined);
  };
  const makeRoom = (): void => {
    const now = Date.now();
    for (const [id, session] of sessions) if (session.underway === 0 && now - session.lastUsed > idleMs) drop(id, session);
    while (sessions.size >= maxSessions) {
      const given = leastMissed(sessions);
      if (given === undefined) return;
      drop(...given);
    }
  };
  const begin = async (caller: Caller | undefined): Promise<WebStandardStreamableHTTPServerTransport> => {
    makeRoom();
    const server = makeServer(() => caller);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => globalThis.crypto.randomUUID(),
      maxRequestBodySize: maxBodyBytes,
      onsessioninitialized: (id) => {
        sessions.set(id, { server, transport, owner: caller?.id, lastUsed: Date.now(), underway: 0 });
      },
      onsessionclosed: (id) => {
        sessions.delete(id);
      },
    });
    // The SDK declares `sessionId` of its transports in a way that exact optional properties refuse.
    await server.connect(transport as Transport);
    return transport;
  };
  const identify = async (request: Request): Promise<Caller | undefined> => {
    if (authenticate === 'anyone') return undefined;
    try {
      const caller = await authenticate(request);
      // Callers without an id could not be told apart, and would share their sessions.
      return typeof caller?.id === 'string' && caller.id !== '' ? caller : undefined;
    } catch {
      return undefined;
    }
  };

  const handle = async (request: Request): Promise<Response> => {
    if (isClosed) return refusal(503, 'This server is closed.');
    const host = hostOf(request.headers.get('host') ?? new URL(request.url).host, false);
    if (host === undefined || !hosts.includes(host)) return refusal(403, 'This server is not reached under that name.');
    if (request.headers.has('origin') && !hosts.includes(hostOf(request.headers.get('origin'), true) ?? ''))
      return refusal(403, 'Pages of that origin may not call this server.');
    const caller = await identify(request);
    if (authenticate !== 'anyone' && caller === undefined) return refusal(401, 'Say who you are.', { 'www-authenticate': 'Bearer' });
    const id = request.headers.get('mcp-session-id');
    if (id === null) {
      if (request.method !== 'POST') return refusal(400, 'A session is needed. Begin with initialize.');
      const transport = await begin(caller);
      const response = await transport.handleRequest(request);
      // Not an initialize: nothing was begun.
      if (transport.sessionId === undefined) await transport.close();
      return response;
    }
    const session = sessions.get(id);
    if (session === undefined || session.owner !== caller?.id) return refusal(404, 'There is no such session.');
    return answerIn(session, request);
  };
  return {
    handle,
    close: async () => {
      isClosed = true;
      for (const [id, session] of [...sessions]) {
        sessions.delete(id);
        await session.server.close().catch(() => undefined);
      }
    },
  };
}
