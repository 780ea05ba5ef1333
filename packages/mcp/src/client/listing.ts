import { z } from 'zod';
import type { Connection } from './connection.js';
import { RequestFailure } from './failure.js';

const mostPages = 100;
const mostEntries = 2_000;

/** Lists of servers are read leniently: one bad entry costs itself, not the others. */
const schemas = {
  tools: z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.unknown().optional() }),
  resources: z.looseObject({ resources: z.array(z.unknown()), nextCursor: z.unknown().optional() }),
  resourceTemplates: z.looseObject({ resourceTemplates: z.array(z.unknown()), nextCursor: z.unknown().optional() }),
  prompts: z.looseObject({ prompts: z.array(z.unknown()), nextCursor: z.unknown().optional() }),
};
const methods = {
  tools: 'tools/list',
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
  prompts: 'prompts/list',
} as const;

/** What a server can list. */
export type ListName = keyof typeof methods;

interface ListSettings {
  readonly list: ListName;
  readonly serverName: string;
  /** For all pages together. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * All pages of a list. A list that comes to no end (a cursor that returns, too many pages or entries) fails as a whole. Rejects with a
 * {@link RequestFailure}, or with the server's error.
 */
export async function listAll(connection: Connection, { list, serverName, timeoutMs, signal }: ListSettings): Promise<readonly unknown[]> {
  const entries: unknown[] = [];
  const seen = new Set<string>();
  const until = Date.now() + timeoutMs;
  let cursor: string | undefined;
  for (let page = 0; page < mostPages; page += 1) {
    const left = until - Date.now();
    if (left <= 0) throw new RequestFailure('timeout', `Server ${serverName} did not list its ${list} within ${timeoutMs} ms.`);
    const request = { method: methods[list], params: cursor === undefined ? {} : { cursor } };
    const result: Readonly<Record<string, unknown>> = await readable(serverName, list, () =>
      connection.request(request, schemas[list], { signal, timeoutMs: left, isRepeatable: true }),
    );
    const found = result[list];
    if (Array.isArray(found)) for (const entry of found as readonly unknown[]) entries.push(entry);
    if (entries.length > mostEntries) break;
    const { nextCursor } = result;
    if (typeof nextCursor !== 'string' || nextCursor === '') return entries;
    if (seen.has(nextCursor)) break;
    seen.add(nextCursor);
    cursor = nextCursor;
  }
  throw new RequestFailure('unreadable', `Server ${serverName} gives a list of ${list} that comes to no end.`);
}

async function readable<T>(serverName: string, list: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (thrown) {
    if (thrown instanceof Error && thrown.name === 'ZodError')
      throw new RequestFailure('unreadable', `Server ${serverName} gives a list of ${list} that cannot be read.`);
    throw thrown;
  }
}
