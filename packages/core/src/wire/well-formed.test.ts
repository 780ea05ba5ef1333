import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonValue } from '../model/types.js';
import { wellFormed, wellFormedJson, wellFormedJsonText } from './well-formed.js';

const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('a\ud83d', '\ude00b', '😀', '\\ud83d'));
const json = fc.jsonValue({ maxDepth: 3 }).chain((value) => fc.tuple(fc.constant(value), fc.array(text))) as fc.Arbitrary<JsonValue>;
/** Every string in the value, keys too. */
const strings = (value: JsonValue | undefined): readonly string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([key, item]) => [key, ...strings(item)])
      : [];
const isWhole = (value: JsonValue): boolean => strings(value).every((each) => !/\p{Surrogate}/u.test(each));

test('no lone surrogate is left in any value, nor in its JSON after it is parsed again', () => {
  fc.assert(
    fc.property(json, (value) => {
      const sent = JSON.stringify(value);
      expect(isWhole(wellFormed(value))).toBe(true);
      for (const clean of [wellFormedJson(value), wellFormedJsonText(sent)]) expect(isWhole(JSON.parse(clean) as JsonValue)).toBe(true);
    }),
  );
});

test('what holds none stays the same object, and the same text', () => {
  fc.assert(
    fc.property(json, (value) => {
      fc.pre(isWhole(value));
      expect(wellFormed(value)).toBe(value);
      expect(wellFormedJson(value)).toBe(JSON.stringify(value));
      const spaced = JSON.stringify(value, null, 1);
      expect(wellFormedJsonText(spaced)).toBe(spaced);
    }),
  );
});

test('half a pair becomes U+FFFD where it stood, in keys too', () => {
  expect(wellFormed({ 'a\ud83d': ['b\ude00', { c: 1 }] })).toEqual({ 'a\ufffd': ['b\ufffd', { c: 1 }] });
});
