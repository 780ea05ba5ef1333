import type { Projection } from '@guardloop/core';
import { headTail, jsonFields } from '@guardloop/core';
import { say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evaluateSummariser } from './observation-loss.js';
import { summariseObservation } from './observation-summary.js';

const order = {
  orderId: 'o-17',
  status: 'In_Transit',
  total: 1500,
  sku: 'AX-9',
  note: 'Leave it at the door, please, as always.',
  due: '2026-03-01',
};
const shows =
  (text: string): Projection =>
  () =>
    text;
const lostOf = async (text: string, more: object = {}) => {
  const { cases } = await evaluateSummariser([{ name: 'order', output: order, ...more }], shows(text));
  return (cases[0]?.lost ?? []).map(({ kind, path, value }) => `${kind} ${path} ${value}`);
};

describe('what got lost of a result', () => {
  it('is each identifier, number and status that is not shown', async () => {
    expect(await lostOf('')).toEqual([
      'identifier orderId o-17',
      'status status In_Transit',
      'number total 1500',
      'identifier sku AX-9',
      'identifier due 2026-03-01',
    ]);
    expect(await lostOf('Order o-17 (AX-9) is in_transit, 1,500 cents, due 2026-03-01.')).toEqual([]);
  });

  it('is not there as a part of another word or number', async () => {
    expect(await lostOf('o-171, o-17x, AX-99, 15000, 1500.5, 12026-03-01, In_Transits')).toHaveLength(5);
    expect(await lostOf('"o-17", AX-9; 1500. 2026-03-01/In_Transit')).toEqual([]);
  });

  it('is also what was named: by the case, or as the input of a tool', async () => {
    const note = `kept note ${order.note}`;
    expect(await lostOf('', { keep: ['note'] })).toContain(note);
    expect(await lostOf('', { arguments: ['note'] })).toContain(note);
    expect(await lostOf(JSON.stringify({ ...order, sku: 1 }), { keep: ['note'] })).toEqual(['identifier sku AX-9']);
  });

  it('is told with its place, and each value once', async () => {
    const output = { rows: [{ id: 'a1' }, { id: 'b2', status: 'open' }, { status: 'open' }], list: ['c3', 'words only'] };
    const { cases } = await evaluateSummariser([{ name: 'rows', output }], shows('a1'));
    expect(cases[0]).toMatchObject({ facts: 4 });
    expect(cases[0]?.lost.map(({ path }) => path)).toEqual(['rows[1].id', 'rows[1].status', 'list[0]']);
  });

  it('of a text is each number, and each word with a digit', async () => {
    const output = 'Order o-17 of 2026-03-01: 1,500 cents, -3.5 degrees in room 12. No more.';
    const { cases } = await evaluateSummariser([{ name: 'text', output }], shows('o-17: 1500 in room 12'));
    expect(cases[0]?.lost.map(({ kind, value, path }) => `${kind} ${value} ${path}`)).toEqual([
      'identifier 2026-03-01 character 14',
      'number -3.5 character 39',
    ]);
    expect((await evaluateSummariser([{ name: 'text', output }], shows(output))).total.lost).toBe(0);
  });
});

describe('a report', () => {
  it('sums all cases by kind, and tells which failed', async () => {
    const cases = [
      { name: 'good', output: order },
      { name: 'bad', output: { id: 'x1', count: 3 } },
    ];
    const summariser: Projection = (output, { used }) => {
      used({ model: 'small', usage: { requests: 1 } });
      if (output !== order) throw new Error('no');
      return 'o-17 AX-9';
    };
    const report = await evaluateSummariser(cases, summariser);
    expect(report.cases).toMatchObject([
      { name: 'good', facts: 5, shownChars: 9, used: [{ model: 'small' }] },
      { name: 'bad', facts: 2, lost: [{ value: 'x1' }, { value: '3' }], failed: true },
    ]);
    expect(report.total).toMatchObject({
      facts: 7,
      lost: 5,
      failed: 1,
      byKind: {
        identifier: { facts: 4, lost: 2 },
        number: { facts: 2, lost: 2 },
        status: { facts: 1, lost: 1 },
        kept: { facts: 0, lost: 0 },
      },
    });
  });

  it('tells a model that loses identifiers from one that keeps them', async () => {
    const cases = [{ name: 'order', output: { ...order, text: 'filler '.repeat(200) } }];
    const keeping = scriptedModel(() => say('Order o-17 of AX-9 is In_Transit: 1500, due 2026-03-01.'));
    const losing = scriptedModel(() => say('An order of something is under way.'));
    const measured = (model: typeof keeping) => evaluateSummariser(cases, summariseObservation({ model, maxChars: 300 }));
    expect((await measured(keeping)).total.lost).toBe(0);
    // Core's essentials stand beside every summary.
    expect((await measured(losing)).cases[0]?.lost.map(({ path }) => path)).toEqual(['sku', 'due']);
  });

  it('finds nothing lost where all is shown, and all where nothing is, for every result', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 3 }), async (value) => {
        const cases = [{ name: 'any', output: { value } as never, keep: ['value'] }];
        const whole = await evaluateSummariser(cases, (output) => JSON.stringify(output));
        expect(whole.cases[0]?.lost.filter(({ kind }) => kind !== 'kept' && kind !== 'number')).toEqual([]);
        const none = await evaluateSummariser(cases, shows(''));
        expect(none.total.lost).toBe(none.total.facts);
      }),
      { numRuns: 200 },
    );
  });

  it('measures any projection', async () => {
    const cases = [{ name: 'order', output: { rest: 'x'.repeat(500), ...order } }];
    expect((await evaluateSummariser(cases, jsonFields({ keep: ['sku', 'due', 'total'] }) as Projection)).total.lost).toBe(0);
    expect((await evaluateSummariser(cases, headTail({ maxChars: 40 }))).total.lost).toBeGreaterThan(0);
  });
});
