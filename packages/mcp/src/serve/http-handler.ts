// Streamable HTTP over the web's own Request and Response: no Node.
import type { Awaitable } from '@guardloop/core';
import { GuardloopError } from '@guardloop/core';
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { Caller } from './types.js';

/** Who may call over HTTP. */
export interface HttpOptions {
  /**
   * Says who calls, from the request's headers: undefined refuses it with 401, as does throwing. `anyone`: whoever reaches the port, for this
   * machine alone or behind a gateway that asks.
   */
  readonly authenticate: 'anyone' | ((request: Request) => Awaitable<Caller | undefined>);
  /**
   * Names under which this server is reached, without ports: a request for another name, or from a page of another, is refused. Guards against
   * pages that make a name of theirs mean this machine.
   */
  readonly hosts: readonly string[];
  /** Sessions kept at the same time; the one that was quiet longest goes first. Default 1,000. */
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

export function httpHandler(
  makeServer: (callerOf: () => Caller | undefined) => Server,
  { authenticate, hosts, maxSessions = 1_000, idleMs = 1_800_000, maxBodyBytes = 1_000_000 }: HttpOptions,
): { readonly handle: (request: Request) => Promise<Response>; close(): Promise<void> } {
  if (authenticate !== 'anyone' && typeof authenticate !== 'function')
    throw new GuardloopError('CONFIG_INVALID', "serveAgent over HTTP needs `authenticate`: a function that says who calls, or 'anyone'.");
  if (!Array.isArray(hosts) || hosts.length === 0)
    throw new GuardloopError('CONFIG_INVALID', 'serveAgent over HTTP needs `hosts`: the names under which it is reached.');
  const sessions = new Map<string, Session>();

  const drop = (id: string, session: Session): void => {
    sessions.delete(id);
    void session.server.close().catch(() => undefined);
  };
  const makeRoom = (): void => {
    const now = Date.now();
    for (const [id, session] of sessions) if (now - session.lastUsed > idleMs) drop(id, session);
    while (sessions.size >= maxSessions) {
      const quietest = [...sessions].reduce((one, other) => (other[1].lastUsed < one[1].lastUsed ? other : one));
      drop(...quietest);
    }
  };
  const begin = async (caller: Caller | undefined): Promise<WebStandardStreamableHTTPServerTransport> => {
    makeRoom();
    const server = makeServer(() => caller);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => globalThis.crypto.randomUUID(),
      maxRequestBodySize: maxBodyBytes,
      onsessioninitialized: (id) => {
        sessions.set(id, { server, transport, owner: caller?.id, lastUsed: Date.now() });
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
      return (await authenticate(request)) ?? undefined;
    } catch {
      return undefined;
    }
  };

  const handle = async (request: Request): Promise<Response> => {
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
    session.lastUsed = Date.now();
    return session.transport.handleRequest(request);
  };
  return {
    handle,
    close: async () => {
      for (const [id, session] of [...sessions]) {
        sessions.delete(id);
        await session.server.close().catch(() => undefined);
      }
    },
  };
}
