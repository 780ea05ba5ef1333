// A server on a port of this machine over durable runs in memory.
import type { AddressInfo } from 'node:net';
import { durable } from '@guardloop/durable';
import type { Store } from '@guardloop/store';
import { memoryStore } from '@guardloop/store';
import { serve } from '@hono/node-server';
import type { Caller, ServerOptions } from '../src/index.js';
import { guardloopServer } from '../src/index.js';

/** `Bearer <user>[@<tenant>][:<role>]`. */
export interface Person extends Caller {
  readonly role?: string | undefined;
}
export function personOf(request: Request): Person | undefined {
  const match = /^Bearer ([a-z]+)(?:@([a-z]+))?(?::([a-z]+))?$/.exec(request.headers.get('authorization') ?? '');
  if (match?.[1] === undefined) return undefined;
  return { user: match[1], ...(match[2] === undefined ? {} : { tenant: match[2] }), ...(match[3] === undefined ? {} : { role: match[3] }) };
}

export interface Scene {
  readonly url: string;
  readonly port: number;
  readonly server: ReturnType<typeof serve>;
  readonly store: Store;
  readonly runs: ReturnType<typeof durable>;
  readonly errors: unknown[];
  /** A request of this person: `anna`, `anna@shop`, `sue@shop:supervisor`. */
  as(
    person: string,
    path: string,
    init?: {
      readonly method?: string;
      readonly body?: unknown;
      readonly headers?: Readonly<Record<string, string>>;
      readonly signal?: AbortSignal;
    },
  ): Promise<Response>;
  /** Ends when the run has ended or waits. */
  settled(run: string): Promise<string>;
  close(): Promise<void>;
}
type Agents = Parameters<typeof durable>[0]['agents'];

export async function openScene(
  agents: Agents,
  options: Partial<ServerOptions<Person>> = {},
  { isWorking = true }: { readonly isWorking?: boolean } = {},
): Promise<Scene> {
  const store = memoryStore();
  const runs = durable({ store, agents });
  const worker = isWorking ? await runs.worker() : undefined;
  const errors: unknown[] = [];
  const app = guardloopServer<Person>({
    runs,
    agents: Object.fromEntries(Object.keys(agents).map((name) => [name, {}])),
    authenticate: personOf,
    onError: (error) => errors.push(error),
    ...options,
  });
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
  await new Promise<void>((resolve) => server.once('listening', () => resolve()));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    port,
    server,
    store,
    runs,
    errors,
    as: (person, path, { method, body, headers, signal } = {}) =>
      fetch(`${url}${path}`, {
        method: method ?? (body === undefined ? 'GET' : 'POST'),
        headers: {
          authorization: `Bearer ${person}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      }),
    settled: async (run) => (await runs.result(run, { until: 'wait' })).status,
    close: async () => {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        if ('closeAllConnections' in server) server.closeAllConnections();
      });
      await worker?.stop();
      await runs.close();
      await store.close();
    },
  };
}

export interface Received {
  readonly event: string | undefined;
  readonly id: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: what came over the wire
  readonly data: any;
}
/** Reads server-sent events until `isEnough`, or the end; then leaves. */
export async function readEvents(
  response: Response,
  isEnough: (events: readonly Received[]) => boolean = () => false,
): Promise<Received[]> {
  const events: Received[] = [];
  if (response.body === null) return events;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    rest += next.value;
    const blocks = rest.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const field = (name: string): string | undefined =>
        block
          .split('\n')
          .find((line) => line.startsWith(`${name}: `))
          ?.slice(name.length + 2);
      const data = field('data');
      if (data !== undefined) events.push({ event: field('event'), id: field('id'), data: data === '[DONE]' ? data : JSON.parse(data) });
    }
    if (isEnough(events)) {
      await reader.cancel();
      return events;
    }
  }
  return events;
}

export const textOf = (events: readonly Received[]): string =>
  events.reduce((text, { data }) => {
    if (data.type === 'text.delta') return text + data.text;
    return data.type === 'text.retract' ? text.slice(0, text.length - data.chars) : text;
  }, '');

/** A promise and what resolves it. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
