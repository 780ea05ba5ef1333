// From a request that found its operation to the answer: who calls, how often, what was sent.
import { GuardloopError } from '@guardloop/core';
import type { z } from 'zod';
import type { Caller } from './caller.js';
import { checkedCaller } from './caller.js';
import { within } from './deadline.js';
import { openApiPath } from './openapi.js';
import type { Call, Operation } from './operation.js';
import type { Settings } from './options.js';
import { Problem } from './problem.js';
import { checkLists, fit, readJson } from './read-body.js';
import type { SseMessage } from './sse.js';
import { sseResponse } from './sse.js';

/** A request that found its operation. */
export interface Arrival<U extends Caller> {
  readonly made: Operation<U>;
  readonly params: Readonly<Record<string, string>>;
  readonly settings: Settings<U>;
  readonly streams: Map<string, number>;
}

/** Lets the request in, or throws the problem with it, and has it answered. */
export async function answer<U extends Caller>(request: Request, arrival: Arrival<U>): Promise<Response> {
  const { made, settings } = arrival;
  const late = (): Problem => {
    settings.onError(
      new GuardloopError('INTERNAL', `The operation ${made.id} of guardloopServer took longer than \`timeoutMs\`, ${settings.timeoutMs}.`),
    );
    return new Problem('unavailable', { headers: { 'retry-after': '2' } });
  };
  const caller = await within(identify(request, settings), settings.timeoutMs, late);
  if (settings.rateLimit !== undefined) await within(checkRate(request, caller, arrival), settings.timeoutMs, late);
  checkStreams(caller, arrival);
  const detail = `What is taken stands in ${descriptionPath(request, made, settings)}, under \`${made.id}\`.`;
  const body = made.body === undefined ? undefined : fit(made.body, await bodyOf(request, made, settings), { kind: 'bad-body', detail });
  const query = made.query === undefined ? checkNoQuery(request) : fit(made.query, queryOf(request), { kind: 'bad-query', detail });
  const leave = takePlace(caller, arrival);
  let isOpen = false;
  const call: Call<U> = {
    settings,
    caller,
    show: settings.showFor(caller),
    request,
    params: checkParams(arrival),
    query,
    body,
    stream(make, headers = {}) {
      // Nobody will read it.
      if (request.method === 'HEAD')
        return new Response(null, { headers: { 'content-type': 'text/event-stream; charset=utf-8', ...headers } });
      isOpen = true;
      return openStream(make, { settings, headers, onEnd: leave });
    },
  };
  const answered = made.handle(call).finally(() => {
    if (!isOpen) leave();
  });
  return within(answered, settings.timeoutMs, () => {
    // Nobody will read it: a stream would count as open until `maxStreamMs` are over.
    void answered.then((response) => response.body?.cancel()).catch(() => undefined);
    return late();
  });
}

/** Where the description is, also where the server is a part of a larger one. */
function descriptionPath<U extends Caller>(request: Request, made: Operation<U>, { prefix }: Settings<U>): string {
  const { pathname } = new URL(request.url);
  const at = pathname.indexOf(`${prefix}${made.path.split('{')[0]}`);
  return `${pathname.slice(0, Math.max(at, 0))}${prefix}${openApiPath}`;
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
  if (caller !== undefined) return caller;
  if (given !== undefined && given !== null)
    onError(
      new GuardloopError(
        'CONFIG_INVALID',
        '`authenticate` of guardloopServer gave what names nobody, and the request was refused. Give { user, tenant? }, each a line of 1 to 200 characters, or undefined for nobody.',
      ),
    );
  throw new Problem('unauthenticated', { headers: { 'www-authenticate': 'Bearer' } });
}

/** A year: what goes beyond would be written as no whole number. */
const longestWaitSeconds = 31_536_000;

async function checkRate<U extends Caller>(request: Request, caller: U, { made, settings }: Arrival<U>): Promise<void> {
  let wait: unknown;
  try {
    wait = await settings.rateLimit?.({ caller, operation: made.id, request });
  } catch (thrown) {
    settings.onError(thrown);
    throw new Problem('unavailable', { headers: { 'retry-after': '2' } });
  }
  if (wait === undefined) return;
  const retryAfterMs: unknown = typeof wait === 'object' && wait !== null && 'retryAfterMs' in wait ? wait.retryAfterMs : undefined;
  if (typeof retryAfterMs !== 'number' || Number.isNaN(retryAfterMs)) {
    settings.onError(
      new GuardloopError(
        'CONFIG_INVALID',
        '`rateLimit` of guardloopServer gave what is no answer, and the request was refused. Give undefined to let it in, or { retryAfterMs }.',
      ),
    );
    throw new Problem('unavailable', { headers: { 'retry-after': '2' } });
  }
  const seconds = Math.min(Math.max(Math.ceil(retryAfterMs / 1_000), 1), longestWaitSeconds);
  throw new Problem('too-many', { headers: { 'retry-after': String(seconds) } });
}

const bodyOf = async <U extends Caller>(request: Request, made: Operation<U>, settings: Settings<U>): Promise<unknown> =>
  checkLists(await readJson(request, bodyLimits(made, settings)), made.longest?.(settings) ?? {});

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

const streamsKey = ({ user, tenant }: Caller): string => JSON.stringify([tenant ?? null, user]);
const isStreaming = ({ answers }: Pick<Operation, 'answers'>): boolean => Object.values(answers).some((form) => form.isStream);

/** Throws a problem where the caller has too many streams open. */
function checkStreams<U extends Caller>(caller: U, { made, settings, streams }: Arrival<U>): void {
  if (isStreaming(made) && (streams.get(streamsKey(caller)) ?? 0) >= settings.maxStreams)
    throw new Problem('too-many', { detail: 'Too many streams are open.', headers: { 'retry-after': '5' } });
}

/** Counts the stream before a run is started for it: what is refused has begun nothing. Gives what takes it from the count, once. */
function takePlace<U extends Caller>(caller: U, arrival: Arrival<U>): () => void {
  const { made, streams } = arrival;
  if (!isStreaming(made)) return () => undefined;
  checkStreams(caller, arrival);
  const key = streamsKey(caller);
  streams.set(key, (streams.get(key) ?? 0) + 1);
  let isCounted = true;
  return () => {
    if (!isCounted) return;
    isCounted = false;
    const left = (streams.get(key) ?? 1) - 1;
    if (left > 0) streams.set(key, left);
    else streams.delete(key);
  };
}

interface OpenStream {
  readonly settings: Pick<Settings<Caller>, 'heartbeatMs' | 'maxStreamMs' | 'onError'>;
  readonly headers: Readonly<Record<string, string>>;
  readonly onEnd: () => void;
}

function openStream(make: (signal: AbortSignal) => AsyncIterable<SseMessage>, { settings, headers, onEnd }: OpenStream): Response {
  const { heartbeatMs, maxStreamMs, onError } = settings;
  async function* watched(signal: AbortSignal): AsyncGenerator<SseMessage> {
    try {
      yield* make(signal);
    } catch (thrown) {
      if (!signal.aborted) onError(thrown);
      throw new Error('The stream broke off.');
    }
  }
  return sseResponse(watched, { heartbeatMs, maxMs: maxStreamMs, headers, onEnd });
}
