// The way to a remote server: the SDK's transport over a `fetch` that is told more precisely what went wrong, bounds what it reads, and lets
// go of a request that was given up.

import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { boundedBody } from './bounded-body.js';
import { RequestFailure } from './failure.js';
import { signInFetch } from './oauth.js';
import { WatchedTransport } from './watched-transport.js';

export interface HttpPlace {
  readonly serverName: string;
  /** Without user and password. */
  readonly url: URL;
  readonly headers: () => Promise<Readonly<Record<string, string>>>;
  readonly auth: OAuthClientProvider | undefined;
  readonly fetch: FetchLike;
  readonly maxMessageBytes: number;
}

export interface HttpTransport {
  readonly transport: WatchedTransport;
  readonly http: StreamableHTTPClientTransport;
}

/** Where the connection was not made, so that nothing was sent. */
const notConnected: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ERR_INVALID_URL',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

function wasNotConnected(thrown: unknown): boolean {
  let at: unknown = thrown;
  for (let depth = 0; depth < 5 && typeof at === 'object' && at !== null; depth += 1) {
    const { code, message, errors, cause } = at as Readonly<Record<'code' | 'message' | 'errors' | 'cause', unknown>>;
    // `fetch` goes to no port of another protocol (1, 22, 25 and so on), and gives no code for it.
    if ((typeof code === 'string' && notConnected.has(code)) || message === 'bad port') return true;
    if (Array.isArray(errors) && errors.length > 0 && errors.every(wasNotConnected)) return true;
    at = cause;
  }
  return false;
}

interface Sent {
  readonly method: string;
  /** Present in requests. */
  readonly id: string | number | undefined;
  /** Of a cancellation: the request that it is about. */
  readonly cancels: string | number | undefined;
}

/** What a POST of the protocol holds; undefined for anything else, such as what is said to an authorization server. */
function readSent(init: RequestInit | undefined): Sent | undefined {
  if (init?.method !== 'POST' || typeof init.body !== 'string') return undefined;
  try {
    const { jsonrpc, method, id, params } = JSON.parse(init.body) as {
      readonly jsonrpc?: unknown;
      readonly method?: unknown;
      readonly id?: unknown;
      readonly params?: { readonly requestId?: unknown };
    };
    if (jsonrpc !== '2.0') return undefined;
    const isId = (value: unknown): value is string | number => typeof value === 'string' || typeof value === 'number';
    return {
      method: typeof method === 'string' ? method : '',
      id: typeof method === 'string' && isId(id) ? id : undefined,
      cancels: method === 'notifications/cancelled' && isId(params?.requestId) ? params.requestId : undefined,
    };
  } catch {
    return undefined;
  }
}

/** How often in a row the stream for the server's own messages may be answered with 401: the SDK signs in and tries again without end. */
const mostSignIns = 2;
/** Long enough for what was read to be delivered. */
const deliveryMs = 10;
/** How long a request that was given up is still kept, for a server that does not take the word of it. */
const patienceMs = 1_000;
const mostNoticeMs = 10_000;

/** The same place, or its https form with both on default ports: what the SDK follows a redirect to. */
const isSamePlace = (from: URL, to: URL): boolean =>
  from.origin === to.origin || (from.hostname === to.hostname && to.protocol === 'https:' && from.port === '' && to.port === '');

function leadsHome(response: Response, from: URL): boolean {
  try {
    const to = new URL(response.headers.get('location') ?? '', from);
    return response.headers.has('location') && isSamePlace(from, to) && to.username === '' && to.password === '';
  } catch {
    return false;
  }
}

export function openHttp(place: HttpPlace): HttpTransport {
  const { serverName, url, auth } = place;
  const underway = new Map<string | number, AbortController>();
  /** Requests that the server refused until somebody has signed in. */
  const refused = new Set<string | number>();
  let signIns = 0;
  const askForSignIn = signInFetch(place.fetch, url);
  // The watched transport is made after what it watches.
  const watched = (): WatchedTransport => transport;

  const post = async (target: string | URL, init: RequestInit, sent: Sent): Promise<Response> => {
    const controller = new AbortController();
    const { id } = sent;
    const giveUp = (): void => controller.abort(init.signal?.reason);
    init.signal?.addEventListener('abort', giveUp, { once: true });
    if (init.signal?.aborted) giveUp();
    // A request has its own deadline; a notification waits for nothing but the server's word that it came.
    const deadline = id === undefined ? setTimeout(giveUp, mostNoticeMs) : undefined;
    const done = (): void => {
      clearTimeout(deadline);
      init.signal?.removeEventListener('abort', giveUp);
      if (id !== undefined) underway.delete(id);
    };
    if (id !== undefined) underway.set(id, controller);
    const { cancels } = sent;
    const letGo = (): void => void (cancels !== undefined && underway.get(cancels)?.abort());
    const impatience = cancels === undefined ? undefined : setTimeout(letGo, patienceMs);
    let response: Response;
    try {
      response = await place.fetch(target, { ...init, signal: controller.signal });
    } catch (thrown) {
      done();
      if (wasNotConnected(thrown)) throw new RequestFailure('unreachable', `Server ${serverName} cannot be reached.`);
      throw new RequestFailure('lost', `The connection to server ${serverName} was lost.`);
    } finally {
      clearTimeout(impatience);
      letGo();
    }
    if (response.body === null) {
      done();
      return response;
    }
    return new Response(
      boundedBody(response.body, {
        isEvents: (response.headers.get('content-type') ?? '').toLowerCase().startsWith('text/event-stream'),
        maxBytes: place.maxMessageBytes,
        onTooLarge: () => {
          if (id !== undefined) watched().fail(id, tooLarge());
        },
        onEnd: (canGoOn) => {
          done();
          // What is refused may be asked again, after a sign-in.
          if (id === undefined || canGoOn || !response.ok) return;
          setTimeout(
            () => watched().fail(id, new RequestFailure('lost', `Server ${serverName} ended the connection without an answer.`)),
            deliveryMs,
          );
        },
      }),
      { status: response.status, statusText: response.statusText, headers: response.headers },
    );
  };

  const tooLarge = (): RequestFailure =>
    new RequestFailure('too-large', `The answer of server ${serverName} is larger than ${place.maxMessageBytes} bytes.`);

  const refuse = async (response: Response, init: RequestInit): Promise<Response> => {
    const { status } = response;
    const hadSession = new Headers(init.headers).has('mcp-session-id');
    if (auth !== undefined && (status === 401 || status === 403)) return response;
    // The SDK follows what keeps the request as it is, within the same place.
    if ((status === 307 || status === 308) && leadsHome(response, url)) return response;
    await response.body?.cancel().catch(() => undefined);
    if (status === 404 && hadSession) throw new RequestFailure('expired', `Server ${serverName} has ended the session.`);
    if (status === 401 || status === 403)
      throw new RequestFailure('unauthorized', `Server ${serverName} refuses the request: HTTP ${status}.`);
    if (status === 429) throw new RequestFailure('busy', `Server ${serverName} asks for fewer requests: HTTP 429.`);
    if (status >= 300 && status < 400)
      throw new RequestFailure('refused', `Server ${serverName} redirects elsewhere, which is not followed: HTTP ${status}.`);
    if (status >= 500) throw new RequestFailure('lost', `Server ${serverName} failed: HTTP ${status}.`);
    // Many servers say 400 where the protocol wants 404. That it did not run is then not certain.
    if (status === 400 && hadSession)
      throw new RequestFailure(
        'expired',
        `Server ${serverName} refuses the request, perhaps because the session is over: HTTP 400.`,
        'unknown',
      );
    throw new RequestFailure('refused', `Server ${serverName} refuses the request: HTTP ${status}.`);
  };

  /** What this program says of itself; its own words where it cannot are not told, as they may hold what the headers do. */
  const addOwn = async (headers: Headers): Promise<void> => {
    try {
      for (const [name, value] of Object.entries(await place.headers())) headers.set(name, value);
    } catch {
      throw new RequestFailure('refused', `The \`headers\` for server ${serverName} could not be made, or are none: nothing was sent.`);
    }
  };

  const ask = async (target: string | URL, init: RequestInit, sent: Sent): Promise<Response> => {
    const { id } = sent;
    if (id !== undefined) refused.delete(id);
    const response = await post(target, init, sent);
    if (id !== undefined && auth !== undefined && (response.status === 401 || response.status === 403)) refused.add(id);
    return response.ok ? response : refuse(response, init);
  };

  const watchedFetch: FetchLike = async (target, init) => {
    const sent = readSent(init);
    const isStream = init?.method === 'GET' && new Headers(init.headers).get('accept') === 'text/event-stream';
    const isEnd = init?.method === 'DELETE';
    if (sent === undefined && !isStream && !isEnd) return askForSignIn(target, init);
    // What is for the server goes to nobody else: the SDK follows no redirect to another origin, and this holds it again.
    const headers = new Headers(init?.headers);
    if (isSamePlace(url, new URL(target))) await addOwn(headers);
    const full: RequestInit = { ...init, headers };
    if (sent !== undefined) {
      return ask(target, full, sent);
    }
    const response = await place.fetch(target, full);
    if (!isStream) return response;
    signIns = response.status === 401 ? signIns + 1 : 0;
    if (signIns > mostSignIns) {
      await response.body?.cancel().catch(() => undefined);
      return new Response(null, { status: 405 });
    }
    if (!response.ok || response.body === null) return response;
    const body = boundedBody(response.body, {
      isEvents: true,
      maxBytes: place.maxMessageBytes,
      onTooLarge: () => undefined,
      onEnd: () => undefined,
    });
    return new Response(body, { status: response.status, headers: response.headers });
  };

  const http = new StreamableHTTPClientTransport(url, { fetch: watchedFetch, ...(auth === undefined ? {} : { authProvider: auth }) });
  // The SDK declares `sessionId` of its transports in a way that exact optional properties refuse.
  const transport = new WatchedTransport(http as ConstructorParameters<typeof WatchedTransport>[0], serverName);
  transport.explain = (id) =>
    refused.delete(id) ? new RequestFailure('unauthorized', `Server ${serverName} asks for a sign-in by a person.`) : undefined;
  return { transport, http };
}
