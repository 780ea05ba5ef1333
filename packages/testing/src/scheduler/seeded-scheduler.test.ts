import { getEventListeners } from 'node:events';
import { allow, defineAgent, defineGuardrail, defineTool, run } from '@guardloop/core';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { callTool, say, wait } from '../script.js';
import { scriptedModel } from '../scripted-model.js';
import { exploreOrders } from './explore-orders.js';
import type { Scheduler } from './seeded-scheduler.js';
import { seededScheduler } from './seeded-scheduler.js';

/** Three tasks of two steps each; gives the order in which they went on. */
async function race(scheduler: Scheduler): Promise<string> {
  const order: string[] = [];
  const task = async (name: string): Promise<void> => {
    for (const step of [1, 2]) {
      await scheduler.pause(name);
      order.push(`${name}${step}`);
    }
  };
  await scheduler.run(() => Promise.all(['a', 'b', 'c'].map(task)));
  return order.join(' ');
}

it('takes the same steps for the same seed, and other steps for others', async () => {
  const orders = new Set<string>();
  for (let seed = 1; seed <= 400; seed += 1) {
    const order = await race(seededScheduler({ seed }));
    expect(await race(seededScheduler({ seed }))).toBe(order);
    orders.add(order);
  }
  // 6! / 2! ** 3 orders are possible.
  expect(orders.size).toBeGreaterThan(80);
  expect(orders.size).toBeLessThanOrEqual(90);
});

it('takes a schedule again, whatever the seed', async () => {
  const first = seededScheduler({ seed: 5 });
  const order = await race(first);
  expect([...first.schedule].sort()).toEqual(['a#1', 'a#2', 'b#1', 'b#2', 'c#1', 'c#2']);
  const again = seededScheduler({ seed: 6, schedule: first.schedule });
  expect(await race(again)).toBe(order);
  expect(again.schedule).toEqual(first.schedule);
});

it('says which steps can be taken where a schedule does not fit', async () => {
  await expect(race(seededScheduler({ schedule: ['a#1', 'd#1'] }))).rejects.toThrow(
    'Step 2 of the schedule is d#1, but what can be settled is b#1, c#1, a#2.',
  );
});

it('moves time on when nothing else can happen, timer by timer', async () => {
  const scheduler = seededScheduler();
  const seen: string[] = [];
  const see = (what: string) => () => void seen.push(`${what} ${scheduler.clock.now()}`);
  await scheduler.run(async () => {
    const stop = scheduler.clock.after(20, see('stopped'));
    scheduler.clock.after(10, see('timer'));
    scheduler.clock.after(5_000, see('late'));
    await Promise.all([scheduler.sleep(30).then(see('sleep')), scheduler.pause().then(see('pause')).then(stop)]);
  });
  expect(seen).toEqual(['pause 0', 'timer 10', 'sleep 30']);
  expect(scheduler.timers).toEqual(['timer#3 at 5000 ms']);
  await scheduler.drain();
  expect(seen.at(-1)).toBe('late 5000');
  expect(scheduler.timers).toEqual([]);
});

it('lets deadlines race with everything where time may pass at any step', async () => {
  const outcomes = new Set<string>();
  const report = await exploreOrders({ orders: 40, time: 'any' }, async (scheduler) => {
    outcomes.add(await scheduler.run(() => Promise.race([scheduler.settle('work'), scheduler.sleep(10_000).then(() => 'late')])));
  });
  expect([...outcomes].sort()).toEqual(['late', 'work']);
  expect(report).toEqual({ orders: 40, different: 2 });
});

it('rejects what waits as soon as its signal is aborted, and leaves no listener on it', async () => {
  const scheduler = seededScheduler();
  const stop = new AbortController();
  const reason = new Error('enough');
  await scheduler.run(async () => {
    const waiting = [scheduler.pause('a', stop.signal), scheduler.sleep(10, 'b', stop.signal), scheduler.hang('c', stop.signal)];
    expect(scheduler.pending).toEqual(['a#1', 'c#1']);
    stop.abort(reason);
    for (const each of waiting) await expect(each).rejects.toBe(reason);
    await expect(scheduler.pause('d', stop.signal)).rejects.toBe(reason);
  });
  expect([scheduler.pending, scheduler.timers, scheduler.schedule]).toEqual([[], [], []]);
  expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
});

it('names what hangs where nothing is left to settle', async () => {
  const scheduler = seededScheduler();
  const waits = scheduler.run(() => Promise.all([scheduler.settle(1, 'quick'), scheduler.hang('store'), scheduler.hang('store')]));
  await expect(waits).rejects.toThrow(
    'Deadlock: nothing is left to settle, and the outcome has not come. What hangs: store#1, store#2. Steps taken: 1, the last of them quick#1.',
  );
  await expect(seededScheduler().run(() => new Promise(() => undefined))).rejects.toThrow('something that the scheduler does not know');
});

it('gives what the outcome gives, or rejects with what it rejects with, and drives one thing at a time', async () => {
  const scheduler = seededScheduler();
  expect(await scheduler.run(() => 7)).toBe(7);
  await expect(
    scheduler.run(() => {
      throw new Error('at once');
    }),
  ).rejects.toThrow('at once');
  await scheduler.run(async () => {
    await expect(scheduler.run(() => 1)).rejects.toThrow('drives something already');
  });
});

it('waits for digests, which are made on other threads, before it chooses', async () => {
  const own = globalThis.crypto.subtle.digest;
  const bytes = new Uint8Array(1_000_000);
  const once = async (): Promise<string> => {
    const scheduler = seededScheduler({ seed: 3 });
    await scheduler.run(async () => {
      await Promise.all([
        globalThis.crypto.subtle.digest('SHA-256', bytes).then(() => scheduler.pause('after digest')),
        scheduler.pause('x'),
        scheduler.pause('y'),
      ]);
    });
    return scheduler.schedule.join();
  };
  const orders = new Set<string>();
  for (let round = 0; round < 10; round += 1) orders.add(await once());
  expect(orders.size).toBe(1);
  expect(globalThis.crypto.subtle.digest).toBe(own);
});

it('tells seed and steps of an order that fails, and both take it again', async () => {
  const property = async (scheduler: Scheduler): Promise<void> => {
    if ((await race(scheduler)).startsWith('c1 c2')) throw new Error('c was first');
  };
  const failure = (await exploreOrders({ orders: 100 }, property).catch((error: unknown) => error)) as Error;
  expect(failure.message).toMatch(/^Seed \d+ fails: c was first\n/);
  expect(failure.cause).toEqual(new Error('c was first'));
  const seed = Number(/seed: (\d+)/.exec(failure.message)?.[1]);
  await expect(property(seededScheduler({ seed }))).rejects.toThrow('c was first');
  const schedule = [...(/Its steps: \[(.*)\]/.exec(failure.message)?.[1] ?? '').matchAll(/'([^']*)'/g)].map(([, name]) => name ?? '');
  await expect(property(seededScheduler({ schedule }))).rejects.toThrow('c was first');
});

it('drives whole runs: models wait in virtual time, and a run takes the same steps for the same seed', async () => {
  const once = async (seed: number) => {
    const scheduler = seededScheduler({ seed });
    const slow = (name: string) =>
      defineTool({ name, description: 'S.', input: z.object({}), execute: () => scheduler.settle(name, name) });
    const careful = defineGuardrail({ name: 'careful', on: ['input', 'output'], check: () => scheduler.settle(allow(), 'careful') });
    const { clock } = scheduler;
    const pace = (signal: AbortSignal): Promise<void> => scheduler.pause('model', signal);
    const model = scriptedModel(
      [
        [callTool('a'), callTool('b')],
        [wait(60_000), say('done')],
      ],
      { clock, pace },
    );
    const agent = defineAgent({ name: 'x', instructions: '', model, tools: [slow('a'), slow('b')], guardrails: [careful] });
    const result = await scheduler.run(() => run(agent, 'go', { clock }));
    expect(result).toMatchObject({ status: 'completed', output: 'done' });
    expect(clock.now()).toBe(60_000);
    return scheduler.schedule.join();
  };
  expect(await once(1)).toBe(await once(1));
  const orders = new Set<string>();
  for (let seed = 1; seed <= 16; seed += 1) orders.add(await once(seed));
  expect(orders.size).toBe(2);
});
