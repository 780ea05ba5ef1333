// The tool of the example, and the relay that sends what it leaves in the outbox.
import { defineAgent, defineTool } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import type { Pool, PoolClient } from 'pg';
import { z } from 'zod';

export async function createTables(pool: Pool): Promise<void> {
  await pool.query('create table if not exists orders (key text primary key, item text not null)');
  await pool.query('create table if not exists outbox (key text primary key, body text not null, sent_at timestamptz)');
}

async function inTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

/** `afterCommit` stands for whatever may happen to a process there. */
export function orderAgent(pool: Pool, afterCommit: () => void) {
  // #region tool
  const placeOrder = defineTool({
    name: 'place_order',
    description: 'Orders an item.',
    input: z.object({ item: z.string() }),
    flow: { effect: 'write', authority: ['item'] },
    repeatable: true, // with the same key it finds its rows, and changes nothing
    execute: async ({ item }, { idempotencyKey: key }) => {
      await inTransaction(pool, async (client) => {
        await client.query('insert into orders (key, item) values ($1, $2) on conflict do nothing', [key, item]);
        await client.query('insert into outbox (key, body) values ($1, $2) on conflict do nothing', [key, JSON.stringify({ item })]);
      });
      afterCommit();
      return { ordered: item };
    },
  });
  // #endregion
  const model = scriptedModel([callTool('place_order', { item: 'lamp' }), say('Ordered.')]);
  return defineAgent({ name: 'clerk', instructions: 'Order what is asked for.', model, tools: [placeOrder] });
}

/** Sends one message of the outbox, at least once. False: there is none. `send` takes the key, by which the receiver drops doubles. */
export function relayOne(pool: Pool, send: (key: string, body: string) => Promise<void>): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ key: string; body: string }>(
      'select key, body from outbox where sent_at is null order by key limit 1 for update skip locked',
    );
    const [message] = rows;
    if (message === undefined) return false;
    await send(message.key, message.body);
    await client.query('update outbox set sent_at = now() where key = $1', [message.key]);
    return true;
  });
}
