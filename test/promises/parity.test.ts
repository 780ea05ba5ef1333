import { normalLog } from '@guardloop/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { drive } from './drive.js';
import { makeWorld } from './world.js';

it('run and stream, resumed after every pause, leave equal logs in normal form, for every world', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 1_000_000 }), async (seed) => {
      const ran = await drive(seed, makeWorld(seed), 'run');
      const streamed = await drive(seed, makeWorld(seed), 'stream');
      expect(streamed.result.status).toBe(ran.result.status);
      expect(normalLog(streamed.result.log)).toEqual(normalLog(ran.result.log));
      expect(streamed.result.usage).toEqual(ran.result.usage);
      expect(ran.result.status).not.toBe('interrupted');
      if (ran.result.status === 'failed') expect(['OUTPUT_INVALID', 'MODEL_PROTOCOL']).toContain(ran.result.error.code);
    }),
    { numRuns: 150, seed: 7 },
  );
}, 60_000);
