import type { Log, RunResult } from '@guardloop/core';
import { fork, replay, resume, run } from '@guardloop/core';
import { auditLog, normalLog } from '@guardloop/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decide } from '../promises/drive.js';
import { makeWorld } from '../promises/world.js';

const temper = { refusals: 2, faults: 0 };
const input = 'Refund o1 please';
const seeds = fc.integer({ min: 0, max: 1_000_000 });

/** A random run, taken to its end where people are asked too. */
async function finished(seed: number): Promise<Log> {
  const world = makeWorld(seed, temper);
  let result: RunResult = await run(world.start, input, { guardrails: world.guardrails, limits: { turns: 6 } });
  for (let pauses = 0; result.status === 'interrupted' && pauses < 20; pauses += 1) {
    const decisions = Object.fromEntries(result.approvals.map(({ id, surface }) => [id, decide(seed, id, surface)]));
    result = (await resume(world.start, result.log, { guardrails: world.guardrails, decisions })) as RunResult;
  }
  return result.log;
}

it('replay of every prefix of every log gives a state for each event, and the same one again', async () => {
  await fc.assert(
    fc.asyncProperty(seeds, async (seed) => {
      const log = await finished(seed);
      const whole = [...replay(log)];
      expect(whole.map(({ event }) => event)).toEqual(log.events);
      for (let length = 0; length <= log.events.length; length += 1) {
        const part = [...replay({ version: 1, events: log.events.slice(0, length) })];
        expect(part.length).toBe(length);
        expect(part.at(-1)).toEqual(whole[length - 1]);
      }
    }),
    { numRuns: 25, seed: 11 },
  );
}, 60_000);

it('a fork at any event with nothing changed ends as the original did, starts no call again, and repeats no key', async () => {
  await fc.assert(
    fc.asyncProperty(seeds, async (seed) => {
      const log = await finished(seed);
      const untouched = JSON.stringify(log);
      const wanted = normalLog(log);
      const keys = new Set(log.events.flatMap((event) => (event.type === 'tool.start' ? [event.idempotencyKey] : [])));
      // Where a process was left in the middle, the fork is asked what people decided there.
      const isCut = log.events.some(({ type }) => type === 'run.resume');
      for (const { seq } of log.events) {
        const again = makeWorld(seed, temper);
        const result = (await fork(again.start, log, { at: seq, guardrails: again.guardrails, input })) as RunResult;
        expect(auditLog(result.log)).toEqual([]);
        for (const effect of again.effects) expect(keys.has(effect.slice('send '.length))).toBe(false);
        const begun = log.events.slice(0, seq).filter(({ type }) => type === 'tool.start').length;
        const starts = result.log.events.filter(({ type }) => type === 'tool.start');
        expect(starts.length).toBeGreaterThanOrEqual(begun);
        if (result.status === 'interrupted' && isCut) continue;
        expect(normalLog(result.log)).toEqual(wanted);
      }
      expect(JSON.stringify(log)).toBe(untouched);
    }),
    { numRuns: 10, seed: 17 },
  );
}, 120_000);
