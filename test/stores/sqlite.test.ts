// Several processes on one file: what the suite of conformance, in one process, cannot see.
import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineAgent, run } from '@guardloop/core';
import { sqliteStore } from '@guardloop/store-sqlite';
import { auditLog, say, scriptedModel } from '@guardloop/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { endChildren, startChild } from './processes.js';
import { expectRefusals, expectWholeRuns, inputEvent, speaker } from './sessions.js';

let folder = '';
let file = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'guardloop-sqlite-'));
  file = join(folder, 'store.db');
});
afterEach(() => {
  endChildren();
  rmSync(folder, { recursive: true, force: true });
});

interface Outcome {
  readonly status: string;
  readonly code?: string;
}

describe('S126: a file that others use too', () => {
  it('S126: twenty runs that start at once while another process holds the lock all succeed, and the event loop goes on', async () => {
    const store = sqliteStore({ file });
    await store.now();
    const holder = await startChild({ kind: 'lock', file });
    holder.go();
    expect(await holder.next()).toBe('locked');
    let ticks = 0;
    const ticking = setInterval(() => {
      ticks += 1;
    }, 5);
    const running = Array.from({ length: 20 }, (_, index) => run(speaker(), 'x', { session: { store, id: `s${index}` } }));
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(ticks).toBeGreaterThan(100);
    expect((await store.sessions.list()).items).toEqual([]);
    holder.go();
    const results = await Promise.all(running);
    clearInterval(ticking);
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['completed']));
    for (const [index, result] of results.entries()) {
      expect(await store.load(`s${index}`)).toEqual(result.log.events);
      expect(auditLog(result.log)).toEqual([]);
    }
    await store.close();
  }, 60_000);

  it('S126: a lock that outlasts the patience is STORE_FAILED that can be tried again, and nothing was run', async () => {
    const store = sqliteStore({ file, busyMs: 200 });
    await store.now();
    const holder = await startChild({ kind: 'lock', file });
    holder.go();
    await holder.next();
    const running = run(speaker(), 'x', { session: { store, id: 's' } });
    await expect(running).rejects.toMatchObject({
      code: 'STORE_FAILED',
      isRetryable: true,
      message: expect.stringContaining('locked by another process for 200 ms'),
    });
    holder.go();
    await holder.next();
    expect(await store.load('s')).toEqual([]);
    expect((await run(speaker(), 'x', { session: { store, id: 's' } })).status).toBe('completed');
    await store.close();
  }, 60_000);

  it('S126: a lock that comes later fails the run, which still holds the answer', async () => {
    const store = sqliteStore({ file, busyMs: 200 });
    const holder = await startChild({ kind: 'lock', file });
    const agent = defineAgent({
      name: 'a',
      instructions: '',
      model: scriptedModel(async () => {
        await store.now();
        holder.go();
        await holder.next();
        return say('the answer');
      }),
    });
    const result = await run(agent, 'x', { session: { store, id: 's' } });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'STORE_FAILED' } });
    expect(result.log.events.find(({ type }) => type === 'model.end')).toMatchObject({ text: 'the answer' });
    holder.go();
    await holder.next();
    const kept = await store.load('s');
    expect(result.log.events.slice(0, kept.length)).toEqual(kept);
    await store.close();
  }, 60_000);

  it('S126: ten processes that begin on a file that is not there all make a run of theirs', async () => {
    const started = await Promise.all(
      Array.from({ length: 10 }, (_, index) => startChild({ kind: 'run', sqlite: { file }, session: `s${index}`, text: `text ${index}` })),
    );
    for (const child of started) child.go();
    const results = await Promise.all(started.map((child) => child.next()));
    expect(results.map((result) => (result as { readonly status: string }).status)).toEqual(Array.from({ length: 10 }, () => 'completed'));
    const store = sqliteStore({ file });
    expect((await store.sessions.list()).items).toHaveLength(10);
    for (let index = 0; index < 10; index += 1) expect(auditLog({ version: 1, events: await store.load(`s${index}`) })).toEqual([]);
    await store.close();
  }, 60_000);
});

describe('S125: two processes that run on one session at once', () => {
  it('S125: of all that start together one enters, or they queue; no event is lost or mixed', async () => {
    const task = { kind: 'run', sqlite: { file }, session: 'shared' };
    const refused = await Promise.all(['A', 'B', 'C'].map((text) => startChild({ ...task, text })));
    for (const child of refused) child.go();
    const completed = expectRefusals((await Promise.all(refused.map((child) => child.next()))) as readonly Outcome[]);
    const store = sqliteStore({ file });
    expectWholeRuns(await store.load('shared'), completed);
    const queued = await Promise.all(
      ['D', 'E', 'F'].map((text) => startChild({ ...task, text, session: 'queued', sessionOptions: { onConflict: 'queue' } })),
    );
    for (const child of queued) child.go();
    const ends = (await Promise.all(queued.map((child) => child.next()))) as readonly Outcome[];
    expect(ends.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
    expectWholeRuns(await store.load('queued'), 3);
    await store.close();
  }, 60_000);
});

describe('a file that cannot be written', () => {
  it('says that it is read-only', async () => {
    const store = sqliteStore({ file });
    await store.append('s', [inputEvent(1)], 0);
    await store.close();
    const isRoot = process.getuid?.() === 0;
    chmodSync(folder, 0o555);
    for (const each of ['store.db', 'store.db-wal', 'store.db-shm']) chmodIfThere(join(folder, each), 0o444);
    // Root may write everywhere.
    const child = await startChild(
      { kind: 'append', sqlite: { file }, session: 's', events: [inputEvent(2)] },
      isRoot ? { uid: 65_534 } : {},
    );
    child.go();
    expect(await child.next()).toMatchObject({
      status: 'rejected',
      code: 'STORE_FAILED',
      isRetryable: false,
      message: expect.stringMatching(/read-only|cannot be opened/),
    });
    chmodSync(folder, 0o755);
  }, 60_000);
});

function chmodIfThere(path: string, mode: number): void {
  if (statSync(path, { throwIfNoEntry: false })) chmodSync(path, mode);
}
