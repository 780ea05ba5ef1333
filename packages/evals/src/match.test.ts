import fc from 'fast-check';
import { expect, it } from 'vitest';
import { countMatches, fits, isAnswer, isEqual } from './match.js';

it('an input fits when it has what is wanted, deep, and may have more', () => {
  expect(fits({ a: { b: 1 } }, { a: { b: 1, c: 2 }, d: 3 })).toBe(true);
  expect(fits({ a: [1, { b: 2 }] }, { a: [1, { b: 2, c: 3 }] })).toBe(true);
  expect(fits({ a: [1] }, { a: [1, 2] })).toBe(false);
  expect(fits({ a: null }, { a: undefined })).toBe(false);
  expect(fits({ a: null }, {})).toBe(false);
  expect(fits({ a: {} }, { a: null })).toBe(false);
  expect(fits({}, [])).toBe(false);
});

it('every value fits itself, and is equal to its JSON read again', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const read = JSON.parse(JSON.stringify(value));
      expect(isEqual(read, JSON.parse(JSON.stringify(read)))).toBe(true);
    }),
    { numRuns: 200, seed: 3 },
  );
});

it('a made call stands for one expected call alone, and the most that can be are matched', () => {
  const wide = { tool: 'find' };
  const narrow = { tool: 'find', input: { id: 1 } };
  expect(countMatches([wide, narrow], [{ name: 'find', input: { id: 1 } }])).toBe(1);
  // The wide one took the only call that the narrow one can have, and gives it up for another.
  expect(
    countMatches(
      [wide, narrow],
      [
        { name: 'find', input: { id: 1 } },
        { name: 'find', input: { id: 2 } },
      ],
    ),
  ).toBe(2);
  expect(
    countMatches(
      [narrow, narrow],
      [
        { name: 'find', input: { id: 1 } },
        { name: 'other', input: { id: 1 } },
      ],
    ),
  ).toBe(1);
  expect(countMatches([], [{ name: 'find', input: {} }])).toBe(0);
});

it('an answer is as expected when all that is given holds', () => {
  expect(isAnswer({ contains: ['warsaw'], lacks: ['Paris'] }, 'In Warsaw.', undefined)).toBe(true);
  expect(isAnswer({ contains: ['warsaw'], lacks: ['in'] }, 'In Warsaw.', undefined)).toBe(false);
  expect(isAnswer({ matches: '^\\d+ °c$' }, '4 °C', undefined)).toBe(true);
  expect(isAnswer({ equals: { a: 1 } }, '{"a":1}', { a: 1 })).toBe(true);
  expect(isAnswer({ equals: { a: 1 } }, '{"a":1,"b":2}', { a: 1, b: 2 })).toBe(false);
  expect(isAnswer({ equals: 'yes' }, 'yes', undefined)).toBe(true);
});
