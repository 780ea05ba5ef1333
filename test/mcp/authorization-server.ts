// An authorization server and a protected server of the protocol behind it, on one port of this machine: metadata, registration, consent,
// codes with PKCE (S256), tokens for one resource, refresh.
import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { tool } from './fake-server.js';

interface Grant {
  readonly client: string;
  readonly challenge: string;
  readonly redirect: string;
  readonly resource: string | null;
}
export interface ProtectedServer {
  readonly url: string;
  readonly origin: string;
  /** What was asked of it, as `METHOD path`. */
  readonly asked: string[];
  /** Access tokens that are good. Empty it, and they have run out. */
  readonly tokens: Set<string>;
  readonly refreshTokens: Set<string>;
  readonly calls: string[];
  /** Made to say something else in the metadata. */
  metadata: Record<string, unknown>;
}

const json = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};
const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  return body;
};

export async function protectedServer(): Promise<ProtectedServer> {
  const clients = new Map<string, readonly string[]>();
  const grants = new Map<string, Grant>();
  const tokens = new Set<string>();
  const refreshTokens = new Set<string>();
  const asked: string[] = [];
  const calls: string[] = [];
  const state: { metadata: Record<string, unknown> } = { metadata: {} };
  let origin = '';

  const token = (params: URLSearchParams, response: ServerResponse): void => {
    const give = (): void => {
      const access = randomUUID();
      const refresh = randomUUID();
      tokens.add(access);
      refreshTokens.add(refresh);
      json(response, 200, { access_token: access, token_type: 'Bearer', expires_in: 3600, refresh_token: refresh });
    };
    if (params.get('grant_type') === 'refresh_token') {
      if (refreshTokens.delete(params.get('refresh_token') ?? '')) give();
      else json(response, 400, { error: 'invalid_grant' });
      return;
    }
    const code = params.get('code') ?? '';
    const grant = grants.get(code);
    grants.delete(code);
    const challenge = createHash('sha256')
      .update(params.get('code_verifier') ?? '')
      .digest('base64url');
    const fits =
      grant?.challenge === challenge &&
      grant.client === params.get('client_id') &&
      grant.redirect === params.get('redirect_uri') &&
      grant.resource === params.get('resource');
    if (fits) give();
    else json(response, 400, { error: 'invalid_grant', error_description: `secret ${code}` });
  };

  const protocol = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
    if (bearer === undefined || !tokens.has(bearer)) {
      const where = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
      return json(response.setHeader('www-authenticate', where), 401, { error: 'invalid_token' });
    }
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const message = JSON.parse(await bodyOf(request)) as {
      readonly id?: number;
      readonly method: string;
      readonly params?: { readonly name?: string };
    };
    if (message.id === undefined) return void response.writeHead(202).end();
    const results: Record<string, unknown> = {
      initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'protected', version: '1' } },
      'tools/list': { tools: [tool('read')] },
      'tools/call': { content: [{ type: 'text', text: 'private' }] },
    };
    if (message.method === 'tools/call') calls.push(String(message.params?.name));
    return json(response, 200, { jsonrpc: '2.0', id: message.id, result: results[message.method] ?? {} });
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', origin);
    asked.push(`${request.method} ${url.pathname}`);
    switch (url.pathname) {
      case '/mcp':
        return protocol(request, response);
      case '/.well-known/oauth-protected-resource/mcp':
        return json(response, 200, { resource: `${origin}/mcp`, authorization_servers: [origin], scopes_supported: ['read'] });
      case '/.well-known/oauth-authorization-server':
        return json(response, 200, {
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['none'],
          ...state.metadata,
        });
      case '/register': {
        const given = JSON.parse(await bodyOf(request)) as { readonly redirect_uris: readonly string[] };
        const client = randomUUID();
        clients.set(client, given.redirect_uris);
        return json(response, 201, { ...given, client_id: client });
      }
      case '/authorize': {
        // The person agrees at once.
        const redirect = url.searchParams.get('redirect_uri') ?? '';
        const client = url.searchParams.get('client_id') ?? '';
        if (!clients.get(client)?.includes(redirect) || url.searchParams.get('code_challenge_method') !== 'S256')
          return void response.writeHead(400).end();
        const code = randomUUID();
        grants.set(code, {
          client,
          redirect,
          challenge: url.searchParams.get('code_challenge') ?? '',
          resource: url.searchParams.get('resource'),
        });
        const back = new URL(redirect);
        back.searchParams.set('code', code);
        back.searchParams.set('state', url.searchParams.get('state') ?? '');
        back.searchParams.set('iss', origin);
        return void response.writeHead(302, { location: back.href }).end();
      }
      case '/token':
        return token(new URLSearchParams(await bodyOf(request)), response);
      default:
        return void response.writeHead(404).end();
    }
  };

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `${origin}/mcp`,
    origin,
    asked,
    tokens,
    refreshTokens,
    calls,
    get metadata() {
      return state.metadata;
    },
    set metadata(metadata) {
      state.metadata = metadata;
    },
  };
}
