import { describe, expect, it } from 'vitest';
import { addCounts, noTokens, toUsage, updateCounts } from './usage.js';

const prices = { input: 10, output: 100 };

describe('usage', () => {
  it('that nobody has told is missing, and never zero', () => {
    expect(toUsage(noTokens, 1, prices)).toEqual({ requests: 1 });
    expect(toUsage(updateCounts(noTokens, { output_tokens: 3 }), 1, prices)).toEqual({ requests: 1, outputTokens: 3 });
    expect(toUsage(updateCounts(noTokens, 'x'), 1, undefined)).toEqual({ requests: 1 });
  });

  it('that is told as zero is zero', () => {
    const counts = updateCounts(noTokens, { input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0 });
    expect(toUsage(counts, 1, prices)).toEqual({ requests: 1, inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cost: 0 });
  });

  it('later numbers replace earlier ones, and what is no number changes nothing', () => {
    const first = updateCounts(noTokens, { input_tokens: 5, output_tokens: 1, cache_read_input_tokens: 2 });
    const later = updateCounts(first, {
      input_tokens: null,
      output_tokens: 9,
      cache_read_input_tokens: 'x',
      cache_creation_input_tokens: -1,
    });
    expect(toUsage(later, 1, undefined)).toEqual({ requests: 1, inputTokens: 7, outputTokens: 9, cacheReadTokens: 2 });
  });

  it('over responses is summed; what none has told stays missing', () => {
    const one = updateCounts(noTokens, { input_tokens: 5, output_tokens: 1 });
    const other = updateCounts(noTokens, { input_tokens: 6, output_tokens: 2, cache_read_input_tokens: 4 });
    expect(toUsage(addCounts(one, other), 2, undefined)).toEqual({ requests: 2, inputTokens: 15, outputTokens: 3, cacheReadTokens: 4 });
    expect(addCounts(noTokens, noTokens).input).toBeUndefined();
  });
});

describe('cost', () => {
  const written = (hour: number) =>
    updateCounts(noTokens, {
      input_tokens: 100,
      output_tokens: 10,
      cache_read_input_tokens: 1_000,
      cache_creation_input_tokens: 400,
      cache_creation: { ephemeral_5m_input_tokens: 400 - hour, ephemeral_1h_input_tokens: hour },
    });

  it.each([
    ['five minutes', 0, 400 * 12.5],
    ['an hour', 400, 400 * 20],
    ['both', 100, 300 * 12.5 + 100 * 20],
  ])('what is written to the cache costs by how long it is kept: %s', (_, hour, cost) => {
    expect(toUsage(written(hour), 1, prices).cost).toBeCloseTo((100 * 10 + 1_000 * 1 + 10 * 100 + cost) / 1_000_000, 12);
  });

  it('prices of the caller go first', () => {
    const own = { ...prices, cacheRead: 2, cacheWrite: 3, cacheWriteHour: 4 };
    expect(toUsage(written(100), 1, own).cost).toBeCloseTo((100 * 10 + 1_000 * 2 + 300 * 3 + 100 * 4 + 10 * 100) / 1_000_000, 12);
  });
});
