import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, GuardloopError } from '@guardloop/core';
import { say, scriptedModel } from '@guardloop/testing';

const folder = mkdtempSync(join(tmpdir(), 'guardloop-docs-'));
const file = join(folder, 'guardloop.db');
const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel(() => say('Your card 4111 is fine.')) });

// #region sqlite
import { run } from '@guardloop/core';
import { sqliteStore } from '@guardloop/store-sqlite';

const store = sqliteStore({ file }); // a path; made if it is not there
const answer = await run(desk, 'How is my card?', { session: { store, id: 'chat-1' } });
// #endregion
assert.equal(answer.status, 'completed');

// #region servers
import { postgresStore } from '@guardloop/store-postgres';
import { redisStore } from '@guardloop/store-redis';

const onPostgres = () => postgresStore({ connectionString: process.env.DATABASE_URL ?? '' });
const onRedis = () => redisStore({ url: process.env.REDIS_URL, ttlMs: 24 * 60 * 60_000 });
// #endregion
assert.equal(typeof onPostgres, 'function');
await onRedis().close();

// #region records
const { created } = await store.sessions.create('chat-2', { owner: 'anna', tenant: 'shop', ttlMs: 7 * 24 * 60 * 60_000 });
await run(desk, 'Hello.', { session: { store, id: 'chat-2' } });

const page = await store.sessions.list({ owner: 'anna', status: 'completed', limit: 20 });
const next = page.next === undefined ? undefined : await store.sessions.list({ owner: 'anna', limit: 20, after: page.next });
const [record] = page.items; // id, events, run, agent, status, createdAt, updatedAt, expiresAt
// #endregion
assert.equal(created, true);
assert.deepEqual([page.items.length, next, record?.id, record?.status], [1, undefined, 'chat-2', 'completed']);
assert.equal((record?.expiresAt ?? 0) - (record?.updatedAt ?? 0), 7 * 24 * 60 * 60_000);

// #region delete
const wasThere = await store.sessions.delete('chat-2'); // log, payloads, approvals, runs, live text: all of it
const swept = await store.sweep(); // what has expired; workers do it now and then
// #endregion
assert.deepEqual([wasThere, swept, await store.load('chat-2')], [true, 0, []]);

const [key, oldKey] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')];
const sealedFile = join(folder, 'sealed.db');
// #region encryption
const sealed = sqliteStore({
  file: sealedFile,
  encryption: {
    keys: [
      { id: '2026-11', key }, // writes, and reads what it wrote
      { id: '2026-05', key: oldKey }, // reads
    ],
  },
});
await run(desk, 'How is my card?', { session: { store: sealed, id: 'chat-1' } });
// #endregion
await sealed.close();
assert.doesNotMatch(readFileSync(sealedFile, 'latin1'), /4111|How is my card/);
assert.match(readFileSync(sealedFile, 'latin1'), /e:2026-11:/);
const locked = sqliteStore({ file: sealedFile });
await assert.rejects(locked.load('chat-1'), (error) => GuardloopError.is(error) && error.code === 'STORE_FAILED');
await locked.close();

// #region export
import { exportSession, importSession, memoryStore } from '@guardloop/store';

const shown = await exportSession(store, 'chat-1', {
  redact: { patterns: [/\b\d{4}\b/], leaveOut: ['reasoning', 'details'], text: (text) => text.replaceAll('Anna', 'a customer') },
});
const whole = await exportSession(store, 'chat-1');
const elsewhere = memoryStore();
if (whole) await importSession(elsewhere, whole);
// #endregion
assert.doesNotMatch(JSON.stringify(shown), /4111/);
assert.match(JSON.stringify(shown), /Your card \[redacted\] is fine/);
assert.ok((shown?.redacted?.texts ?? 0) > 0);
assert.match(JSON.stringify(await store.load('chat-1')), /4111/);
assert.deepEqual(await elsewhere.load('chat-1'), await store.load('chat-1'));

await store.close();
rmSync(folder, { recursive: true });
