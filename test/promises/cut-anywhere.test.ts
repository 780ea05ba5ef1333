import type { Log, RunResult } from '@guardloop/core';
import { resume, run } from '@guardloop/core';
import { cutAnywhere } from '@guardloop/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decide } from './drive.js';
import { findBrokenPairs } from './pairs.js';
import { makeWorld } from './world.js';

const temper = { refusals: 2, faults: 0 };
const input = 'Refund o1 please';

it('every prefix of every log resumes to the same end, or asks; no effect runs twice; every request is legal', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 1_000_000 }), async (seed) => {
      const world = makeWorld(seed, temper);
      let result: RunResult = await run(world.start, input, { guardrails: world.guardrails, limits: { turns: 40 } });
      for (let pauses = 0; result.status === 'interrupted' && pauses < 20; pauses += 1) {
        const decisions = Object.fromEntries(result.approvals.map(({ id, surface }) => [id, decide(seed, id, surface)]));
        result = (await resume(world.start, result.log, { guardrails: world.guardrails, decisions })) as RunResult;
      }
      const report = await cutAnywhere(result.log, async (prefix: Log) => {
        const again = makeWorld(seed, temper);
        const resumed = (await resume(again.start, prefix, { guardrails: again.guardrails, input })) as RunResult;
        const started = new Set(
          prefix.events.flatMap((event) => (event.type === 'tool.start' && event.tool === 'send' ? [`send ${event.idempotencyKey}`] : [])),
        );
        expect(again.effects.filter((effect) => started.has(effect))).toEqual([]);
        expect(new Set(again.effects).size).toBe(again.effects.length);
        for (const request of again.requests) expect(findBrokenPairs(request.messages)).toEqual([]);
        if (resumed.status !== 'interrupted') expect(findBrokenPairs(resumed.messages)).toEqual([]);
        return resumed;
      });
      expect(report.differences).toEqual([]);
    }),
    { numRuns: 40, seed: 13 },
  );
}, 120_000);
