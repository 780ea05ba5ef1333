import { expect, test } from 'vitest';
import { mergeSettings } from './merge-settings.js';

test('what a request leaves open is taken from the defaults; 0 and false are not open', () => {
  expect(
    mergeSettings(
      { temperature: 1, topP: 0.5, parallelToolCalls: true },
      { temperature: 0, topP: undefined, parallelToolCalls: false, seed: 0 },
    ),
  ).toEqual({ temperature: 0, topP: 0.5, parallelToolCalls: false, seed: 0 });
});

test('headers and metadata are merged by name, fields of extra by provider and name', () => {
  expect(
    mergeSettings(
      { headers: { a: '1', b: '1' }, metadata: { team: 'x' }, extra: { one: { p: 1, q: 1 }, two: { p: 1 } } },
      { headers: { b: '2' }, metadata: { user: 'y' }, extra: { one: { q: 2 }, three: {} } },
    ),
  ).toEqual({
    headers: { a: '1', b: '2' },
    metadata: { team: 'x', user: 'y' },
    extra: { one: { p: 1, q: 2 }, two: { p: 1 }, three: {} },
  });
});

test('defaults alone, and settings alone, are taken as they are', () => {
  expect(mergeSettings({ extra: { one: { p: 1 } } }, {})).toEqual({ extra: { one: { p: 1 } } });
  expect(mergeSettings(undefined, { headers: { a: '1' } })).toEqual({ headers: { a: '1' } });
});
