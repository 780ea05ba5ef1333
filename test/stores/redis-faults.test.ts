import type { Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import type { LogEvent } from '@guardloop/core';
import { defineAgent, defineTool, GuardloopError, resume, run } from '@guardloop/core';
import type { Store } from '@guardloop/store';
import type { RedisStoreOptions } from '@guardloop/store-redis';
import { redisStore } from '@guardloop/store-redis';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { Cluster, Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { RedisServer } from '../servers/redis.js';
import { redisMissing, skipsRedis, startRedis } from '../servers/redis.js';

const event = (seq: number, text = 'x'): LogEvent => ({
  type: 'input.accept',
  seq,
  at: seq,
  run: 'r1',
  agent: 'desk',
  subject: 'r1/input',
  revision: 0,
  items: [
    { role: 'user', id: `r1/i${seq}`, via: 'user', parts: [{ type: 'text', text }], label: { origin: 'user', integrity: 'trusted' } },
  ],
});

async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (!(await holds())) {
    if (Date.now() > deadline) expect.fail(`waited for 30 seconds, and this did not come to hold: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const failureOf = async (work: Promise<unknown>): Promise<GuardloopError> => {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return GuardloopError.is(error) ? error : expect.fail(`no GuardloopError but ${String(error)}`);
};

const opened: Store[] = [];
const open = (options: RedisStoreOptions): Store => {
  const store = redisStore(options);
  opened.push(store);
  return store;
};
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

let prefixes = 0;
const newPrefix = (): string => {
  prefixes += 1;
  return `faults-${prefixes}`;
};

const ask = defineTool({
  name: 'ask',
  description: 'Ask.',
  input: { type: 'object', properties: {} } as const,
  approval: true,
  execute: () => 'asked',
});
const asking = () => defineAgent({ name: 'desk', instructions: '', model: scriptedModel([callTool('ask'), say('Asked.')]), tools: [ask] });
const counting = () => {
  const find = defineTool({
    name: 'find',
    description: 'Find.',
    input: { type: 'object', properties: {} } as const,
    flow: { effect: 'read' },
    execute: () => 'found',
  });
  return defineAgent({
    name: 'finder',
    instructions: '',
    model: scriptedModel([callTool('find'), callTool('find'), say('Done.')]),
    tools: [find],
  });
};

describe.skipIf(skipsRedis)(redisMissing ?? 'Redis and its faults', () => {
  let server: RedisServer;
  let admin: Redis;
  beforeAll(async () => {
    server = await startRedis({ isDurable: true });
    admin = new Redis(server.url, { maxRetriesPerRequest: null });
    admin.on('error', () => undefined);
  }, 60_000);
  afterAll(async () => {
    admin?.disconnect();
    await server?.remove();
  });

  it('S218: gives all keys of a session one hash tag and one end, which each write puts off', async () => {
    const prefix = newPrefix();
    const store = open({ url: server.url, prefix, ttlMs: 3_600_000 });
    await store.runs.create({
      id: 'r',
      session: 'chat',
      agent: 'a',
      queue: 'q',
      priority: 1,
      dueAt: 0,
      submission: 'x'.repeat(20_000),
      abandons: false,
    });
    await run(asking(), 'Ask.', { session: { store, id: 'chat' } });
    await store.live.put('chat', { seq: 1, run: 'r', agent: 'a', turn: 1, text: 'Hel', epoch: 0 });
    const keys = await admin.keys(`*${prefix}*`);
    for (const key of keys) expect(key.startsWith(`{${prefix}}:`)).toBe(true);
    const ends = async () => {
      const contents = (await admin.keys(`{${prefix}}:*:chat`)).filter((key) => !key.includes(':ids:'));
      return Promise.all(contents.map(async (key) => `${await admin.call('PEXPIRETIME', key)}`));
    };
    const runEnds = async () => Number(await admin.call('PEXPIRETIME', `{${prefix}}:run:r`));
    const first = await ends();
    expect(first.length).toBeGreaterThanOrEqual(6);
    expect(new Set(first).size).toBe(1);
    expect(Number(first[0])).toBe((await store.sessions.get('chat'))?.expiresAt);
    await until(async () => (await store.now()) > (await store.sessions.get('chat').then((record) => record?.updatedAt ?? 0)));
    const events = (await store.load('chat')).length;
    await store.append('chat', [event(events + 1)], events);
    const second = await ends();
    expect(new Set(second).size).toBe(1);
    expect(Number(second[0])).toBeGreaterThan(Number(first[0]));
    // Its runs may go a little later, and are none without it.
    expect(await runEnds()).toBeGreaterThanOrEqual(Number(second[0]));
  });

  it('S218: refuses a session of which a part is gone, and never takes it for an empty one', async () => {
    const prefix = newPrefix();
    const store = open({ url: server.url, prefix });
    const agent = asking();
    const paused = await run(agent, 'Ask.', { session: { store, id: 'chat' } });
    const last = paused.log.events.length;
    await admin.del(`{${prefix}}:log:chat`);
    for (const failing of [store.load('chat'), store.append('chat', [event(last + 1)], last)]) {
      const error = await failureOf(failing);
      expect([error.code, error.isRetryable]).toEqual(['STORE_FAILED', false]);
      expect(error.message).toMatch(/is not whole/);
    }
    const error = await failureOf(resume(agent, { store, id: 'chat' }).result);
    expect(error.code).toBe('STORE_FAILED');
  });

  it('S218: tells who comes back to a paused run that its session has expired', async () => {
    const store = open({ url: server.url, prefix: newPrefix(), ttlMs: 400 });
    const agent = asking();
    const paused = await run(agent, 'Ask.', { session: { store, id: 'chat' } });
    expect(paused.status).toBe('interrupted');
    await until(async () => (await store.load('chat')).length === 0);
    const decisions = { [`${paused.runId}/p1`]: 'approve' } as const;
    expect((await failureOf(resume(agent, { store, id: 'chat' }, { decisions }).result)).code).toBe('RESUME_MISMATCH');
    expect(await store.approvals.decide(`${paused.runId}/p1`, 'approve')).toEqual({ status: 'unknown' });
  });

  it('S218: rejects an append whose answer was lost, sends nothing twice, and the run finds its own events', async () => {
    const proxy = await startProxy(server.port);
    const store = open({ url: proxy.url, prefix: newPrefix() });
    await store.append('one', [event(1)], 0);
    proxy.loseReply();
    const error = await failureOf(store.append('one', [event(2)], 1));
    expect([error.code, error.isRetryable]).toEqual(['STORE_FAILED', true]);
    expect(error.message).toMatch(/nobody knows whether it was done/);
    expect(await store.load('one')).toHaveLength(2);

    let ends = 0;
    const dropping: Store = {
      ...store,
      append: (id, events, afterSeq) => {
        if (events.some(({ type }) => type === 'tool.end')) {
          ends += 1;
          proxy.loseReply();
        }
        return store.append(id, events, afterSeq);
      },
    };
    const done = await run(counting(), 'Find.', { session: { store: dropping, id: 'chat' } });
    expect(ends).toBeGreaterThan(0);
    expect([done.status, auditLog(done.log)]).toEqual(['completed', []]);
    expect((await store.load('chat')).map(({ seq }) => seq)).toEqual(done.log.events.map(({ seq }) => seq));
    await proxy.close();
  });

  it('goes on after the server was killed and started again, with all that was acknowledged', async () => {
    const own = await startRedis({ isDurable: true });
    try {
      const store = open({ url: own.url, prefix: 'kept', patienceMs: 20_000 });
      const paused = await run(asking(), 'Ask.', { session: { store, id: 'chat' } });
      let told = 0;
      store.watch('chat', () => {
        told += 1;
      });
      await until(() => told > 0);
      const before = told;
      await own.kill();
      const loading = store.load('chat');
      await own.start();
      expect(await loading).toEqual(paused.log.events);
      await until(() => told > before);
      const [approval] = (await store.approvals.list()).items;
      const done = await resume(asking(), { store, id: 'chat' }, { decisions: { [approval?.id ?? '']: 'approve' } });
      expect([done.status, auditLog(done.log)]).toEqual(['completed', []]);
      const after = told;
      await store.append('chat', [event(done.log.events.length + 1)], done.log.events.length);
      await until(() => told > after);
    } finally {
      await own.remove();
    }
  }, 60_000);

  it('rejects within its patience where nobody answers, and says that nothing was sent', async () => {
    const own = await startRedis();
    await own.remove();
    const store = open({ url: own.url, prefix: 'gone', patienceMs: 200 });
    const error = await failureOf(store.append('chat', [event(1)], 0));
    expect([error.code, error.isRetryable]).toEqual(['STORE_FAILED', true]);
    expect(error.message).toMatch(/could not be reached within 200 ms; nothing was sent/);
  });

  it('waits for a server that is frozen, and has done all once when it wakes', async () => {
    const own = await startRedis();
    try {
      const store = open({ url: own.url, prefix: 'frozen' });
      await store.append('chat', [event(1)], 0);
      own.freeze();
      let isDone = false;
      const appending = store.append('chat', [event(2)], 1).then(() => {
        isDone = true;
      });
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(isDone).toBe(false);
      own.thaw();
      await appending;
      expect(await store.load('chat')).toHaveLength(2);
    } finally {
      await own.remove();
    }
  });

  it('stores nothing where memory is full, deletes all the same, and goes on', async () => {
    const own = await startRedis({ settings: { maxmemory: '8mb', 'maxmemory-policy': 'noeviction' } });
    try {
      const store = open({ url: own.url, prefix: 'full' });
      const text = 'words of a person '.repeat(20_000);
      let seq = 0;
      let error: GuardloopError | undefined;
      while (error === undefined && seq < 200) {
        const appending = store.append('chat', [event(seq + 1, `${seq} ${text}`)], seq);
        error = await appending.then(
          () => undefined,
          (thrown: GuardloopError) => thrown,
        );
        if (error === undefined) seq += 1;
      }
      expect([error?.code, error?.isRetryable]).toEqual(['STORE_FAILED', true]);
      expect(error?.message).toMatch(/no memory left/);
      expect(JSON.stringify([error, error?.message, error?.cause])).not.toContain('words of a person');
      expect(await store.load('chat')).toHaveLength(seq);
      expect(await store.sessions.get('chat')).toMatchObject({ events: seq });
      expect(await store.sessions.delete('chat')).toBe(true);
      await store.append('chat', [event(1)], 0);
    } finally {
      await own.remove();
    }
  }, 60_000);

  it('warns of settings that lose data, once, and of none where there are none', async () => {
    const own = await startRedis({ settings: { appendonly: 'no', 'maxmemory-policy': 'allkeys-lru' } });
    try {
      for (const [url, expected] of [[own.url, [/noeviction/, /appendonly yes/]] as const, [server.url, []] as const]) {
        const warnings: string[] = [];
        const store = open({ url, prefix: newPrefix(), onWarning: (message) => warnings.push(message) });
        await Promise.all([store.load('a'), store.load('b')]);
        await store.append('a', [event(1)], 0);
        expect(warnings).toHaveLength(expected.length);
        for (const [index, pattern] of expected.entries()) expect(warnings[index]).toMatch(pattern);
      }
    } finally {
      await own.remove();
    }
  });

  it('tells nothing of a content where the server refuses a command', async () => {
    const prefix = newPrefix();
    const store = open({ url: server.url, prefix });
    await admin.set(`{${prefix}}:session:chat`, 'no hash');
    const error = await failureOf(store.append('chat', [event(1, 'words of a person')], 0));
    expect(error.code).toBe('STORE_FAILED');
    expect(JSON.stringify([error, error.message, error.cause, error.details])).not.toContain('words of a person');
  });

  it('leaves keys of a newer release as they are', async () => {
    const prefix = newPrefix();
    await admin.set(`{${prefix}}:version`, '2');
    const error = await failureOf(open({ url: server.url, prefix }).append('chat', [event(1)], 0));
    expect([error.code, error.isRetryable]).toEqual(['STORE_FAILED', false]);
    expect(error.message).toMatch(/newer release/);
    expect(await admin.keys(`{${prefix}}*`)).toEqual([`{${prefix}}:version`]);
  });

  it('takes a client of the user, and leaves it open', async () => {
    const client = new Redis(server.url);
    const store = redisStore({ client, prefix: newPrefix() });
    await store.append('chat', [event(1)], 0);
    await store.close();
    expect(await client.ping()).toBe('PONG');
    client.disconnect();
  });

  it('S125: of two runs at once on one session one goes and one is told, or they go in turn, whatever store they use', async () => {
    const prefix = newPrefix();
    const [first, second] = [open({ url: server.url, prefix }), open({ url: server.url, prefix })];
    const both = await Promise.allSettled([
      run(counting(), 'A', { session: { store: first, id: 'told' } }),
      run(counting(), 'B', { session: { store: second, id: 'told' } }),
    ]);
    const told = both.filter((outcome) => outcome.status === 'rejected');
    expect(told.length).toBeLessThanOrEqual(1);
    for (const { reason } of told) expect(['LOG_CONFLICT', 'RESUME_MISMATCH']).toContain((reason as GuardloopError).code);
    const inTurn = await Promise.all(
      [first, second].map((store) => run(counting(), 'C', { session: { store, id: 'turn', onConflict: 'queue' } })),
    );
    expect(inTurn.map(({ status }) => status)).toEqual(['completed', 'completed']);
    for (const id of ['told', 'turn']) expect(auditLog({ version: 1, events: await first.load(id) })).toEqual([]);
  });

  it('S126: twenty runs at once on a new database all end', async () => {
    const prefix = newPrefix();
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        run(counting(), 'Find.', { session: { store: open({ url: server.url, prefix }), id: `chat ${index}` } }),
      ),
    );
    for (const result of results) expect([result.status, auditLog(result.log)]).toEqual(['completed', []]);
    expect((await (opened[0] as Store).sessions.list()).items).toHaveLength(20);
  });
});

describe('redisStore', () => {
  it('refuses a client of a cluster, and says why', () => {
    const client = new Cluster([], { lazyConnect: true });
    expect(() => redisStore({ client } as never)).toThrow(/client of a Redis Cluster.*one hash slot.*several stores/);
    client.disconnect();
  });

  it.skipIf(skipsRedis)('says why where the address is that of a node which does not hold its slot', async () => {
    const server = await startRedis({ settings: { 'cluster-enabled': 'yes' } });
    const store = open({ url: server.url, patienceMs: 200 });
    try {
      await expect(store.append('s', [event(1, 'private')], 0)).rejects.toMatchObject({
        code: 'STORE_FAILED',
        isRetryable: false,
        message: expect.stringMatching(/node of a Redis Cluster.*CLUSTERDOWN.*one hash slot/),
      });
    } finally {
      await store.close();
      await server.remove();
    }
  });

  it('checks its options', () => {
    const wrong = [
      { uri: 'redis://x' },
      { url: 'http://x' },
      { url: 'redis://x', client: new Redis({ lazyConnect: true }) },
      { client: {} },
      { prefix: '{x}' },
      { prefix: '' },
      { ttlMs: 0 },
      { patienceMs: 0.5 },
      { onWarning: 'x' },
      { blobChars: 1 },
      { encryption: { keys: [] } },
    ];
    for (const options of wrong)
      expect(() => redisStore(options as never), JSON.stringify(Object.keys(options))).toThrow(
        expect.objectContaining({ code: 'CONFIG_INVALID' }),
      );
  });
});

/** Between a client and the server; loses the next reply, and the connection with it. */
async function startProxy(port: number): Promise<{ readonly url: string; loseReply(): void; close(): Promise<void> }> {
  let isLosing = false;
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    client.on('data', (data) => upstream.write(data));
    upstream.on('data', (data) => {
      if (!isLosing) {
        client.write(data);
        return;
      }
      isLosing = false;
      client.destroy();
      upstream.destroy();
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const address = proxy.address();
  return {
    url: `redis://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    loseReply() {
      isLosing = true;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
