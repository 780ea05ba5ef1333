// The server in one place, workers in another, one database between them.
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, defineTool } from '@guardloop/core';
import { durable, durableClient } from '@guardloop/durable';
import { sqliteStore } from '@guardloop/store-sqlite';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { serve } from '@hono/node-server';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { readEvents, textOf } from '../test/scene.js';
import { guardloopServer } from './index.js';

const pay = defineTool({ name: 'pay', description: 'Pay.', input: z.object({}), approval: true, execute: () => 'paid' });
const words = Array.from({ length: 30 }, (_, index) => `word ${index} `);
const clerk = defineAgent({
  name: 'clerk',
  instructions: '',
  model: scriptedModel([callTool('pay', {}), say(words)], { delayMs: 5 }),
  tools: [pay],
});

it('a server that knows no agent starts, streams and decides runs of workers elsewhere', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'guardloop-server-'));
  const [front, back] = [sqliteStore({ file: join(folder, 'runs.db') }), sqliteStore({ file: join(folder, 'runs.db') })];
  const client = durableClient({ store: front });
  const runs = durable({ store: back, agents: { clerk } });
  const app = guardloopServer({ runs: client, agents: { clerk: {} }, authenticate: () => ({ user: 'anna' }) });
  const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 });
  try {
    await new Promise<void>((resolve) => server.once('listening', () => resolve()));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const post = (path: string, body: object) =>
      fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
    const stream = await post('/runs/stream', { agent: 'clerk', input: 'Pay.' });
    const reading = readEvents(stream);
    const worker = await runs.worker();
    const id = stream.headers.get('guardloop-run') ?? '';
    expect((await runs.result(id, { until: 'wait' })).status).toBe('interrupted');
    const { items } = await (await fetch(`${url}/approvals?run=${id}`)).json();
    const decided = await post(`/approvals/${items[0].id}/decision`, { decision: 'approve', digest: items[0].approval.digest });
    expect(decided.status).toBe(200);
    const events = await reading;
    expect(textOf(events)).toBe(words.join(''));
    expect(events.at(-1)?.data).toMatchObject({ type: 'run.end', outcome: { status: 'completed' } });
    const [session] = (await front.sessions.list()).items;
    expect(auditLog({ version: 1, events: await front.load(session?.id ?? '') })).toEqual([]);
    await worker.stop();
  } finally {
    server.close();
    if ('closeAllConnections' in server) server.closeAllConnections();
    await runs.close();
    await client.close();
    await front.close();
    await back.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
