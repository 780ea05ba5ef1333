import type { Decision, Log, QuarantineStore, RunEvent, RunResult } from '@guardloop/core';
import { resume, run, stream } from '@guardloop/core';
import type { World } from './world.js';
import { hash, limitsOf } from './world.js';

/** A quarantine in memory. */
export function memoryQuarantine(): QuarantineStore {
  const kept = new Map<string, never>();
  return {
    put: async (key, value) => void kept.set(key, value as never),
    get: async (key) => kept.get(key),
    delete: async (key) => void kept.delete(key),
  };
}

/** What people decide about an approval, as a function of the seed and of what is asked. */
export function decide(seed: number, id: string, surface: string): Decision {
  const where = id.slice(id.indexOf('/'));
  const draw = hash(seed, where, 'decision') % 10;
  if (draw < 3) return { reject: 'not today' };
  if (draw < 5 && surface === 'toolInput') return { edit: { id: 'edited', input: 'edited' } };
  return 'approve';
}

export interface Driven {
  readonly result: RunResult;
  /** Everything that was shown, in order. */
  readonly events: readonly RunEvent[];
  readonly pauses: number;
}

/** Runs a world to its end, deciding all approvals at each pause, each time from the log's JSON. */
export async function drive(seed: number, world: World, mode: 'run' | 'stream'): Promise<Driven> {
  const quarantine = memoryQuarantine();
  const events: RunEvent[] = [];
  const shared = { guardrails: world.guardrails, quarantine };
  const watch = async (watched: ReturnType<typeof stream>): Promise<RunResult> => {
    for await (const event of watched) events.push(event);
    return watched.result;
  };
  const first = { ...shared, limits: limitsOf(seed) };
  let result: RunResult =
    mode === 'run'
      ? await run(world.start, 'Refund o1 please', first)
      : await watch(stream(world.start, 'Refund o1 please', first) as never);
  let pauses = 0;
  while (result.status === 'interrupted' && pauses < 40) {
    pauses += 1;
    const log = JSON.parse(JSON.stringify(result.log)) as Log;
    const decisions = Object.fromEntries(result.approvals.map(({ id, surface }) => [id, decide(seed, id, surface)]));
    const next = resume(world.start, log, { ...shared, decisions });
    result = mode === 'run' ? ((await next) as RunResult) : await watch(next as never);
  }
  return { result, events, pauses };
}
