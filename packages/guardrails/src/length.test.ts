import { defineAgent, run } from '@guardloop/core';
import { wellFormedText } from '@guardloop/core/model';
import type { Turn } from '@guardloop/testing';
import { auditLog, say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LengthOptions } from './length.js';
import { length } from './length.js';

async function give(input: string, options: LengthOptions<'input' | 'output'>, turns: readonly Turn[] = [say('Yes.')]) {
  const result = await run(
    defineAgent({ name: 'a', instructions: '', model: scriptedModel(turns), guardrails: [length({ on: ['input'], ...options })] }),
    input,
  );
  expect(auditLog(result.log)).toEqual([]);
  return result.status === 'blocked' ? result.reason : result.status;
}

describe('a length', () => {
  it('is refused beyond its most and below its least, with the count', async () => {
    expect(await give('12345', { max: 5 })).toBe('completed');
    expect(await give('123456', { max: 5 })).toBe('it has 6 characters; at most 5 are allowed');
    expect(await give('12', { min: 3, max: 5 })).toBe('it has 2 characters; at least 3 are needed');
  });

  it('is counted in code points, as the text is iterated', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1, maxLength: 50 }), async (text) => {
        const { length: count } = [...wellFormedText(text)];
        expect(await give(text, { max: count })).toBe('completed');
        if (count > 1) expect(await give(text, { max: count - 1 })).toBe(`it has ${count} characters; at most ${count - 1} are allowed`);
      }),
      { numRuns: 60, seed: 6 },
    );
  });

  it.each([
    ['One two, three.', 3],
    ['Don’t count it’s apostrophes', 4],
    ['order o1 of 2026-01-02', 6],
    ['   \n', 0],
    ['我的订单', 4],
    ['ภาษาไทย', 7],
    ['naïve café', 2],
    ['mixed 中文 words', 4],
  ])('of words: %s', async (text, count) => {
    expect(await give(`${text}`, { max: 1_000, min: count, unit: 'words' })).toBe('completed');
    expect(await give(text, { min: count + 1, unit: 'words' })).toBe(`it has ${count} words; at least ${count + 1} are needed`);
  });

  it('is counted by a function, also one that takes its time', async () => {
    expect(await give('abc', { max: 2, unit: (text) => text.length })).toBe('it has 3 tokens; at most 2 are allowed');
    expect(await give('abc', { max: 2, unit: async (text) => text.length, unitName: 'bytes' })).toBe(
      'it has 3 bytes; at most 2 are allowed',
    );
    expect(await give('abc', { max: 2, unit: () => Number.NaN })).toBe('guardrail length failed');
    expect(
      await give('abc', {
        max: 2,
        unit: () => {
          throw new Error('abc');
        },
      }),
    ).toBe('guardrail length failed');
  });

  it('of an answer is refused, and a shorter answer may follow', async () => {
    expect(await give('go', { on: ['output'], max: 4 }, [say('Too long.'), say('Yes.')])).toBe('completed');
  });

  it.each(['a', 'a ', '中', '\ud800', '’', 'e\u0301'])('of 256 KB of %j is counted in time', async (unit) => {
    const began = process.cpuUsage();
    await give(unit.repeat(262_144 / unit.length), { max: 10, unit: 'words' });
    expect(process.cpuUsage(began).user).toBeLessThan(2_000_000);
  });

  it.each([
    [{}, 'length(…): it has neither min nor max'],
    [{ max: 0 }, 'max must be a whole number from 1'],
    [{ min: 5, max: 3 }, 'min is 5 and max is 3: nothing is both'],
    [{ max: 3, unit: 'tokens' }, "unit is neither 'characters' nor 'words' nor a function"],
    [{ max: 3, unit: 'word' }, 'Did you mean words?'],
  ])('with options that do not fit is refused', (options, message) => {
    expect(() => length(options as never)).toThrow(message);
  });
});
