// One order and one message about it, although a process is killed after the order is in the database, and another after the message was
// sent. Needs PostgreSQL: DATABASE_URL=postgresql://user:password@127.0.0.1:5432/test node examples/dist/outbox/main.js
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { assertCompleted, resume, run } from '@guardloop/core';
import { postgresStore } from '@guardloop/store-postgres';
import pg from 'pg';
import { createTables, orderAgent, relayOne } from './orders.js';

const connectionString = process.env.DATABASE_URL;
const [role = 'all', address = ''] = process.argv.slice(2);
const dies = (): void => void process.kill(process.pid, 'SIGKILL');

/** A process of its own, which is killed, or ends. */
async function startProcess(...parameters: readonly string[]): Promise<'killed' | 'ended'> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), ...parameters], { stdio: 'inherit' });
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  assert.ok(signal === 'SIGKILL' || code === 0, `${parameters[0]} ended with ${code ?? signal}`);
  return signal === 'SIGKILL' ? 'killed' : 'ended';
}

async function work(): Promise<void> {
  const pool = new pg.Pool({ connectionString });
  const store = postgresStore({ pool });
  const session = { store, id: 'chat-1' };
  if (role === 'order') {
    await run(orderAgent(pool, dies), 'A lamp, please.', { session });
  } else if (role === 'resume') {
    const result = await resume(
      orderAgent(pool, () => undefined),
      session,
    );
    assertCompleted(result);
    console.log(`The run goes on elsewhere and answers: ${result.output}`);
  } else {
    const send = async (key: string, body: string): Promise<void> => {
      await fetch(address, { method: 'POST', headers: { 'idempotency-key': key }, body });
      if (role === 'relay-that-dies') dies();
    };
    while (await relayOne(pool, send));
  }
  await store.close();
  await pool.end();
}

async function all(): Promise<void> {
  const pool = new pg.Pool({ connectionString });
  await pool.query('drop table if exists orders, outbox');
  await createTables(pool);
  await postgresStore({ pool }).sessions.delete('chat-1');

  const seen = new Set<string>();
  let deliveries = 0;
  const receiver = createServer((request, response) => {
    deliveries += 1;
    seen.add(String(request.headers['idempotency-key']));
    request.resume();
    response.end();
  });
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;

  assert.equal(await startProcess('order'), 'killed');
  console.log('Killed: the order is in the database, and nobody knows its result.');
  assert.equal(await startProcess('resume'), 'ended');
  assert.equal(await startProcess('relay-that-dies', url), 'killed');
  console.log('Killed: the message is sent, and not marked.');
  assert.equal(await startProcess('relay', url), 'ended');

  const { rows } = await pool.query<{ orders: number; sent: number }>(
    'select (select count(*)::int from orders) as orders, (select count(*)::int from outbox where sent_at is not null) as sent',
  );
  console.log(`Orders: ${rows[0]?.orders}. Messages marked as sent: ${rows[0]?.sent}. Deliveries: ${deliveries}, for ${seen.size} key.`);
  assert.deepEqual([rows[0], deliveries, seen.size], [{ orders: 1, sent: 1 }, 2, 1]);
  receiver.close();
  await pool.end();
}

if (connectionString === undefined) {
  console.log('NOT RUN: this example needs PostgreSQL. Set DATABASE_URL to a database that it may write to.');
} else await (role === 'all' ? all() : work());
