import type { SchedulerOptions } from '@guardloop/testing';
import { exploreOrders, normalLog, seededScheduler } from '@guardloop/testing';
import { describe, expect, it, vi } from 'vitest';
import { goThrough, scripts } from '../aborts/scripts.js';
import { unhandled } from '../scenarios/sound.js';
import { Scene } from './scene.js';

vi.setConfig({ testTimeout: 60_000 });

const orders = 60;
const unlimited = { limits: { ms: Number.POSITIVE_INFINITY } };

describe.each(Object.entries(scripts))('%s', (_name, make) => {
  it('a seed takes the same steps again, and so do the steps themselves, with an abort among them', async () => {
    const take = async (options: SchedulerOptions) => {
      const scheduler = seededScheduler(options);
      const scene = new Scene(scheduler);
      void scheduler.pause('abort').then(async () => {
        await scheduler.pause('abort');
        scene.stop.abort(new Error('enough'));
      });
      const result = await goThrough(scene, make(scene));
      await scene.look(result);
      return { schedule: scheduler.schedule, log: normalLog(result.log) };
    };
    for (let seed = 1; seed <= 8; seed += 1) {
      const first = await take({ seed });
      expect(await take({ seed })).toEqual(first);
      expect(await take({ seed: seed + 100, schedule: first.schedule })).toEqual(first);
    }
  });

  it('an abort that races with everything: one outcome, and resumed to the end', async () => {
    const rejections = unhandled();
    const outcomes = new Set<string>();
    let number = 0;
    await exploreOrders({ orders }, async (scheduler) => {
      const scene = new Scene(scheduler);
      const made = make(scene);
      number += 1;
      const abort = async (): Promise<void> => {
        for (let pauses = number; pauses > 0; pauses -= 1) await scheduler.pause('abort');
        scene.noteStop();
        scene.stop.abort(new Error('enough'));
      };
      void abort();
      const result = await goThrough(scene, made, { door: number % 2 === 0 ? 'run' : 'stream' });
      outcomes.add(result.status);
      expect(result.status).toMatch(/^(completed|cancelled)$/);
      await scene.look(result);
      if (result.status !== 'cancelled') return;
      const resumed = await goThrough(scene, made, { from: result, more: { signal: undefined } });
      expect(resumed.status).toBe('completed');
      await scene.look(resumed);
    });
    expect([...outcomes]).toContain('cancelled');
    expect(rejections).toEqual([]);
  });

  it('a halt that races with everything: blocked, and nothing starts after it', async () => {
    let asked = 0;
    await exploreOrders({ orders }, async (scheduler) => {
      const scene = new Scene(scheduler);
      scene.haltAt = 1 + (asked % 12);
      asked += 1;
      const result = await goThrough(scene, make(scene));
      expect(result.status).toMatch(/^(completed|blocked)$/);
      expect(result.status === 'completed').toBe(scene.asked < scene.haltAt);
      await scene.look(result);
    });
  });

  it('deadlines that race with everything: one outcome, and resumed to an end', async () => {
    const rejections = unhandled();
    let ms = 0;
    await exploreOrders({ orders, time: 'any' }, async (scheduler) => {
      const scene = new Scene(scheduler);
      const made = make(scene);
      ms += 150;
      const result = await goThrough(scene, made, { more: { limits: { ms } } });
      await scene.look(result);
      const resumed = await goThrough(scene, made, { from: result, more: unlimited });
      // Guardrails and tools may be late in their turn: then they have refused or failed, and the model is asked more often.
      if (resumed.status === 'exhausted') expect(resumed.limit).not.toBe('ms');
      await scene.look(resumed);
    });
    expect(rejections).toEqual([]);
  });
});
