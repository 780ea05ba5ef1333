import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonLoss } from './json-loss.js';
import type { JsonValue } from './types.js';

const lossOf = (text: string): string | undefined => jsonLoss(text, JSON.parse(text) as JsonValue);

describe('what a JSON text loses when it is read', () => {
  it.each([
    '{}',
    '"a:b"',
    '{"a":{"a":1},"b":[{"a":1},{"a":2}]}',
    '{"a:":"{\\"a\\":1,\\"a\\":2}","\\\\":1}',
    '{"a" : 1.0, "b" : 1e3, "c" : -0, "d" : 0.1234567890123456789}',
    '{"n":9007199254740991,"m":-12345678901234567000}',
    '{"wei":1000000000000000000000,"m":-1234500000000000000000000}',
    `[${10n ** 23n},1${'0'.repeat(300)}]`,
    '{"__proto__":1,"toString":2}',
    '"12345678901234567890"',
  ])('is nothing: %s', (text) => {
    expect(lossOf(text)).toBeUndefined();
  });

  it.each([
    ['{"a":1,"a":1}', 'a key stands twice'],
    ['{"a":1,"\\u0061":2}', 'a key stands twice'],
    ['[{"b":{"a":1,"c":[],"a":"SECRET"}}]', 'a key stands twice'],
    ['{"n":12345678901234567890}', 'more digits'],
    ['[ -9007199254740993 ]', 'more digits'],
    ['[1000000000000000000001]', 'more digits'],
    [`[1${'0'.repeat(400)}]`, 'more digits'],
  ])('is told without a word of it: %s', (text, told) => {
    expect(lossOf(text)).toContain(told);
    expect(lossOf(text)).not.toMatch(/SECRET|\d/);
  });

  it('is nothing for whatever was written from a value', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), fc.integer({ min: 0, max: 2 }), (text, indent) => {
        const value = JSON.parse(text) as JsonValue;
        expect(lossOf(JSON.stringify(value, null, indent))).toBeUndefined();
      }),
    );
  });
});
