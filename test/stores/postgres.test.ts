// What only PostgreSQL does: connections that are lost, notifications, the server's clock, many processes.
import { defineAgent, defineTool, run } from '@guardloop/core';
import type { Store } from '@guardloop/store';
import type { PostgresStoreOptions } from '@guardloop/store-postgres';
import { postgresStore } from '@guardloop/store-postgres';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { Pool } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { PostgresServer } from '../servers/postgres.js';
import { postgresMissing, skipsPostgres, startPostgres } from '../servers/postgres.js';
import { endChildren, startChild } from './processes.js';
import { caller, expectRefusals, expectWholeRuns, failureOf, inputEvent, speaker, until } from './sessions.js';

interface Outcome {
  readonly status: string;
  readonly code?: string;
}

describe.skipIf(skipsPostgres)(postgresMissing ?? 'postgresStore', () => {
  let server: PostgresServer;
  const opened: Store[] = [];
  let schemas = 0;
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterEach(async () => {
    endChildren();
    for (const store of opened.splice(0)) await store.close();
  });
  afterAll(() => server?.remove());

  const newSchema = (): string => {
    schemas += 1;
    return `schema_${schemas}`;
  };
  function open(options: Partial<Extract<PostgresStoreOptions, { readonly connectionString: string }>> = {}): Store {
    const store = postgresStore({ connectionString: server.connectionString, pollMs: 50, ...options });
    opened.push(store);
    return store;
  }

  describe('options', () => {
    it.each([
      [{}, 'either `connectionString` or `pool`'],
      [{ connectionString: 'postgresql://x', pool: {} }, 'either `connectionString` or `pool`'],
      [{ connectionString: 'mysql://x' }, 'must begin with postgresql://'],
      [{ pool: {} }, '`pool` is no Pool of pg'],
      [{ connectionString: 'postgresql://x', schema: 'a"b' }, '`schema` must be a name'],
      [{ connectionString: 'postgresql://x', shema: 'a' }, 'Did you mean schema?'],
      [{ connectionString: 'postgresql://x', connections: 0 }, 'connections must be a whole number'],
      [{ connectionString: 'postgresql://x', prepared: 1 }, '`prepared` must be true or false'],
    ])('refuses %j', (options, message) => {
      expect(() => postgresStore(options as unknown as PostgresStoreOptions)).toThrow(
        expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) }),
      );
    });
  });

  describe('connections', () => {
    it('tells an unreachable server after its patience, without what was to be stored', async () => {
      const store = open({ connectionString: 'postgresql://postgres:secret@127.0.0.1:1/none', patienceMs: 100 });
      const failure = await failureOf(store.append('s', [inputEvent(1, 'private')], 0));
      expect(failure).toMatchObject({
        code: 'STORE_FAILED',
        isRetryable: true,
        message: expect.stringContaining('could not be reached for 100 ms'),
      });
      expect(JSON.stringify([failure, String(failure)])).not.toMatch(/private|secret/);
    });

    it('tells a database that is not there at once', async () => {
      const store = open({ connectionString: `${server.connectionString}_missing` });
      expect(await failureOf(store.load('s'))).toMatchObject({
        code: 'STORE_FAILED',
        isRetryable: false,
        message: expect.stringContaining('refused the connection'),
      });
    });

    it('uses a pool that it is given, by any of its ways, and leaves it open', async () => {
      const pool = new Pool({ connectionString: server.socketConnectionString, max: 2 });
      const schema = newSchema();
      const store = postgresStore({ pool, schema, prepared: false });
      await Promise.all(Array.from({ length: 10 }, (_, index) => run(caller('x'), 'x', { session: { store, id: `s${index}` } })));
      await store.close();
      const { rows } = await pool.query(`select count(*)::int as count from ${schema}.sessions where status = 'completed'`);
      expect(rows).toEqual([{ count: 10 }]);
      expect(pool.listenerCount('error')).toBe(0);
      await pool.end();
    });

    it('goes on when every connection was ended by the server, idle ones too', async () => {
      const [store, other] = [open(), open()];
      const session = 'ended-connections';
      let told = 0;
      other.watch(session, () => {
        told += 1;
      });
      await store.append(session, [inputEvent(1)], 0);
      await until(() => told > 0);
      for (let seq = 2; seq <= 5; seq += 1) {
        server.sql(
          "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'",
        );
        // An outcome that is not known is told; the tail says what was stored.
        const failure = await failureOf(store.append(session, [inputEvent(seq)], seq - 1));
        if (failure !== undefined) {
          expect(failure).toMatchObject({ code: 'STORE_FAILED', isRetryable: true });
          if ((await store.load(session, seq - 1)).length === 0) await store.append(session, [inputEvent(seq)], seq - 1);
        }
      }
      expect(await other.load(session)).toHaveLength(5);
      const before = told;
      await store.append(session, [inputEvent(6)], 5);
      await until(() => told > before);
    }, 60_000);
  });

  describe('a server that is stopped at once', () => {
    it('loses no batch that was stored, and stores none in part; the store comes back by itself', async () => {
      const store = open({ schema: newSchema(), connections: 4 });
      const stored = new Map<string, number>();
      const open4 = Array.from({ length: 4 }, (_, index) => `s${index}`);
      await Promise.all(open4.map((id) => store.append(id, [inputEvent(1), inputEvent(2)], 0)));
      let isStopped = false;
      const writing = open4.map(async (id) => {
        let last = 2;
        while (!isStopped) {
          const failure = await failureOf(store.append(id, [inputEvent(last + 1), inputEvent(last + 2)], last));
          if (failure === undefined) last += 2;
          else {
            expect(failure).toMatchObject({ code: 'STORE_FAILED', isRetryable: true });
            break;
          }
        }
        stored.set(id, last);
      });
      await new Promise((resolve) => setTimeout(resolve, 100));
      await server.stop('immediate');
      await new Promise((resolve) => setTimeout(resolve, 300));
      await server.start();
      isStopped = true;
      await Promise.all(writing);
      for (const [id, last] of stored) {
        const events = await store.load(id);
        expect([last, last + 2]).toContain(events.length);
        expect(await store.sessions.get(id)).toMatchObject({ events: events.length });
        await store.append(id, [inputEvent(events.length + 1)], events.length);
      }
    }, 60_000);

    it('lets runs that are under way go on to their end, with every effect once, when it is back in time', async () => {
      const store = open({ schema: newSchema() });
      const effects: string[] = [];
      const f = defineTool({
        name: 'f',
        description: 'F.',
        input: z.object({ step: z.number() }),
        execute: ({ step }, { idempotencyKey }) => {
          effects.push(idempotencyKey);
          return `done ${step}`;
        },
      });
      const model = scriptedModel(async (request) => {
        const done = request.messages.filter(({ role }) => role === 'tool').length;
        await new Promise((resolve) => setTimeout(resolve, 20));
        return done < 15 ? callTool('f', { step: done }) : say('ok');
      });
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [f] });
      const running = Array.from({ length: 6 }, (_, index) =>
        run(agent, 'x', { session: { store, id: `r${index}` }, limits: { turns: 20 } }),
      );
      await until(() => effects.length > 20);
      await server.stop('immediate');
      await new Promise((resolve) => setTimeout(resolve, 200));
      await server.start();
      const results = await Promise.all(running);
      expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['completed']));
      expect(effects).toHaveLength(6 * 15);
      expect(new Set(effects).size).toBe(effects.length);
      for (const [index, { log }] of results.entries()) {
        expect(await store.load(`r${index}`)).toEqual(log.events);
        expect(auditLog(log)).toEqual([]);
      }
    }, 60_000);
  });

  describe('watching', () => {
    it('is told by notifications, which name the session', async () => {
      const schema = newSchema();
      const [one, two] = [open({ schema, pollMs: 3_600_000 }), open({ schema, pollMs: 3_600_000 })];
      const told: unknown[] = [];
      two.watch(undefined, (session) => told.push(session));
      // Until it listens, nothing is promised but that looks come; what comes first says that anything may have changed.
      await until(() => told.includes(undefined));
      await one.append('s', [inputEvent(1)], 0);
      await until(() => told.includes('s'));
      const odd = `${'ü'.repeat(490)}\u0000\ud800`;
      await one.append(odd, [inputEvent(1)], 0);
      await until(() => told.includes(odd));
    });

    it('listens again when its connection is lost, and looks meanwhile', async () => {
      const schema = newSchema();
      const [one, two] = [open({ schema, pollMs: 20 }), open({ schema, pollMs: 20 })];
      let told = 0;
      two.watch('s', () => {
        told += 1;
      });
      for (let seq = 1; seq <= 3; seq += 1) {
        await until(() => server.sql("select count(*) from pg_stat_activity where query like 'listen %'").trim() !== '0');
        const before = told;
        await one.append('s', [inputEvent(seq)], seq - 1);
        await until(() => told > before);
        server.sql("select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen %'");
      }
    });
  });

  describe('the clock', () => {
    it("is the server's: leases and times do not follow this machine", async () => {
      const store = open({ schema: newSchema() });
      vi.useFakeTimers({ toFake: ['Date'], now: 1_000 });
      try {
        expect(await store.now()).toBeGreaterThan(1_700_000_000_000);
        await store.runs.create({
          id: 'r',
          session: 's',
          agent: 'a',
          queue: 'q',
          priority: 1,
          dueAt: 0,
          submission: null,
          abandons: false,
        });
        const claimed = await store.runs.claim({ owner: 'w', leaseMs: 3_600_000, queues: [{ queue: 'q' }] });
        expect(claimed?.lease?.until).toBeGreaterThan(1_700_000_000_000);
        vi.setSystemTime(9_000_000_000_000);
        expect(await store.runs.claim({ owner: 'v', leaseMs: 1_000, queues: [{ queue: 'q' }] })).toBeUndefined();
      } finally {
        vi.useRealTimers();
      }
    });
  });

  describe('S125: runs on one session at once', () => {
    it('S125: in one process and in several one enters, or they queue; no event is lost or mixed', async () => {
      const schema = newSchema();
      const options = { connectionString: server.connectionString, schema };
      const store = open({ schema });
      const settled = await Promise.allSettled(['A', 'B'].map((text) => run(caller(text), text, { session: { store, id: 'one' } })));
      const entered = expectRefusals(
        settled.map((each): Outcome => (each.status === 'fulfilled' ? each.value : { status: 'rejected', code: each.reason.code })),
      );
      expectWholeRuns(await store.load('one'), entered);
      const started = await Promise.all([
        ...['A', 'B', 'C'].map((text) => startChild({ kind: 'run', postgres: options, session: 'several', text })),
        ...['D', 'E', 'F'].map((text) =>
          startChild({ kind: 'run', postgres: options, session: 'queued', text, sessionOptions: { onConflict: 'queue' } }),
        ),
      ]);
      for (const child of started) child.go();
      const outcomes = (await Promise.all(started.map((child) => child.next()))) as readonly Outcome[];
      const completed = expectRefusals(outcomes.slice(0, 3));
      expect(outcomes.slice(3).map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
      expectWholeRuns(await store.load('several'), completed);
      expectWholeRuns(await store.load('queued'), 3);
    }, 60_000);

    it('S126: processes that begin on a database without tables all make a run of theirs', async () => {
      const schema = newSchema();
      const options = { connectionString: server.connectionString, schema };
      const started = await Promise.all(
        Array.from({ length: 6 }, (_, index) => startChild({ kind: 'run', postgres: options, session: `s${index}`, text: `${index}` })),
      );
      for (const child of started) child.go();
      const outcomes = await Promise.all(started.map((child) => child.next()));
      expect(outcomes).toEqual(Array.from({ length: 6 }, () => ({ status: 'completed' })));
      const records = await open({ schema }).sessions.list();
      expect(records.items.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 'completed'));
    }, 60_000);

    it('S126: twenty runs at once on two connections, while another holds a lock on the tables, all succeed', async () => {
      const schema = newSchema();
      const store = open({ schema, connections: 2 });
      await store.now();
      const holder = new Pool({ connectionString: server.connectionString, max: 1 });
      const client = await holder.connect();
      await client.query(`begin; lock table ${schema}.sessions in access exclusive mode`);
      const running = Array.from({ length: 20 }, (_, index) => run(speaker(), 'x', { session: { store, id: `s${index}` } }));
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      await client.query('commit');
      const results = await Promise.all(running);
      expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['completed']));
      for (const [index, { log }] of results.entries()) expect(await store.load(`s${index}`)).toEqual(log.events);
      client.release();
      await holder.end();
    }, 60_000);
  });
});
