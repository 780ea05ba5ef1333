import { expect, test } from 'vitest';
import { fitsPattern, isToolPattern } from './tool-pattern.js';

test.each([
  ['refund_order', 'refund_order', true],
  ['refund_order', 'refund_orders', false],
  ['refund_*', 'refund_order', true],
  ['refund_*', 'refund_', true],
  ['refund_*', 'refund', false],
  ['*_order', 'refund_order', true],
  ['*', 'anything', true],
  ['**', 'anything', true],
  ['a*b*c', 'abc', true],
  ['a*b*c', 'a-x-b-y-c', true],
  ['a*b*c', 'acb', false],
  ['a*a', 'a', false],
  ['ab*ba', 'aba', false],
  ['*ab*ab*', 'abab', true],
  ['*ab*ab*', 'aba', false],
  ['a*bc*c', 'abc', false],
  ['Refund_*', 'refund_order', false],
])('the pattern %s fits the name %s: %s', (pattern, name, fits) => {
  expect(fitsPattern(pattern, name)).toBe(fits);
});

test('a pattern fits exactly what the same pattern as a regular expression fits', () => {
  const letters = ['a', 'b', '*'];
  const words = (alphabet: readonly string[], length: number): string[] =>
    length === 0 ? [''] : words(alphabet, length - 1).flatMap((word) => alphabet.map((letter) => word + letter));
  const names = [1, 2, 3, 4, 5].flatMap((length) => words(['a', 'b'], length));
  for (const pattern of [1, 2, 3, 4].flatMap((length) => words(letters, length))) {
    const expression = new RegExp(`^${pattern.replaceAll('*', '.*')}$`);
    for (const name of names) expect([pattern, name, fitsPattern(pattern, name)]).toEqual([pattern, name, expression.test(name)]);
  }
});

test('a pattern holds only what a tool name can hold, and stars', () => {
  expect(['find_*', 'a-b', '*', 'x'.repeat(64)].every(isToolPattern)).toBe(true);
  expect(['', 'find order', 'find.*', 'x'.repeat(65), 'find_?', 'é', 3, null, undefined].some(isToolPattern)).toBe(false);
});
