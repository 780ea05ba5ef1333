// A client that loses its connection twice while an answer is being written, comes back with the number of the last event it saw, and sees
// every character once. Server, worker and SQLite file on this machine; no key, no network beyond it.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent } from '@guardloop/core';
import { durable } from '@guardloop/durable';
import type { ClientEvent } from '@guardloop/server';
import { anonymous, guardloopServer } from '@guardloop/server';
import { sqliteStore } from '@guardloop/store-sqlite';
import { auditLog, say, scriptedModel } from '@guardloop/testing';
import { serve } from '@hono/node-server';

const tale = Array.from({ length: 60 }, (_, index) => `Word ${index + 1} of the tale. `);
const model = scriptedModel([say(tale)], { delayMs: 15 }); // stands for yours, which takes its time too
const teller = defineAgent({ name: 'teller', instructions: 'Tell a tale.', model });

const folder = mkdtempSync(join(tmpdir(), 'guardloop-stream-'));
const store = sqliteStore({ file: join(folder, 'guardloop.db') });
const runs = durable({ store, agents: { teller } });
const worker = await runs.worker();
const server = serve({
  fetch: guardloopServer({ runs, agents: { teller: {} }, authenticate: anonymous() }).fetch,
  hostname: '127.0.0.1',
  port: 0,
});
await new Promise<void>((resolve) => server.once('listening', () => resolve()));
const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;

/** What a browser's EventSource does: reads, and remembers the last number. Hangs up after so many events. */
async function read(
  path: string,
  lastId: string | undefined,
  most: number,
): Promise<{ readonly events: ClientEvent[]; readonly lastId: string | undefined }> {
  const controller = new AbortController();
  const response = await fetch(`${address}${path}`, {
    headers: lastId === undefined ? {} : { 'last-event-id': lastId },
    signal: controller.signal,
  });
  const events: ClientEvent[] = [];
  let id = lastId;
  let rest = '';
  assert(response.body !== null);
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = `${rest}${text}`.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks.slice(0, most - events.length)) {
      const fields = new Map(block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]));
      id = fields.get('id') ?? id;
      const data = fields.get('data');
      if (data !== undefined) events.push(JSON.parse(data) as ClientEvent);
    }
    if (events.length >= most) break; // the connection is lost
  }
  controller.abort();
  return { events, lastId: id };
}

try {
  const started = await fetch(`${address}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': 'tale-1' },
    body: JSON.stringify({ agent: 'teller', input: 'Tell me a tale.' }),
  });
  const { id, session } = (await started.json()) as { readonly id: string; readonly session: string };

  let shown = '';
  let lastId: string | undefined;
  const pieces: number[] = [];
  for (const most of [4, 3, Number.POSITIVE_INFINITY]) {
    const got = await read(`/runs/${id}/events`, lastId, most);
    for (const event of got.events) {
      if (event.type === 'text.delta') shown += event.text;
      if (event.type === 'text.retract') shown = shown.slice(0, shown.length - event.chars);
      if (event.type === 'run.end') console.log(`ended: ${event.outcome.status}`);
    }
    lastId = got.lastId;
    pieces.push(shown.length);
    console.log(`seen: ${shown.length} characters, up to number ${lastId}`);
  }
  assert.equal(shown, tale.join(''));
  assert(pieces[0] !== undefined && pieces[0] < shown.length); // it was away while the answer was being written
  assert.deepEqual(auditLog({ version: 1, events: await store.load(session) }), []);
} finally {
  server.close();
  if ('closeAllConnections' in server) server.closeAllConnections();
  await worker.stop();
  await runs.close();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
}
