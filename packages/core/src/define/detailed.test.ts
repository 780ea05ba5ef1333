import { expect, test } from 'vitest';
import { readDetailed, withDetails } from './detailed.js';

test('it keeps output and details apart', () => {
  expect(readDetailed(withDetails({ id: 1 }, { rows: [1, 2] }))).toEqual({ output: { id: 1 }, details: { rows: [1, 2] } });
});

test('an output of nothing is still detailed', () => {
  expect(readDetailed(withDetails(undefined, undefined))).toEqual({ output: undefined, details: undefined });
});

test('what only looks like it is not', () => {
  for (const other of [undefined, null, 3, 'x', {}, { output: 1, details: 2 }]) expect(readDetailed(other)).toBeUndefined();
});
