/** CPU microseconds of this process, all threads: garbage collection and compilation count. */
export function cpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

export type Work = () => Promise<void>;

export interface InterleaveOptions {
  readonly rounds?: number;
  /** CPU time of one batch. */
  readonly batchMs?: number;
  /** CPU time of each work before anything counts. */
  readonly warmMs?: number;
}

/**
 * CPU microseconds of one call of each work: all are warmed up, then take turns in rounds of rotating order, so that what disturbs the
 * machine disturbs all. Medians.
 */
export async function interleave<N extends string>(
  works: Readonly<Record<N, Work>>,
  { rounds = 15, batchMs = 50, warmMs = 800 }: InterleaveOptions = {},
): Promise<Readonly<Record<N, number>>> {
  const names = Object.keys(works) as N[];
  const sizes = new Map<N, number>();
  for (const name of names) {
    await repeatFor(works[name], warmMs);
    const one = await cpuOf(works[name], 5);
    sizes.set(name, Math.max(1, Math.round((batchMs * 1_000) / Math.max(1, one))));
  }
  // Once, not before each batch: a forced collection throws away optimised code.
  globalThis.gc?.();
  const found = new Map<N, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const index of names.keys()) {
      const name = names[(index + round) % names.length];
      if (name === undefined) continue;
      found.get(name)?.push(await cpuOf(works[name], sizes.get(name) ?? 1));
    }
  }
  return Object.fromEntries([...found].map(([name, values]) => [name, median(values)])) as Record<N, number>;
}

/** Repeats for so much CPU time: on a busy machine the same warmth takes longer. */
async function repeatFor(work: Work, ms: number): Promise<void> {
  for (const end = cpuMicros() + ms * 1_000; cpuMicros() < end; ) await work();
}

/** CPU microseconds of one call. */
export async function cpuOf(work: Work, times = 1): Promise<number> {
  const before = cpuMicros();
  for (let count = 0; count < times; count += 1) await work();
  return (cpuMicros() - before) / times;
}
