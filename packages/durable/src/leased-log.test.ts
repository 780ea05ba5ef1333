import type { LogEvent } from '@guardloop/core';
import type { Store } from '@guardloop/store';
import { memoryStore } from '@guardloop/store';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { instant, Lease } from './lease.js';
import { LeasedLog } from './leased-log.js';

const leaseMs = 600_000;
const eventOf = (seq: number, type: LogEvent['type'], more: object = {}): LogEvent =>
  ({
    type,
    seq,
    at: 0,
    run: 'r1',
    agent: 'a',
    writer: 'w',
    limits: {},
    manifest: { run: [], agent: [], tools: {} },
    ...more,
  }) as unknown as LogEvent;

async function claim(store: Store, owner: string) {
  const record = await store.runs.claim({ owner, leaseMs, queues: [{ queue: 'default' }] });
  if (record === undefined) throw new Error('nothing is due');
  const lost = vi.fn();
  const lease = new Lease(
    store,
    { id: 'r1', token: record.lease?.token ?? -1, leaseMs, claimedAt: instant() },
    { onRecord: () => undefined, onLost: lost },
  );
  onTestFinished(() => lease.end());
  return { lease, lost };
}
/** A store, with a clock that the test moves, and a run that is due. */
async function due() {
  let moved = 0;
  const store = memoryStore({ now: () => Date.now() + moved });
  const run = { id: 'r1', session: 's', agent: 'a', queue: 'default', priority: 100, submission: null, abandons: false };
  await store.runs.create({ ...run, dueAt: Date.now() });
  const pass = (ms: number): void => {
    moved += ms;
  };
  return { store, pass };
}
/** The process stands still for so long, as the clock of the machine says. */
function standStill(ms: number): void {
  const now = Date.now;
  vi.spyOn(Date, 'now').mockImplementation(() => now.call(Date) + ms);
  onTestFinished(() => void vi.restoreAllMocks());
}

describe('a log under a lease', () => {
  it('takes what its run appends, as long as it is held', async () => {
    const { store } = await due();
    const { lease } = await claim(store, 'one');
    const log = new LeasedLog(store, lease);
    await log.append('s', [eventOf(1, 'run.start')], 0);
    expect(log.hasEnded).toBe(false);
    await log.append('s', [eventOf(2, 'run.end', { status: 'completed' })], 1);
    expect(log.hasEnded).toBe(true);
    lease.end();
    await expect(log.load('s')).rejects.toMatchObject({ code: 'LOG_CONFLICT' });
    expect(await store.load('s')).toHaveLength(2);
  });

  it('says nothing of an append to a process that stood still meanwhile and lost its lease', async () => {
    const { store, pass } = await due();
    const stopping: Store = Object.assign(Object.create(store) as Store, {
      append: async (...given: Parameters<Store['append']>) => {
        await store.append(...given);
        if (given[1][0]?.type !== 'tool.start') return;
        // It stood still right after the store had it; another worker came.
        standStill(2 * leaseMs);
        pass(2 * leaseMs);
        await claim(store, 'two');
      },
    });
    const { lease, lost } = await claim(stopping, 'one');
    const log = new LeasedLog(stopping, lease);
    await log.append('s', [eventOf(1, 'run.start')], 0);
    await expect(log.append('s', [eventOf(2, 'tool.start', { callId: '1.0' })], 1)).rejects.toMatchObject({ code: 'LOG_CONFLICT' });
    // Core asks the log what became of it: nor is that told.
    await expect(log.load('s', 1)).rejects.toMatchObject({ code: 'LOG_CONFLICT' });
    expect(lost).toHaveBeenCalledOnce();
    expect(await store.load('s')).toHaveLength(2);
  });

  it('goes on where it stood still and nobody came', async () => {
    const { store } = await due();
    const { lease, lost } = await claim(store, 'one');
    const log = new LeasedLog(store, lease);
    await log.append('s', [eventOf(1, 'run.start')], 0);
    standStill(leaseMs);
    expect(lease.seemsOver).toBe(true);
    await log.append('s', [eventOf(2, 'tool.start', { callId: '1.0' })], 1);
    expect(lost).not.toHaveBeenCalled();
  });

  it('keeps out what is left of a run that was let go, also where the worker has its session again', async () => {
    const { store, pass } = await due();
    const first = await claim(store, 'one');
    const left = new LeasedLog(store, first.lease);
    await left.append('s', [eventOf(1, 'run.start')], 0);
    first.lease.lose();
    pass(2 * leaseMs);
    const second = await claim(store, 'one');
    const log = new LeasedLog(store, second.lease);
    // Its late entry would pass for the other's, and its end follow.
    for (const late of [eventOf(2, 'run.resume'), eventOf(2, 'run.end', { status: 'cancelled' })])
      await expect(left.append('s', [late], 1)).rejects.toMatchObject({ code: 'LOG_CONFLICT' });
    await expect(left.load('s', 1)).rejects.toMatchObject({ code: 'LOG_CONFLICT' });
    await log.append('s', [eventOf(2, 'run.resume')], 1);
    expect((await store.load('s')).map(({ type }) => type)).toEqual(['run.start', 'run.resume']);
  });
});
