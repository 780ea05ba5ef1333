import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../model/types.js';
import { canonicalJson } from './canonical-json.js';

const shuffled = (value: unknown, seed: number): unknown => {
  if (Array.isArray(value)) return value.map((element) => shuffled(element, seed));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, field]): [string, unknown] => [key, shuffled(field, seed)]);
  return Object.fromEntries(seed % 2 === 0 ? entries.reverse() : [...entries.slice(1), ...entries.slice(0, 1)]);
};

describe('canonicalJson', () => {
  it('sorts keys by their UTF-16 units and leaves out what has no value', () => {
    expect(canonicalJson({ b: 1, a: undefined, '€': 2, A: [null, { d: true, c: 'x' }] })).toBe(
      '{"A":[null,{"c":"x","d":true}],"b":1,"€":2}',
    );
  });

  it('writes numbers and texts as RFC 8785 does', () => {
    expect(canonicalJson([333333333.3333333, 1e30, 4.5, 2e-3, 1e-27, -0, 'a"\u000f\n'])).toBe(
      '[333333333.3333333,1e+30,4.5,0.002,1e-27,0,"a\\"\\u000f\\n"]',
    );
  });

  it('is equal for every value whatever the order of its keys, and reads back as the value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.nat(), (value, seed) => {
        const text = canonicalJson(value as JsonValue);
        expect(canonicalJson(shuffled(value, seed) as JsonValue)).toBe(text);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('differs for every two values that differ', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 3 }), (left, right) => {
        let isEqual = true;
        try {
          expect(JSON.parse(JSON.stringify(left))).toEqual(JSON.parse(JSON.stringify(right)));
        } catch {
          isEqual = false;
        }
        expect(canonicalJson(left as JsonValue) === canonicalJson(right as JsonValue)).toBe(isEqual);
      }),
    );
  });
});
