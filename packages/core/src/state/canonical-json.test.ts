import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
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

  it('sorts at every depth, whatever stands in order around it', () => {
    expect(canonicalJson({ a: [{ c: 1, b: 2 }], z: 1 })).toBe('{"a":[{"b":2,"c":1}],"z":1}');
    expect(canonicalJson([[{ b: 1, a: 2 }, null], 'x', { a: { d: 0, c: false } }])).toBe(
      '[[{"a":2,"b":1},null],"x",{"a":{"c":false,"d":0}}]',
    );
    expect(canonicalJson({ b: {}, a: [] })).toBe('{"a":[],"b":{}}');
  });

  it.each<[string, JsonValue, number]>([
    ['in order', { a: { b: [1, { c: 2, d: null }] }, e: 'x' }, 1],
    ['in order behind an empty name', { '': 1, a: 2 }, 1],
    ['in order in a long list', Array.from({ length: 12 }, (_, index) => ({ a: index, b: index })), 1],
    ['out of order', { b: 1, a: 2 }, 4],
  ])('writes a value whose keys stand %s in so many pieces', (_what, value, pieces) => {
    const stringify = vi.spyOn(JSON, 'stringify');
    try {
      canonicalJson(value);
      expect(stringify).toHaveBeenCalledTimes(pieces);
    } finally {
      stringify.mockRestore();
    }
  });

  it('writes what has no value as JSON does, in order or not: left out of an object, null in a list', () => {
    expect(canonicalJson({ a: undefined, b: 1 })).toBe('{"b":1}');
    expect(canonicalJson({ c: undefined, b: 1, a: undefined })).toBe('{"b":1}');
    expect(canonicalJson([undefined as never, 1])).toBe('[null,1]');
    expect(canonicalJson([undefined as never, { b: 1, a: 2 }])).toBe('[null,{"a":2,"b":1}]');
  });

  it.each<[JsonValue, string]>([
    [null, 'null'],
    [true, 'true'],
    [0, '0'],
    ['', '""'],
    [[], '[]'],
    [{}, '{}'],
    [{ '': 1, '10': 2, '9': 3 }, '{"":1,"10":2,"9":3}'],
  ])('writes %j', (value, text) => {
    expect(canonicalJson(value)).toBe(text);
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
