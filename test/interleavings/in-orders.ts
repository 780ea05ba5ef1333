import type { RunResult } from '@guardloop/core';
import type { NormalEvent, Scheduler } from '@guardloop/testing';
import { exploreOrders, normalLog } from '@guardloop/testing';
import { expect } from 'vitest';
import { unhandled } from '../scenarios/sound.js';
import { Scene } from './scene.js';

function firstDifference(wanted: readonly NormalEvent[], found: readonly NormalEvent[]): string | undefined {
  for (let index = 0; index < Math.max(wanted.length, found.length); index += 1) {
    const [left, right] = [JSON.stringify(wanted[index]), JSON.stringify(found[index])];
    if (left !== right) return `event ${index + 1} is ${right}, where the first order had ${left}`;
  }
  return undefined;
}

/** Holds a script that has one outcome in many orders: the same happened in each, and what holds of every run does. */
export async function inOrders(orders: number, script: (scene: Scene, scheduler: Scheduler) => Promise<RunResult>): Promise<void> {
  const rejections = unhandled();
  let first: readonly NormalEvent[] | undefined;
  const report = await exploreOrders({ orders }, async (scheduler) => {
    const scene = new Scene(scheduler);
    const result = await script(scene, scheduler);
    await scene.look(result);
    const normal = normalLog(result.log);
    first ??= normal;
    expect(firstDifference(first, normal)).toBeUndefined();
  });
  expect(report.different).toBeGreaterThan(1);
  await new Promise((resolve) => setImmediate(resolve));
  expect(rejections).toEqual([]);
}
