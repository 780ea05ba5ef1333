import type { Comparison, Guardrail, Log, Surface } from '@guardloop/core';
import { allow, compareVerdicts, defineGuardrail, deny } from '@guardloop/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { drive } from '../promises/drive.js';
import type { World } from '../promises/world.js';
import { hash, makeWorld, surfaces } from '../promises/world.js';

const setOf = ({ guardrails, own }: World, more: readonly Guardrail<unknown>[] = []) => ({ run: [...guardrails, ...more], agents: own });
const changedOf = ({ subjects }: Comparison) => subjects.filter(({ status }) => status === 'changed');
const copy = (log: Log): Log => JSON.parse(JSON.stringify(log)) as Log;
const order = ['allow', 'rewrite', 'ask', 'deny', 'halt'];
const worlds = fc.integer({ min: 0, max: 1_000_000 });

describe('for every world', () => {
  it('nothing changes under the very guardrails that judged, and no model or tool is called', async () => {
    let known = 0;
    await fc.assert(
      fc.asyncProperty(worlds, async (seed) => {
        const world = makeWorld(seed, { refusals: 3, faults: 1 });
        const { result } = await drive(seed, world, 'run');
        const [asked, done] = [world.requests.length, world.effects.length];
        const before = JSON.stringify(result.log);
        const comparison = await compareVerdicts(result.log, setOf(world));
        expect(changedOf(comparison)).toEqual([]);
        expect(comparison.runs.filter(({ divergence }) => divergence)).toEqual([]);
        expect([world.requests.length, world.effects.length]).toEqual([asked, done]);
        expect(JSON.stringify(result.log)).toBe(before);
        known += comparison.total.same;
      }),
      { numRuns: 150, seed: 72 },
    );
    expect(known).toBeGreaterThan(500);
  });

  it('nothing changes in a log cut anywhere, nor in its JSON', async () => {
    await fc.assert(
      fc.asyncProperty(worlds, fc.nat(), async (seed, pick) => {
        const world = makeWorld(seed);
        const { result } = await drive(seed, world, 'run');
        const { events } = copy(result.log);
        const cut: Log = { version: 1, events: events.slice(0, pick % (events.length + 1)) };
        const comparison = await compareVerdicts(cut, setOf(world));
        expect(changedOf(comparison)).toEqual([]);
        const whole = await compareVerdicts([result.log, copy(result.log)], setOf(world));
        const rows = (log: number) =>
          whole.subjects.filter((row) => row.log === log).map(({ log: _, verdicts, ...row }) => [row, verdicts.length]);
        expect(rows(1)).toEqual(rows(0));
      }),
      { numRuns: 60, seed: 73 },
    );
  });

  it.each(surfaces)(
    'a guardrail that denies everything on %s changes every subject there that is known, and no other',
    async (surface: Surface) => {
      let denied = 0;
      const closed = defineGuardrail({
        name: 'closed',
        on: [surface] as ['output'],
        rewrite: () => deny('closed'),
        check: () => deny('closed'),
      });
      await fc.assert(
        fc.asyncProperty(worlds, async (seed) => {
          const world = makeWorld(seed, { refusals: 1, faults: 0 });
          const { result } = await drive(seed, world, 'run');
          const comparison = await compareVerdicts(result.log, setOf(world, [closed]));
          const asked = new Set<string>();
          for (const row of comparison.subjects) {
            // What arose under it, or was put to it before, is not put to it again.
            const isOld = row.surface === 'input' && (asked.has(row.subject) || !/\/(input|view|brief|i\d+|v\d+)$/.test(row.subject));
            asked.add(row.subject);
            if (row.status === 'unknown' || isOld) continue;
            if (row.surface !== surface) expect(row, JSON.stringify(row)).toMatchObject({ status: 'same' });
            else if (row.recorded.action === 'deny' || row.recorded.action === 'halt') expect(row.replayed?.action).toMatch(/deny|halt/);
            else
              expect(row, JSON.stringify(row)).toMatchObject({
                status: 'changed',
                replayed: { action: expect.stringMatching(/deny|halt/) },
              });
            if (row.surface === surface && row.replayed?.by === 'closed') denied += 1;
          }
          const { closed: own } = Object.fromEntries(comparison.guardrails.map((each) => [each.guardrail, each]));
          expect(own?.answers).toMatchObject({ allow: 0, rewrite: 0, ask: 0, halt: 0 });
        }),
        { numRuns: 40, seed: 74 },
      );
      expect(denied).toBeGreaterThan(10);
    },
  );

  it('beside what was recorded, nothing changes by no guardrail, and no answer is weaker by another', async () => {
    let denied = 0;
    const open = (seed: number) =>
      defineGuardrail({
        name: 'late',
        on: surfaces as ['output'],
        check: ({ content }) => (hash(seed, content) % 3 === 0 ? deny('no') : allow()),
      });
    await fc.assert(
      fc.asyncProperty(worlds, async (seed) => {
        const world = makeWorld(seed, { refusals: 5, faults: 1 });
        const { result } = await drive(seed, world, 'run');
        const nothing = await compareVerdicts(result.log, [], { recorded: 'kept' });
        expect(changedOf(nothing)).toEqual([]);
        const { subjects } = await compareVerdicts(result.log, [open(seed)], { recorded: 'kept' });
        for (const { recorded, replayed } of subjects)
          if (replayed) expect(order.indexOf(replayed.action)).toBeGreaterThanOrEqual(order.indexOf(recorded.action));
        denied += subjects.filter(({ replayed }) => replayed?.by === 'late').length;
      }),
      { numRuns: 40, seed: 75 },
    );
    expect(denied).toBeGreaterThan(10);
  });
});
