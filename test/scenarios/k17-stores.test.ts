import type { LogEvent, SessionStore } from '@guardloop/core';
import { defineAgent, defineTool, GuardloopError, memorySession, resume, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { gate, sleep, sound } from './sound.js';

const speaker = () => defineAgent({ name: 'a', instructions: '', model: scriptedModel(() => say('ok')) });
const gated = () => {
  const ask = defineTool({ name: 'ask', description: 'A.', input: z.object({}), approval: true, execute: () => 'asked' });
  return defineAgent({ name: 'a', instructions: '', model: scriptedModel([callTool('ask'), say('ok')]), tools: [ask] });
};

/** A database with one write lock, which somebody else may hold: a writer waits for it `patienceMs`, then fails. */
function locked(patienceMs: number) {
  const kept = memorySession();
  let held: Promise<void> | undefined;
  let writing: Promise<unknown> = Promise.resolve();
  let most = 0;
  let now = 0;
  const write = async (id: string, events: readonly LogEvent[], afterSeq: number): Promise<void> => {
    now += 1;
    most = Math.max(most, now);
    const isFree = await Promise.race([(held ?? Promise.resolve()).then(() => true), sleep(patienceMs).then(() => false)]);
    now -= 1;
    if (!isFree) throw new Error('database is locked');
    await kept.append(id, events, afterSeq);
  };
  const store: SessionStore = {
    load: (id, afterSeq) => kept.load(id, afterSeq),
    append(id, events, afterSeq) {
      const turn = writing.then(() => write(id, events, afterSeq));
      writing = turn.catch(() => undefined);
      return turn;
    },
  };
  return { store, kept, mostWriters: () => most, hold: (until: Promise<void>) => (held = until) };
}

describe('K17: a store under contention', () => {
  it('S126: twenty runs that start at once on a store that is locked for a while all succeed, and all is stored', async () => {
    const { store, kept, hold } = locked(5_000);
    const lock = gate();
    hold(lock.opened);
    const running = Array.from({ length: 20 }, (_, index) => sound(run(speaker(), 'x', { session: { store, id: `s${index}` } })));
    await sleep(50);
    lock.open();
    const results = await Promise.all(running);
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['completed']));
    for (const [index, result] of results.entries()) expect(await kept.load(`s${index}`)).toEqual(result.log.events);
  });

  it('S126: a lock that outlasts the store’s patience before the run is entered is STORE_FAILED, and nothing was run', async () => {
    const { store, kept, hold } = locked(20);
    hold(gate().opened);
    const agent = speaker();
    await expect(run(agent, 'x', { session: { store, id: 's' } })).rejects.toMatchObject({ code: 'STORE_FAILED', isRetryable: true });
    await expect(run(agent, 'x', { session: { store, id: 's', onConflict: 'queue' } })).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect(await kept.load('s')).toEqual([]);
  });

  it('S126: one that outlasts it later fails the run, which still holds the answer; what was stored can be gone on with', async () => {
    const { store, kept, hold } = locked(20);
    const lock = gate();
    const model = scriptedModel(() => {
      hold(lock.opened);
      return say('an answer');
    });
    const agent = defineAgent({ name: 'a', instructions: '', model });
    const result = await run(agent, 'x', { session: { store, id: 's' } });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'STORE_FAILED', isRetryable: true } });
    expect(JSON.stringify(result.messages)).toContain('an answer');
    expect(JSON.stringify(result)).not.toContain('database is locked');
    lock.open();
    // Nothing more of the failed run is written, and its session is not given up in silence.
    const left = await kept.load('s');
    expect(left.some(({ type }) => type === 'run.end')).toBe(false);
    await expect(run(agent, 'y', { session: { store, id: 's' } })).rejects.toMatchObject({ code: 'RESUME_MISMATCH' });
    expect((await sound(resume(agent, { store, id: 's' }).result)).status).toBe('completed');
  });
});

describe('K17: a store that forgets', () => {
  /** A store whose sessions can be dropped, in whole or in part. */
  const forgetful = () => {
    const logs = new Map<string, LogEvent[]>();
    const store: SessionStore = {
      load: async (id, afterSeq = 0) => (logs.get(id) ?? []).filter(({ seq }) => seq > afterSeq),
      async append(id, events, afterSeq) {
        const log = logs.get(id) ?? [];
        if ((log.at(-1)?.seq ?? 0) !== afterSeq) throw new GuardloopError('LOG_CONFLICT', 'stale');
        logs.set(id, [...log, ...events]);
      },
    };
    return { store, logs };
  };

  it('S218: a session that expired is empty: a new run starts it, a resume says that there is nothing', async () => {
    const { store, logs } = forgetful();
    const session = { store, id: 's' };
    const paused = await run(gated(), 'x', { session });
    if (paused.status !== 'interrupted') throw new Error('it should wait');
    logs.clear();
    const decisions = { [paused.approvals[0]?.id ?? '']: 'approve' as const };
    await expect(resume(gated(), session, { decisions }).result).rejects.toMatchObject({ code: 'RESUME_MISMATCH' });
    expect(logs.size).toBe(0);
    const fresh = await sound(run(speaker(), 'again', { session }));
    expect(fresh.log.events[0]).toMatchObject({ type: 'run.start', seq: 1 });
  });

  it('S218: one that expired under a run fails it with LOG_CONFLICT before its next effect; half a session is never written anew', async () => {
    const { store, logs } = forgetful();
    const effects: string[] = [];
    const pay = defineTool({ name: 'pay', description: 'P.', input: z.object({}), execute: () => effects.push('paid') });
    const model = scriptedModel(async () => {
      await vi.waitUntil(() => logs.get('s')?.some(({ type }) => type === 'model.start'));
      logs.clear();
      return callTool('pay');
    });
    const agent = defineAgent({ name: 'a', instructions: '', model, tools: [pay] });
    expect(await run(agent, 'x', { session: { store, id: 's' } })).toMatchObject({ status: 'failed', error: { code: 'LOG_CONFLICT' } });
    expect(effects).toEqual([]);
    expect(logs.size).toBe(0);
  });

  it('S218: a session of which a part is gone is LOG_INVALID, whatever enters it, and is left as it is', async () => {
    const { store, logs } = forgetful();
    const session = { store, id: 's' };
    await run(gated(), 'x', { session });
    const rest = logs.get('s')?.slice(2) ?? [];
    logs.set('s', rest);
    for (const enter of [
      () => run(speaker(), 'y', { session }),
      () => run(speaker(), 'y', { session: { ...session, onConflict: 'queue' as const }, unfinished: 'abandon' as const }),
      () => resume(gated(), session).result,
    ])
      await expect(enter()).rejects.toMatchObject({ code: 'LOG_INVALID' });
    expect(logs.get('s')).toBe(rest);
  });

  it('S218: a connection that drops in the middle of a write leaves each event stored once', async () => {
    const { store, logs } = forgetful();
    let writes = 0;
    const dropping: SessionStore = {
      load: (id, afterSeq) => store.load(id, afterSeq),
      async append(id, events, afterSeq) {
        writes += 1;
        if (writes % 2 === 0) await store.append(id, events, afterSeq);
        if (writes % 3 !== 0) throw new Error('connection reset');
        if (writes % 2 !== 0) await store.append(id, events, afterSeq);
      },
    };
    const result = await run(speaker(), 'x', { session: { store: dropping, id: 's' } }).catch((error: unknown) => error);
    const stored = logs.get('s') ?? [];
    expect(stored.map(({ seq }) => seq)).toEqual(stored.map((_, index) => index + 1));
    // Whether it came through or not is said, never guessed.
    if (GuardloopError.is(result)) expect(result.code).toBe('STORE_FAILED');
    else expect(['completed', 'failed']).toContain((result as { status: string }).status);
  });
});
