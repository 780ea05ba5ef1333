import type { z } from 'zod';
import type { Caller } from './caller.js';
import type { Settings } from './options.js';
import type { Show } from './show.js';
import type { SseMessage } from './sse.js';

/** One request that was let in: who calls is known, what was sent fits. */
export interface Call<U extends Caller = Caller, Q = unknown, B = unknown> {
  readonly settings: Settings<U>;
  readonly caller: U;
  readonly show: Show;
  readonly request: Request;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Q;
  readonly body: B;
  /** A stream as the answer; throws a problem where the caller has too many. A failure inside ends it, and is told to `onError`. */
  stream(make: (signal: AbortSignal) => AsyncIterable<SseMessage>, headers?: Readonly<Record<string, string>>): Response;
}
/** What an operation may answer beside problems. */
export interface AnswerForm {
  readonly description: string;
  readonly schema?: z.ZodType | undefined;
  /** Server-sent events; `schema` is that of each one's data, where it is ours. */
  readonly isStream?: true | undefined;
}
/** One route: what checks requests, answers them and describes them. */
export interface Operation<U extends Caller = Caller> {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Behind the prefix; `{name}` is one step, `{name+}` may have slashes. */
  readonly path: string;
  readonly summary: string;
  readonly params?: Readonly<Record<string, z.ZodType<string>>> | undefined;
  readonly query?: z.ZodObject | undefined;
  readonly headers?: Readonly<Record<string, { readonly schema: z.ZodType<string>; readonly description: string }>> | undefined;
  readonly body?: z.ZodType | undefined;
  /** The longest lists that the body may have, by field: looked at before its form, which costs for each item. */
  readonly longest?: ((settings: Settings<U>) => Readonly<Record<string, number>>) | undefined;
  /** The client sends the whole conversation. */
  readonly isHistory?: true | undefined;
  readonly answers: Readonly<Record<number, AnswerForm>>;
  /** Statuses of problems beyond those that every operation may have. */
  readonly problems?: readonly number[] | undefined;
  handle(call: Call<U>): Promise<Response>;
}

/** Binds the types of query and body of an operation to its handler. */
export function operation<U extends Caller, Q extends z.ZodObject, B extends z.ZodType>(
  made: Omit<Operation<U>, 'handle' | 'query' | 'body'> & {
    readonly query?: Q | undefined;
    readonly body?: B | undefined;
    handle(call: Call<U, z.output<Q>, z.output<B>>): Promise<Response>;
  },
): Operation<U> {
  return made as unknown as Operation<U>;
}

export const json = (value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response =>
  new Response(JSON.stringify(value), { status, headers: { 'content-type': 'application/json; charset=utf-8', ...headers } });
