import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LogEvent } from '@guardloop/core';
import { defineAgent, resume, run } from '@guardloop/core';
import type { Store } from '@guardloop/store';
import { auditLog, say, scriptedModel } from '@guardloop/testing';
import Database from 'libsql';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SqliteStoreOptions } from './index.js';
import { sqliteStore } from './index.js';

let folder = '';
let file = '';
const opened: Store[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'guardloop-sqlite-'));
  file = join(folder, 'store.db');
});
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
  rmSync(folder, { recursive: true, force: true });
});
function open(options: Partial<SqliteStoreOptions> = {}): Store {
  const store = sqliteStore({ file, pollMs: 10, ...options });
  opened.push(store);
  return store;
}

function input(seq: number, text: string): LogEvent {
  const label = { origin: 'user', integrity: 'trusted' } as const;
  const items = [{ role: 'user', id: `r/i${seq}`, via: 'user', parts: [{ type: 'text', text }], label }] as const;
  return { type: 'input.accept', seq, at: 1, run: 'r', agent: 'a', subject: 'r/input', revision: 0, items };
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

async function until(holds: () => boolean): Promise<void> {
  const deadline = Date.now() + 15_000;
  while (!holds()) {
    if (Date.now() > deadline) expect.fail(`this did not come to hold: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe('options', () => {
  it.each([
    [{}, '`file` is no path'],
    [{ file: ' ' }, '`file` is no path'],
    [{ file: 'libsql://somewhere' }, '`file` is no path'],
    [{ file: 'a\0b' }, '`file` is no path'],
    [{ file: 'x', pollMs: 2 ** 31 }, 'pollMs must be a whole number from 1 to 2147483647'],
    [{ file: 'x', synchronous: 'off' }, '`synchronous` must be'],
    [{ file: 'x', busyMS: 5 }, 'Did you mean busyMs?'],
    [{ file: 'x', busyMs: -1 }, 'busyMs must be a whole number'],
    [{ file: 'x', pollMs: 0 }, 'pollMs must be a whole number'],
    [{ file: 'x', maxBytes: 0.5 }, 'maxBytes must be a whole number'],
    [{ file: 'x', now: 5 }, '`now` is no function'],
    [{ file: 'x', ttlMs: 0 }, '`ttlMs` is no whole number'],
    [{ file: 'x', blobChars: 1 }, '`blobChars` is no whole number'],
  ])('refuses %j', (options, message) => {
    expect(() => sqliteStore(options as unknown as SqliteStoreOptions)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) }),
    );
  });

  it('makes no file before the first call', async () => {
    const store = open();
    expect(existsSync(file)).toBe(false);
    await store.now();
    expect(existsSync(file)).toBe(true);
  });
});

describe('the file', () => {
  it('is its user’s own', async () => {
    await open().append('s', [input(1, 'x')], 0);
    for (const name of ['store.db', 'store.db-wal', 'store.db-shm']) expect(statSync(join(folder, name)).mode & 0o077).toBe(0);
  });

  it('is told clearly where it cannot be opened or is none', async () => {
    const nowhere = open({ file: join(folder, 'missing', 'store.db') });
    expect(await failureOf(nowhere.load('s'))).toMatchObject({
      code: 'STORE_FAILED',
      isRetryable: false,
      message: expect.stringContaining('Its folder must be there'),
    });
    writeFileSync(file, 'This is a letter, and it is long enough to have a header, if it were a database. '.repeat(20));
    expect(await failureOf(open().load('s'))).toMatchObject({
      code: 'STORE_FAILED',
      isRetryable: false,
      message: expect.stringContaining('is no SQLite database'),
    });
  });

  it('can be opened once what was wrong is put right', async () => {
    writeFileSync(file, 'No database. '.repeat(100));
    const store = open();
    expect(await failureOf(store.load('s'))).toMatchObject({ code: 'STORE_FAILED' });
    rmSync(file);
    expect(await store.load('s')).toEqual([]);
  });

  it('keeps nothing of what was deleted', async () => {
    const store = open();
    await store.append('s', [input(1, 'a very private word')], 0);
    await store.append('t', [input(1, 'and a public one')], 0);
    await store.sessions.delete('s');
    await store.close();
    const connection = new Database(file);
    connection.pragma('wal_checkpoint(TRUNCATE)');
    connection.close();
    const bytes = readFileSync(file, 'latin1');
    expect([bytes.includes('and a public one'), bytes.includes('a very private word')]).toEqual([true, false]);
  });

  it('is not blocked by other work on it in this process', async () => {
    const one = open();
    const two = open({ busyMs: 9_999 });
    const stores = [one, two];
    await Promise.all(Array.from({ length: 40 }, (_, index) => stores[index % 2]?.append(`s${index}`, [input(1, 'x'), input(2, 'y')], 0)));
    expect((await two.sessions.list()).items).toHaveLength(40);
  });
});

describe('a disk that is full', () => {
  it('fails the append so that it can be tried again, stores nothing of it, and goes on once there is room', async () => {
    const small = open({ maxBytes: 300_000, blobChars: Number.POSITIVE_INFINITY });
    let last = 0;
    let failure: unknown;
    while (failure === undefined) {
      failure = await failureOf(small.append('s', [input(last + 1, 'x'.repeat(20_000)), input(last + 2, 'y'.repeat(20_000))], last));
      if (failure === undefined) last += 2;
    }
    expect(last).toBeGreaterThan(0);
    expect(failure).toMatchObject({ code: 'STORE_FAILED', isRetryable: true, message: expect.stringContaining('maxBytes, is full') });
    expect(await small.load('s')).toHaveLength(last);
    expect(await small.sessions.get('s')).toMatchObject({ events: last });
    const large = open();
    await large.append('s', [input(last + 1, 'x'.repeat(20_000))], last);
    expect(await small.load('s', last)).toHaveLength(1);
  });

  it('fails a run at its barrier, which is resumed to its end once there is room', async () => {
    const answers = { long: 'x'.repeat(400_000) };
    const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel(() => say(answers.long)) });
    const failed = await run(agent, 'x', { session: { store: open({ maxBytes: 200_000 }), id: 's' } });
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'STORE_FAILED', isRetryable: true } });
    answers.long = 'short';
    const resumed = await resume(agent, { store: open(), id: 's' });
    expect(resumed).toMatchObject({ status: 'completed', text: 'short' });
    expect(auditLog(resumed.log)).toEqual([]);
  });
});

describe('watching', () => {
  it('sees what another connection wrote', async () => {
    const [one, two] = [open(), open({ busyMs: 9_999 })];
    let told = 0;
    const stop = two.watch('s', () => {
      told += 1;
    });
    await one.append('s', [input(1, 'x')], 0);
    await until(() => told > 0);
    const before = told;
    await one.append('s', [input(2, 'x')], 1);
    await until(() => told > before);
    stop();
    const last = told;
    await one.append('s', [input(3, 'x')], 2);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(told).toBe(last);
  });

  it('is told at once by stores of this process', async () => {
    const [one, two] = [open({ pollMs: 3_600_000 }), open({ pollMs: 3_600_000 })];
    const told: unknown[] = [];
    two.watch('s', (session) => told.push(session));
    await one.append('t', [input(1, 'x')], 0);
    await one.append('s', [input(1, 'x')], 0);
    expect(told).toEqual(['s']);
  });
});
