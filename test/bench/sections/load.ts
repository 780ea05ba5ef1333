import { inFreshProcess } from '../fresh-process.js';
import { cpuMicros, median } from '../measure.js';
import type { Row } from '../row.js';
import { atLeast, atMost } from '../row.js';
import { byHand, callingModel, runOf } from '../world.js';

const runs = 5_000;

export interface Load {
  readonly runsPerSecond: number;
  readonly kilobytes: number;
  /** CPU of a run, microseconds: says the same as runs a second where others use the machine too. */
  readonly micros: number;
}

/** 5,000 runs of 5 turns at once, each waiting 20 ms for every answer: how many a second, and how much memory each holds. */
export async function measureLoad(): Promise<readonly Row[]> {
  const ours: Load[] = [];
  const hand: Load[] = [];
  for (let round = 0; round < 3; round += 1) {
    ours.push(await inFreshProcess<Load>('load-ours'));
    hand.push(await inFreshProcess<Load>('load-by-hand'));
  }
  const of = (loads: readonly Load[], what: keyof Load) => median(loads.map((load) => load[what]));
  return [
    {
      what: '5,000 runs at once, 5 turns, 20 ms model',
      unit: 'runs/s',
      ours: of(ours, 'runsPerSecond'),
      byHand: of(hand, 'runsPerSecond'),
      target: atLeast(6_000),
    },
    { what: '… CPU of a run', unit: 'µs', ours: of(ours, 'micros'), byHand: of(hand, 'micros') },
    { what: '… memory of a run', unit: 'KB', ours: of(ours, 'kilobytes'), byHand: of(hand, 'kilobytes'), target: atMost(35) },
  ];
}

export async function loadOnce(kind: 'ours' | 'by-hand'): Promise<Load> {
  const model = callingModel({ turns: 4, calls: 1, waitMs: 20 });
  const runOnce = kind === 'ours' ? runOf(model) : byHand(model);
  await Promise.all(Array.from({ length: 500 }, runOnce));
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 5);
  const started = performance.now();
  const cpuBefore = cpuMicros();
  await Promise.all(Array.from({ length: runs }, runOnce));
  const seconds = (performance.now() - started) / 1_000;
  clearInterval(timer);
  return { runsPerSecond: runs / seconds, kilobytes: (peak - before) / 1_024 / runs, micros: (cpuMicros() - cpuBefore) / runs };
}
