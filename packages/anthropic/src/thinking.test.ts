import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ThinkingSituation } from './thinking.js';
import { planThinking, thinkingTraits } from './thinking.js';

const situation: ThinkingSituation = {
  reasoning: 'low',
  maxTokens: undefined,
  defaultMaxTokens: 32_000,
  mustBeOff: false,
  hasThinkingBlocks: false,
};
const plan = (model: string, more: Partial<ThinkingSituation> = {}) => planThinking(thinkingTraits(model), {}, { ...situation, ...more });

describe('what a model id tells', () => {
  it.each([
    ['claude-3-5-sonnet-20241022', { style: 'budget', off: 'omit', bindsHistory: false }],
    ['claude-3-haiku-20240307', { style: 'budget', off: 'omit', bindsHistory: false }],
    ['claude-opus-4-20250514', { style: 'budget', off: 'omit', bindsHistory: false }],
    ['claude-opus-4-5-20251101', { style: 'budget', off: 'omit', bindsHistory: false }],
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', { style: 'budget', off: 'omit', bindsHistory: false }],
    ['claude-sonnet-4-6', { style: 'adaptive', off: 'omit', bindsHistory: false }],
    ['claude-opus-4-8', { style: 'adaptive', off: 'omit', bindsHistory: false }],
    ['claude-opus-4-10', { style: 'adaptive', off: 'omit', bindsHistory: false }],
    ['claude-sonnet-5', { style: 'adaptive', off: 'disabled', bindsHistory: false }],
    ['claude-opus-5', { style: 'adaptive', off: 'disabled', bindsHistory: false }],
    ['claude-sonnet-5-5', { style: 'adaptive', off: 'between_tools', bindsHistory: true }],
    ['claude-haiku-5-5', { style: 'adaptive', off: 'disabled', bindsHistory: true }],
    ['claude-opus-5-5', { style: 'adaptive', off: 'effort', bindsHistory: true }],
    ['claude-fable-5', { style: 'adaptive', off: 'effort', bindsHistory: false }],
    ['claude-fable-5-2', { style: 'adaptive', off: 'effort', bindsHistory: true }],
    ['claude-mythos-preview', { style: 'adaptive', off: 'effort', bindsHistory: false }],
    ['anthropic/claude-opus-4.6', { style: 'adaptive', off: 'omit', bindsHistory: false }],
    ['claude-next', { style: 'adaptive', off: 'omit', bindsHistory: false }],
    ['deepseek-chat', { style: 'budget', off: 'omit', bindsHistory: false }],
  ] as const)('%s', (model, traits) => {
    expect(thinkingTraits(model)).toMatchObject(traits);
  });
});

describe('reasoning off', () => {
  it.each([
    ['claude-haiku-4-5', undefined, undefined],
    ['claude-opus-4-8', undefined, undefined],
    ['claude-opus-5', { type: 'disabled' }, undefined],
    ['claude-sonnet-5-5', { type: 'between_tools' }, undefined],
    ['claude-opus-5-5', undefined, 'low'],
  ])('%s', (model, thinking, effort) => {
    const { thinking: planned, effort: level } = plan(model, { reasoning: 'off' });
    expect([planned, level]).toEqual([thinking, effort]);
  });
});

it('without a word about reasoning, nothing is said of thinking', () => {
  for (const model of ['claude-haiku-4-5', 'claude-opus-4-8', 'claude-opus-5-5']) {
    expect(plan(model, { reasoning: undefined })).toEqual({ maxTokens: 32_000, betas: [] });
  }
});

it('a token budget becomes the nearest effort where there are no budgets', () => {
  expect(plan('claude-opus-4-8', { reasoning: { maxTokens: 5_000 } }).effort).toBe('medium');
});

it('the style and the display can be set', () => {
  const traits = thinkingTraits('my-proxy/best');
  expect(planThinking(traits, { style: 'adaptive', display: 'summarized' }, situation).thinking).toEqual({
    type: 'adaptive',
    display: 'summarized',
  });
  const byDefault = planThinking(thinkingTraits('claude-opus-5'), { display: 'summarized' }, { ...situation, reasoning: undefined });
  expect(byDefault.thinking).toEqual({ type: 'adaptive', display: 'summarized' });
});

it('thinking of earlier answers can be made an error where history has changed', () => {
  const bound = planThinking(thinkingTraits('claude-opus-5-5'), { onChangedHistory: 'error' }, { ...situation, hasThinkingBlocks: true });
  expect([bound.thinking, bound.betas]).toEqual([{ type: 'adaptive' }, []]);
});

it('every budget is at least 1024, less than max_tokens, and max_tokens is what was allowed', () => {
  const limits = fc.option(fc.integer({ min: 1, max: 100_000 }), { nil: undefined });
  fc.assert(
    fc.property(limits, fc.integer({ min: 0, max: 200_000 }), (maxTokens, budget) => {
      const { thinking, maxTokens: sent } = plan('claude-haiku-4-5', { maxTokens, reasoning: { maxTokens: budget } });
      if (maxTokens !== undefined) expect(sent).toBe(maxTokens);
      if (thinking === undefined) return;
      expect(thinking.budget_tokens).toBeGreaterThanOrEqual(1_024);
      expect(thinking.budget_tokens).toBeLessThan(sent);
    }),
  );
});
