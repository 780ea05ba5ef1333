import { defineAgent, defineTool, resume, run } from '@guardloop/core';
import { durableConformance } from '@guardloop/durable/conformance';
import { redisStore } from '@guardloop/store-redis';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { RedisServer } from '../servers/redis.js';
import { redisMissing, skipsRedis, startRedis } from '../servers/redis.js';

describe.skipIf(skipsRedis)(redisMissing ?? 'Redis', () => {
  let server: RedisServer;
  let harnesses = 0;
  beforeAll(async () => {
    server = await startRedis();
  }, 60_000);
  afterAll(() => server?.remove());

  durableConformance('the embedded engine over redisStore', () => {
    harnesses += 1;
    const prefix = `durable-${harnesses}`;
    return { openStore: () => redisStore({ url: server.url, prefix }) };
  });

  it('finds decisions that are to be taken up for what they cost, however many questions were answered before', async () => {
    const store = redisStore({ url: server.url, prefix: 'many' });
    const client = new Redis(server.url);
    onTestFinished(async () => {
      client.disconnect();
      await store.close();
    });
    const pay = defineTool({ name: 'pay', description: 'Pay.', input: z.object({}), approval: true, execute: () => 'paid' });
    const model = scriptedModel([callTool('pay'), say('Done.')]);
    const cashier = defineAgent({ name: 'cashier', instructions: '', model, tools: [pay] });
    const ask = async (id: string): Promise<string> => {
      const asked = await run(cashier, 'Pay', { session: { store, id } });
      return asked.status === 'interrupted' ? (asked.approvals[0]?.id ?? '') : '';
    };
    const waiting = await ask('waiting');
    await store.approvals.decide(waiting, 'approve');
    const commandsOf = async (work: () => Promise<unknown>): Promise<number> => {
      const count = async () => Number(/total_commands_processed:(\d+)/.exec(await client.info('stats'))?.[1]);
      const before = await count();
      await work();
      return (await count()) - before;
    };
    const list = async () => {
      const { items } = await store.approvals.list({ state: 'decided' });
      expect(items.map(({ id }) => id)).toEqual([waiting]);
    };
    const alone = await commandsOf(list);
    for (let answered = 0; answered < 40; answered += 1) {
      const id = `s${answered}`;
      const asked = await ask(id);
      await store.approvals.decide(asked, 'approve');
      await resume(cashier, { store, id }, { decisions: { [asked]: 'approve' } });
    }
    expect(await commandsOf(list)).toBeLessThanOrEqual(alone + 2);
  });

  it('writes to a session with a time to live for what they cost, however many runs it has had, all of which stay and go with it', async () => {
    const ttlMs = 3_600_000;
    const store = redisStore({ url: server.url, prefix: 'long', ttlMs });
    const client = new Redis(server.url);
    onTestFinished(async () => {
      client.disconnect();
      await store.close();
    });
    const submission = { input: 'hello' };
    const create = (id: string, session = 's') =>
      store.runs.create({ id, session, agent: 'desk', queue: 'default', priority: 0, abandons: false, submission, dueAt: 0 });
    const timesSet = async (work: () => Promise<unknown>): Promise<number> => {
      await client.config('RESETSTAT');
      await work();
      return Number(/cmdstat_pexpireat:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0);
    };
    let seq = 0;
    const append = async () => {
      seq += 1;
      await store.append('s', [{ type: 'run.end', status: 'completed', seq, at: seq, run: `r${seq}`, agent: 'desk' }], seq - 1);
    };
    await create('first');
    const alone = await timesSet(append);
    for (let index = 0; index < 200; index += 1) await create(`run-${index}`);
    expect(await timesSet(append)).toBe(alone);
    const [ends, runEnds] = await Promise.all([client.pttl('{long}:session:s'), client.pttl('{long}:run:run-7')]);
    expect(ends).toBeGreaterThan(ttlMs - 60_000);
    expect(runEnds).toBeGreaterThanOrEqual(ends);
    expect(runEnds).toBeLessThan(ttlMs * 1.2);
    // As at its end, before anybody has swept.
    for (const part of ['session', 'log', 'payloads', 'asked', 'live', 'runs', 'open']) await client.del(`{long}:${part}:s`);
    expect(await store.runs.get('run-7')).toBeUndefined();
    expect((await store.runs.list()).items).toEqual([]);
    expect(await store.runs.claim({ owner: 'w', leaseMs: 1_000, queues: [{ queue: 'default' }] })).toBeUndefined();
    expect(await create('run-7', 'anew')).toMatchObject({ created: true, run: { session: 'anew' } });
    expect((await store.runs.list()).items.map(({ id, session }) => [id, session])).toEqual([['run-7', 'anew']]);
    expect((await client.keys('{long}:run:*')).length).toBe(1);
  });

  it('a run keeps all that is told of it where an earlier one of its id went with another session, also once that is swept', async () => {
    const brief = redisStore({ url: server.url, prefix: 'again', ttlMs: 100 });
    const store = redisStore({ url: server.url, prefix: 'again' });
    const client = new Redis(server.url);
    onTestFinished(async () => {
      client.disconnect();
      await brief.close();
      await store.close();
    });
    const submission = { input: 'hello' };
    const made = { id: 'r', agent: 'desk', priority: 0, abandons: false, submission, dueAt: 0 };
    await brief.runs.create({ ...made, session: 'first', queue: 'q1', owner: 'anna', tenant: 'shop' });
    await expect.poll(() => client.exists('{again}:run:r'), { timeout: 20_000 }).toBe(0);
    expect(await store.runs.create({ ...made, session: 'second', queue: 'q2', owner: 'berta', tenant: 'shop' })).toMatchObject({
      created: true,
    });
    expect(await store.sweep()).toBe(1);
    expect(await store.runs.get('r')).toMatchObject({ session: 'second', owner: 'berta' });
    for (const query of [{}, { owner: 'berta' }, { tenant: 'shop' }, { state: 'queued' as const }])
      expect((await store.runs.list(query)).items.map(({ id }) => id)).toEqual(['r']);
    expect(await client.exists('{again}:allruns:o:anna')).toBe(0);
    expect(await store.runs.claim({ owner: 'w', leaseMs: 1_000, queues: [{ queue: 'q2' }] })).toMatchObject({ id: 'r' });
    await store.sessions.delete('second');
    expect((await client.keys('{again}:*')).filter((key) => /run|ids/.test(key))).toEqual([]);
  });
});
