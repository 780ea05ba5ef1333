import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isLinearPattern, withoutSlowPatterns } from './linear-patterns.js';

describe('patterns of schemas', () => {
  it.each([
    '^[a-z]+$',
    '^\\d{4}-\\d{2}-\\d{2}$',
    '^(?:a|b|c)$',
    '^(GET|POST)$',
    'abc',
    '^https?://',
    '^[^\\s]*$',
    '[A-F0-9]{8}',
    '^a(?:bc)?$',
    '^\\{x\\}$',
    '^[\\]a]+$',
    '',
  ])('that take linear time are kept: %s', (source) => {
    expect(isLinearPattern(source)).toBe(true);
  });

  it.each([
    '^(a+)+$',
    '^(a|a)*$',
    '(a*)*b',
    '^(a{1,5})+$',
    '(x+x+)+y',
    '^(?=a)b',
    '(?<!a)b',
    '^(a)\\1$',
    '^\\k<n>$',
    '.*x',
    'a+$',
    '^a|b+$',
    '^a*a*$',
    '^(a?){50}$',
    '^[a-z',
    '+a',
    `^${'a?'.repeat(30)}$`,
    'a'.repeat(501),
    '^a{1,9999}$',
  ])('that may not are left out: %s', (source) => {
    expect(isLinearPattern(source)).toBe(false);
  });

  it('that are kept are quick on long and hostile texts, whatever they are', () => {
    const piece = fc.constantFrom(
      'a',
      'b',
      '.',
      '[ab]',
      '\\w',
      '(',
      '(?:',
      ')',
      '|',
      '*',
      '+',
      '?',
      '{2}',
      '{1,3}',
      '{2,}',
      '^',
      '$',
      '\\1',
    );
    const sources = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
    const texts = ['a'.repeat(20_000), `${'ab'.repeat(10_000)}!`, `${'a'.repeat(20_000)}!`];
    fc.assert(
      fc.property(sources, (source) => {
        if (!isLinearPattern(source)) return;
        let pattern: RegExp;
        try {
          pattern = new RegExp(source, 'u');
        } catch {
          return;
        }
        const start = process.cpuUsage();
        for (const text of texts) pattern.test(text);
        expect(process.cpuUsage(start).user).toBeLessThan(2_000_000);
      }),
      { numRuns: 3_000, seed: 169 },
    );
  });

  it('are taken out wherever they stand, and data that looks like them is not touched', () => {
    const schema = {
      type: 'object',
      properties: {
        pattern: { type: 'string', pattern: '(a+)+' },
        b: { anyOf: [{ pattern: '^x+$' }, { pattern: '(y*)*' }], default: { pattern: '(a+)+' }, enum: [{ pattern: '(a+)+' }] },
      },
      patternProperties: { '(a+)+': {}, '^x': { type: 'string' } },
      additionalProperties: false,
    };
    const before = JSON.stringify(schema);
    expect(withoutSlowPatterns(schema)).toEqual({
      type: 'object',
      properties: {
        pattern: { type: 'string' },
        b: { anyOf: [{ pattern: '^x+$' }, {}], default: { pattern: '(a+)+' }, enum: [{ pattern: '(a+)+' }] },
      },
      patternProperties: { '^x': { type: 'string' } },
      additionalProperties: true,
    });
    expect(JSON.stringify(schema)).toBe(before);
  });
});
