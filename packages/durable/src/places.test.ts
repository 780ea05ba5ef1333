import type { RunRecord, Store } from '@guardloop/store';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Advanced, EngineWork } from './engine.js';
import type { Places } from './places.js';
import { openPlaces } from './places.js';

/** Runs by hand: which are due, which are being advanced, and how many of them may be at once. */
function world(options: { readonly concurrency?: number; readonly limit?: number } = {}) {
  const due: string[] = [];
  const running = new Map<string, (advanced: Advanced) => void>();
  const order: string[] = [];
  const calls = { advance: 0, list: 0, most: 0 };
  const claim = (run?: string) => {
    const id = run ?? due[0];
    const place = id === undefined ? -1 : due.indexOf(id);
    if (id === undefined || place < 0 || running.size >= (options.limit ?? Number.POSITIVE_INFINITY)) return undefined;
    due.splice(place, 1);
    order.push(id);
    return id;
  };
  const list = async () => {
    calls.list += 1;
    return { items: due.map((id) => ({ id }) as RunRecord) };
  };
  const work: EngineWork = {
    store: { runs: { list } } as unknown as Store,
    owner: 'w1',
    queues: [{ queue: 'default' }],
    concurrency: options.concurrency ?? 2,
    leaseMs: 3_000,
    advance(run, onClaimed) {
      calls.advance += 1;
      const id = claim(run);
      if (id === undefined) return Promise.resolve({ status: 'nothing' });
      onClaimed?.();
      return new Promise((resolve) => {
        running.set(id, resolve);
        calls.most = Math.max(calls.most, running.size);
      });
    },
  };
  const end = (id: string) => {
    const settle = running.get(id);
    if (settle === undefined) throw new Error(`${id} is not running`);
    running.delete(id);
    settle({ status: 'ended', run: id });
  };
  return { due, running, order, calls, work, end };
}

let places: Places | undefined;
let scene: ReturnType<typeof world> | undefined;
afterEach(async () => {
  const stopped = places?.stop();
  for (const id of scene?.running.keys() ?? []) scene?.end(id);
  await stopped;
});
const open = (made: ReturnType<typeof world>, everyMs = 60_000) => {
  scene = made;
  places = openPlaces(made.work, everyMs);
  return places;
};
const until = (condition: () => boolean) => vi.waitFor(() => expect(condition()).toBe(true), { timeout: 15_000, interval: 5 });

describe('places', () => {
  it('advances a run when it is told of one, and says how far it came', async () => {
    const made = world();
    const opened = open(made);
    await opened.look();
    made.due.push('r1');
    const taken = opened.take();
    await until(() => made.running.has('r1'));
    expect(opened.free).toBe(1);
    made.end('r1');
    expect(await taken).toEqual({ status: 'ended', run: 'r1' });
    expect(opened.free).toBe(2);
  });

  it('takes what is due first by the order of the store, in whichever order it is told', async () => {
    const made = world({ concurrency: 8, limit: 2 });
    const opened = open(made);
    await opened.look();
    made.due.push('high', 'middle', 'low');
    for (let kicks = 0; kicks < 3; kicks += 1) void opened.take();
    await until(() => made.running.size === 2);
    expect(made.order).toEqual(['high', 'middle']);
    made.end('high');
    await until(() => made.running.has('low'));
  });

  it('never advances more runs than it has places, and takes what it had to leave when one is free', async () => {
    const made = world({ concurrency: 2 });
    const opened = open(made);
    await opened.look();
    made.due.push('r1', 'r2', 'r3', 'r4');
    const taken = made.due.slice().map(() => opened.take());
    await until(() => made.running.size === 2);
    expect(await taken[3]).toEqual({ status: 'nothing' });
    for (const id of ['r1', 'r2', 'r3', 'r4']) {
      await until(() => made.running.has(id));
      made.end(id);
    }
    await until(() => opened.free === 2);
    expect(made.calls.most).toBe(2);
    expect(made.order).toEqual(['r1', 'r2', 'r3', 'r4']);
  });

  it('takes a run that met a limit when one under that limit has ended, however many others ended before', async () => {
    const made = world({ concurrency: 8, limit: 2 });
    const opened = open(made);
    await opened.look();
    made.due.push('r1', 'r2', 'r3', 'r4', 'r5');
    for (const _ of made.due.slice()) void opened.take();
    await until(() => made.running.size === 2);
    made.end('r1');
    made.end('r2');
    await until(() => made.running.has('r3') && made.running.has('r4'));
    made.end('r4');
    await until(() => made.running.has('r5'));
  });

  it('finds at once what was due before it was opened, and fills its places', async () => {
    const made = world({ concurrency: 3 });
    made.due.push('r1', 'r2', 'r3', 'r4');
    open(made);
    await until(() => made.running.size === 3);
    expect(made.order).toEqual(['r1', 'r2', 'r3']);
  });

  it('finds a run whose kick was lost at the next look', async () => {
    const made = world();
    open(made, 20);
    made.due.push('lost');
    await until(() => made.running.has('lost'));
  });

  it('goes on looking after its store has failed', async () => {
    const made = world();
    let failures = 0;
    const { list } = made.work.store.runs;
    made.work.store.runs.list = (query) => {
      if (failures >= 2) return list(query);
      failures += 1;
      return Promise.reject(new Error('the store is away'));
    };
    made.due.push('r1');
    open(made, 10);
    await until(() => made.running.has('r1'));
    expect(failures).toBe(2);
  });

  it('costs one listing and one claim for each look while everything that is due meets a limit', async () => {
    const made = world({ concurrency: 8, limit: 0 });
    made.due.push('r1', 'r2', 'r3');
    const opened = open(made);
    await opened.look();
    const before = { ...made.calls };
    await opened.look();
    expect(made.calls.list - before.list).toBe(1);
    expect(made.calls.advance - before.advance).toBe(1);
  });

  it('claims nothing for a listing that is empty', async () => {
    const made = world();
    const opened = open(made);
    await opened.look();
    await opened.look();
    expect(made.calls.advance).toBe(0);
  });

  it('waits at the end for what is under way, and takes nothing more', async () => {
    const made = world();
    made.due.push('r1');
    const opened = open(made);
    await until(() => made.running.has('r1'));
    made.due.push('r2');
    let isStopped = false;
    const stopped = opened.stop().then(() => {
      isStopped = true;
    });
    expect(await opened.take()).toEqual({ status: 'nothing' });
    await opened.look();
    expect(isStopped).toBe(false);
    made.end('r1');
    await stopped;
    expect(made.order).toEqual(['r1']);
  });
});
