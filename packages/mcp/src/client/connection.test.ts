import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { Connection } from './connection.js';
import type { FailureKind } from './failure.js';
import { RequestFailure, toToolError } from './failure.js';
import { WatchedTransport } from './watched-transport.js';

/** What the SDK keeps of requests, by what it keeps. */
const kept = (connection: Connection): readonly number[] => {
  const { client } = (connection as unknown as { readonly session: { readonly client: object } }).session;
  const of = client as unknown as Readonly<
    Record<'_responseHandlers' | '_progressHandlers' | '_timeoutInfo', ReadonlyMap<unknown, unknown>>
  >;
  return [of._responseHandlers.size, of._progressHandlers.size, of._timeoutInfo.size];
};

const setUp = (requestTimeoutMs = 300) => {
  const opened: WatchedTransport[] = [];
  const connection = new Connection({
    serverName: 'x',
    clientInfo: { name: 'test', version: '1' },
    connectTimeoutMs: 1_000,
    requestTimeoutMs,
    onRenewed: () => undefined,
    onListChanged: () => undefined,
    onRefused: () => undefined,
    open: async () => {
      const [near, far] = InMemoryTransport.createLinkedPair();
      const server = new Server({ name: 's', version: '1' }, { capabilities: { tools: {} } });
      server.setRequestHandler(CallToolRequestSchema, ({ params }) =>
        params.name === 'never' ? new Promise<never>(() => undefined) : { content: [] },
      );
      await server.connect(far);
      const transport = new WatchedTransport(near, 'x');
      opened.push(transport);
      return { transport };
    },
  });
  onTestFinished(() => connection.close());
  const call = (name: string, signal?: AbortSignal) =>
    connection.request({ method: 'tools/call', params: { name } }, z.looseObject({}), { signal, onprogress: () => undefined });
  return { connection, opened, call };
};

describe('a connection', () => {
  it('S179: keeps nothing of requests that are over, however they ended', async () => {
    const { connection, opened, call } = setUp();
    await call('fine');
    await expect(call('never')).rejects.toMatchObject({ kind: 'timeout', ran: 'unknown' });
    const controller = new AbortController();
    const stopped = call('never', controller.signal);
    setTimeout(() => controller.abort(), 10);
    await expect(stopped).rejects.toMatchObject({ kind: 'aborted' });
    await expect(call('fine', AbortSignal.abort())).rejects.toMatchObject({ kind: 'aborted', ran: 'no' });
    expect(kept(connection)).toEqual([0, 0, 0]);
    expect(opened.map(({ open }) => open)).toEqual([0]);
  });

  it('is made once for all who wait, and anew when it was lost', async () => {
    const { connection, opened, call } = setUp();
    await Promise.all([call('a'), call('b'), call('c')]);
    expect(opened).toHaveLength(1);
    const waiting = call('never');
    await new Promise((resolve) => setTimeout(resolve, 10));
    const lost = expect(waiting).rejects.toMatchObject({ kind: 'lost', ran: 'unknown' });
    await opened[0]?.close();
    await lost;
    await Promise.all([call('a'), call('b')]);
    expect(opened).toHaveLength(2);
    await connection.close();
    await expect(call('a')).rejects.toMatchObject({ kind: 'closed', ran: 'no' });
  });

  it('that is closed while it is made gives up at once', async () => {
    const connection = new Connection({
      serverName: 'x',
      clientInfo: { name: 'test', version: '1' },
      connectTimeoutMs: 60_000,
      requestTimeoutMs: 60_000,
      onRenewed: () => undefined,
      onListChanged: () => undefined,
      onRefused: () => undefined,
      open: async () => ({ transport: new WatchedTransport(InMemoryTransport.createLinkedPair()[0], 'x') }),
    });
    const connecting = expect(connection.connect()).rejects.toMatchObject({ kind: 'closed' });
    await new Promise((resolve) => setTimeout(resolve, 20));
    await connection.close();
    await connecting;
  });
});

it('a failure is retryable only where it certainly did not run, or where it may run twice', () => {
  const kinds: readonly FailureKind[] = [
    'unreachable',
    'expired',
    'busy',
    'lost',
    'timeout',
    'aborted',
    'unauthorized',
    'refused',
    'closed',
    'too-large',
    'unreadable',
  ];
  const retryable = (isRepeatable: boolean) =>
    kinds.filter((kind) => toToolError(new RequestFailure(kind, 'It failed.'), isRepeatable).retryable);
  expect(retryable(false)).toEqual(['unreachable', 'expired', 'busy']);
  expect(retryable(true)).toEqual(['unreachable', 'expired', 'busy', 'lost', 'timeout']);
  expect(toToolError(new RequestFailure('lost', 'It failed.'), false).message).toContain('may have happened');
});
