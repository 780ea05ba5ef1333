import { GuardloopError } from '@guardloop/core';
import { Hono } from 'hono';
import { cors } from 'hono/cors';
import type { BlankEnv, BlankSchema } from 'hono/types';
import type { z } from 'zod';
import type { Caller } from './caller.js';
import { checkedCaller } from './caller.js';
import { within } from './deadline.js';
import { openApiDocument } from './openapi.js';
import type { Call, Operation } from './operation.js';
import { json } from './operation.js';
import type { ServerOptions, Settings } from './options.js';
import { readOptions } from './options.js';
import { Problem, problemOf } from './problem.js';
import { agUiOperations } from './protocols/ag-ui-routes.js';
import { aiSdkOperations } from './protocols/ai-sdk-routes.js';
import { fit, readJson } from './read-body.js';
import { approvalOperations } from './routes/approvals.js';
import { runOperations } from './routes/runs.js';
import { sessionOperations } from './routes/sessions.js';
import type { SseMessage } from './sse.js';
import { sseResponse } from './sse.js';

const openApiPath = '/openapi.json';

/**
 * Durable runs over HTTP: an app of hono, whose `fetch` runs wherever requests and responses are the web's. Each user sees what is theirs, and
 * what is another's is not there. Throws CONFIG_INVALID.
 */
export function guardloopServer<U extends Caller>(options: ServerOptions<U>): Hono<BlankEnv, BlankSchema, '/'> {
  const settings = readOptions(options);
  const operations: readonly Operation<U>[] = [
    ...runOperations<U>(),
    ...approvalOperations<U>(),
    ...sessionOperations<U>(),
    ...(settings.protocols.has('ag-ui') ? agUiOperations<U>() : []),
    ...(settings.protocols.has('ai-sdk') ? aiSdkOperations<U>() : []),
  ];
  const document = openApiDocument(operations, settings);
  const streams = new Map<string, number>();
  const app = new Hono();

  // Whoever has left is told nothing, and what broke for it is no fault.
  app.onError((error, context) => {
    const response = failed(error, context.req.raw.signal.aborted ? { onError: () => undefined } : settings);
    secure(response.headers, settings);
    return response;
  });
  app.notFound(() => new Problem('not-found').response());
  app.use('*', async (context, next) => {
    checkPlace(context.req.raw, settings);
    await next();
    secure(context.res.headers, settings);
  });
  if (settings.origins.length > 0) app.use('*', crossOrigin(settings.origins));

  const { prefix } = settings;
  app.get(`${prefix}${openApiPath}`, () => json(document));
  allow(app, `${prefix}${openApiPath}`, ['GET']);
  // Path by path, as they stand: `/runs/stream` is no run.
  const paths = new Map<string, Operation<U>[]>();
  for (const made of operations) paths.set(made.path, [...(paths.get(made.path) ?? []), made]);
  for (const [form, those] of paths) {
    const path = `${prefix}${honoPath(form)}`;
    for (const made of those)
      app.on(made.method, path, async (context) => {
        const params = context.req.param() as Readonly<Record<string, string>>;
        return answer(context.req.raw, { made, params, settings, streams });
      });
    allow(
      app,
      path,
      those.map(({ method }) => method),
    );
  }
  return app;
}

/** hono's form of a path. Ids of approvals have slashes, which proxies like to decode. */
const honoPath = (path: string): string =>
  path.replaceAll(/\{(\w+)(\+?)\}/g, (_all, name, many) => (many === '' ? `:${name}` : `:${name}{.+}`));

/** Tells which methods a path has, where another one comes. */
function allow(app: Hono, path: string, methods: readonly string[]): void {
  const allowed = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].join(', ');
  app.all(path, (context) => {
    if (context.req.method === 'OPTIONS') return new Response(null, { status: 204, headers: { allow: allowed } });
    return new Problem('no-method', { headers: { allow: allowed } }).response();
  });
}

function failed(error: unknown, { onError }: Pick<Settings<Caller>, 'onError'>): Response {
  const problem = problemOf(error);
  if (problem !== error && problem.body.status >= 500) onError(error);
  return problem.response();
}

function secure(headers: Headers, { origins }: Pick<Settings<Caller>, 'origins'>): void {
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store');
  headers.set('x-content-type-options', 'nosniff');
  headers.set('content-security-policy', "default-src 'none'; frame-ancestors 'none'");
  headers.set('cross-origin-resource-policy', origins.length > 0 ? 'cross-origin' : 'same-origin');
}

const hostOf = (address: string): string | undefined => {
  try {
    return new URL(address).hostname;
  } catch {
    return undefined;
  }
};

/**
 * Whether the request came to a name of ours, and from no page of others. A page can send what a form can without asking; of all else its
 * browser says where it comes from, and so does it of requests with cookies.
 */
function checkPlace(request: Request, { hosts, origins }: Pick<Settings<Caller>, 'hosts' | 'origins'>): void {
  const host = request.headers.get('host') ?? new URL(request.url).host;
  if (hosts !== undefined && !hosts.includes(hostOf(`http://${host}`) ?? '')) throw new Problem('wrong-host');
  const origin = request.headers.get('origin');
  if (origin !== null && !origins.includes(origin) && !isSameHost(origin, host)) throw new Problem('not-from-here');
  const site = request.headers.get('sec-fetch-site');
  if (origin === null && (site === 'cross-site' || site === 'same-site')) throw new Problem('not-from-here');
}

function isSameHost(origin: string, host: string): boolean {
  try {
    return new URL(origin).host === host.toLowerCase();
  } catch {
    return false;
  }
}

const crossOrigin = (origins: readonly string[]): ReturnType<typeof cors> =>
  cors({
    origin: (origin) => (origins.includes(origin) ? origin : null),
    credentials: true,
    allowMethods: ['GET', 'HEAD', 'POST', 'DELETE'],
    allowHeaders: ['authorization', 'content-type', 'idempotency-key', 'last-event-id', 'traceparent'],
    exposeHeaders: ['location', 'retry-after', 'guardloop-run', 'x-vercel-ai-ui-message-stream'],
    maxAge: 600,
  });

interface Arrival<U extends Caller> {
  readonly made: Operation<U>;
  readonly params: Readonly<Record<string, string>>;
  readonly settings: Settings<U>;
  readonly streams: Map<string, number>;
}

async function answer<U extends Caller>(request: Request, arrival: Arrival<U>): Promise<Response> {
  const { made, settings } = arrival;
  const late = (): Problem => {
    settings.onError(
      new GuardloopError('INTERNAL', `The operation ${made.id} of guardloopServer took longer than \`timeoutMs\`, ${settings.timeoutMs}.`),
    );
    return new Problem('unavailable', { headers: { 'retry-after': '2' } });
  };
  const caller = await within(identify(request, settings), settings.timeoutMs, late);
  if (settings.rateLimit !== undefined) await within(checkRate(request, caller, arrival), settings.timeoutMs, late);
  const body = made.body === undefined ? undefined : fit(made.body, await readJson(request, bodyLimits(made, settings)));
  const query = made.query === undefined ? checkNoQuery(request) : fit(made.query, queryOf(request), 'bad-query');
  const call: Call<U> = {
    settings,
    caller,
    show: settings.showFor(caller),
    request,
    params: checkParams(arrival),
    query,
    body,
    stream: (make, headers) => openStream(make, { request, caller, arrival, headers }),
  };
  return within(made.handle(call), settings.timeoutMs, late);
}

async function identify<U extends Caller>(request: Request, { authenticate, onError }: Settings<U>): Promise<U> {
  let given: U | undefined;
  try {
    given = await authenticate(request);
  } catch (thrown) {
    onError(thrown);
    throw new Problem('unauthenticated', { headers: { 'www-authenticate': 'Bearer' } });
  }
  const caller = checkedCaller(given);
  if (caller === undefined) throw new Problem('unauthenticated', { headers: { 'www-authenticate': 'Bearer' } });
  return caller;
}

async function checkRate<U extends Caller>(request: Request, caller: U, { made, settings }: Arrival<U>): Promise<void> {
  let wait: { readonly retryAfterMs: number } | undefined;
  try {
    wait = await settings.rateLimit?.({ caller, operation: made.id, request });
  } catch (thrown) {
    settings.onError(thrown);
    throw new Problem('unavailable', { headers: { 'retry-after': '2' } });
  }
  if (wait === undefined) return;
  const seconds = Math.ceil(wait.retryAfterMs / 1_000);
  throw new Problem('too-many', { headers: { 'retry-after': String(Number.isFinite(seconds) && seconds > 0 ? seconds : 1) } });
}

const bodyLimits = <U extends Caller>({ isHistory }: Operation<U>, settings: Settings<U>): Parameters<typeof readJson>[1] => ({
  maxBytes: isHistory === true ? settings.maxHistoryBytes : settings.maxBodyBytes,
  maxDepth: settings.maxDepth,
  timeoutMs: settings.bodyTimeoutMs,
});

function queryOf(request: Request): Readonly<Record<string, string>> {
  const query = new Map<string, string>();
  for (const [name, value] of new URL(request.url).searchParams) {
    if (query.has(name)) throw new Problem('bad-query', { detail: 'A field of the query is given twice.' });
    query.set(name, value);
  }
  return Object.fromEntries(query);
}

function checkNoQuery(request: Request): undefined {
  if (new URL(request.url).search !== '') throw new Problem('bad-query', { detail: 'No query is taken here.' });
}

/** An id that could be none is one that is not there. */
function checkParams<U extends Caller>({ made, params }: Arrival<U>): Readonly<Record<string, string>> {
  for (const [name, schema] of Object.entries(made.params ?? {}) as readonly [string, z.ZodType<string>][])
    if (!schema.safeParse(params[name]).success) throw new Problem('not-found');
  return params;
}

interface OpenStream<U extends Caller> {
  readonly request: Request;
  readonly caller: U;
  readonly arrival: Arrival<U>;
  readonly headers: Readonly<Record<string, string>> | undefined;
}

function openStream<U extends Caller>(
  make: (signal: AbortSignal) => AsyncIterable<SseMessage>,
  { request, caller, arrival, headers }: OpenStream<U>,
): Response {
  const { settings, streams } = arrival;
  const { heartbeatMs, maxStreamMs, maxStreams, onError } = settings;
  const key = JSON.stringify([caller.tenant ?? null, caller.user]);
  const open = streams.get(key) ?? 0;
  if (open >= maxStreams) throw new Problem('too-many', { detail: 'Too many streams are open.', headers: { 'retry-after': '5' } });
  // Nobody will read it.
  if (request.method === 'HEAD') return new Response(null, { headers: { 'content-type': 'text/event-stream; charset=utf-8', ...headers } });
  streams.set(key, open + 1);
  async function* watched(signal: AbortSignal): AsyncGenerator<SseMessage> {
    try {
      yield* make(signal);
    } catch (thrown) {
      if (!signal.aborted) onError(thrown);
      throw new Error('The stream broke off.');
    }
  }
  return sseResponse(watched, {
    heartbeatMs,
    maxMs: maxStreamMs,
    headers,
    onEnd: () => {
      const left = (streams.get(key) ?? 1) - 1;
      if (left > 0) streams.set(key, left);
      else streams.delete(key);
    },
  });
}
