// `npm run soak [-- --minutes 30] [--seed N]`: random runs under load. Fails where the heap grows, a rejection goes unhandled, a handle stays
// open, or a log does not pass its audit.
import { parseArgs } from 'node:util';
import type { RunResult } from '@guardloop/core';
import { memorySession, run, stream } from '@guardloop/core';
import { auditLog } from '@guardloop/testing';
import { drive, memoryQuarantine } from '../promises/drive.js';
import { hash, limitsOf, makeWorld } from '../promises/world.js';
import { heapVerdict } from './heap-verdict.js';

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '2' }, seed: { type: 'string' } } });
const minutes = Number(values.minutes);
const firstSeed = values.seed === undefined ? Math.floor(Math.random() * 1_000_000) : Number(values.seed);
if (!(Number.isFinite(minutes) && minutes > 0) || !Number.isSafeInteger(firstSeed)) {
  process.stderr.write('Usage: npm run soak -- [--minutes 2] [--seed 1]\n--minutes takes a number above 0, --seed a whole number.\n');
  process.exit(2);
}

const atOnce = 64;
const sampleMs = Math.max(1_000, Math.min(10_000, minutes * 1_000));
const failures: string[] = [];
const ends = new Map<string, number>();
const heap: number[] = [];
let runs = 0;

process.on('unhandledRejection', (reason) =>
  failures.push(`unhandled rejection: ${reason instanceof Error ? reason.message : typeof reason}`),
);
process.on('uncaughtException', (error) => failures.push(`uncaught exception: ${error.message}`));

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function count(seed: number, result: RunResult): void {
  runs += 1;
  ends.set(result.status, (ends.get(result.status) ?? 0) + 1);
  if (result.status === 'failed' && result.error.code === 'INTERNAL') failures.push(`seed ${seed}: ${result.error.message}`);
  if (seed % 16 !== 0) return;
  const [finding] = auditLog(result.log);
  if (finding !== undefined) failures.push(`seed ${seed}: ${finding}`);
}

/** One run of one of five kinds: to its end, watched to its end, cancelled, left by its reader, or one of a session. */
async function soakOne(seed: number): Promise<void> {
  const world = makeWorld(seed, { refusals: 3, faults: 1 });
  const shared = { guardrails: world.guardrails, quarantine: memoryQuarantine(), limits: limitsOf(seed) };
  switch (hash(seed, 'kind') % 5) {
    case 0:
      return count(seed, (await drive(seed, world, 'run')).result);
    case 1:
      return count(seed, (await drive(seed, world, 'stream')).result);
    case 2: {
      const controller = new AbortController();
      const timer = setTimeout(() => controller.abort(), hash(seed, 'abort') % 5);
      const result = await run(world.start, 'Refund o1 please', { ...shared, signal: controller.signal });
      clearTimeout(timer);
      return count(seed, result as RunResult);
    }
    case 3: {
      const events = stream(world.start, 'Refund o1 please', shared);
      let left = hash(seed, 'leave') % 20;
      for await (const _ of events) {
        left -= 1;
        if (left < 0) break;
      }
      return count(seed, (await events.result) as RunResult);
    }
    default: {
      const session = { store: memorySession(), id: 's' };
      for (const text of ['Refund o1 please', 'And o2?'])
        count(seed, (await run(world.start, text, { ...shared, session, unfinished: 'abandon' })) as RunResult);
    }
  }
}

async function work(until: number, next: () => number): Promise<void> {
  while (Date.now() < until && failures.length < 20) {
    const seed = next();
    try {
      await soakOne(seed);
    } catch (error) {
      failures.push(`seed ${seed}: rejected with ${error instanceof Error ? error.message : typeof error}`);
    }
    // Lets timers and the sampling have their turn.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function sample(until: number): Promise<void> {
  while (Date.now() < until) {
    await wait(Math.min(sampleMs, Math.max(0, until - Date.now())));
    globalThis.gc?.();
    heap.push(process.memoryUsage().heapUsed);
  }
}

process.stdout.write(`Soak: ${minutes} min, ${atOnce} runs at once, seeds from ${firstSeed}.\n`);
const until = Date.now() + minutes * 60_000;
let seed = firstSeed;
const next = (): number => {
  seed += 1;
  return seed;
};
await Promise.all([...Array.from({ length: atOnce }, () => work(until, next)), sample(until)]);
const verdict = heapVerdict(heap);
if (verdict.problem !== undefined) failures.push(verdict.problem);

process.stdout.write(
  `${runs} runs: ${[...ends]
    .toSorted()
    .map(([status, many]) => `${many} ${status}`)
    .join(', ')}.\nHeap after a collection: ${verdict.text}\n`,
);
for (const failure of failures) process.stdout.write(`FAILED: ${failure}\n`);
process.stdout.write(failures.length === 0 ? 'Soak passed.\n' : `Soak failed. Run it again with --seed ${firstSeed}.\n`);
process.exitCode = failures.length === 0 ? 0 : 1;

// Nothing may keep the process: this timer does not, so it fires only where something else does.
setTimeout(() => {
  process.stdout.write(`FAILED: the process stays open after its last run, by ${process.getActiveResourcesInfo().join(', ')}.\n`);
  process.exit(1);
}, 5_000).unref();
