import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ThinkingSituation } from './thinking.js';
import { modelTraits, planThinking } from './thinking.js';

const situation: ThinkingSituation = {
  reasoning: 'low',
  maxTokens: undefined,
  defaultMaxTokens: 32_000,
  isForced: false,
  hasLostThinking: false,
  lacksThinking: false,
  hasThinkingBlocks: false,
};
const plan = (model: string, more: Partial<ThinkingSituation> = {}) => planThinking(modelTraits(model), {}, { ...situation, ...more });

describe('what a model id tells', () => {
  it.each([
    ['claude-3-5-sonnet-20241022', { style: 'none', off: 'omit', bindsHistory: false }],
    ['claude-3-haiku-20240307', { style: 'none', off: 'omit', bindsHistory: false }],
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
    expect(modelTraits(model)).toMatchObject(traits);
  });
});

describe('what newer models refuse', () => {
  it.each([
    ['claude-haiku-4-5', true, true],
    ['claude-sonnet-4-6', true, true],
    ['claude-opus-4-7', false, true],
    ['claude-opus-4-10', false, true],
    ['claude-sonnet-5', false, true],
    ['claude-haiku-5-5', false, true],
    ['claude-fable-5', false, true],
    ['claude-sonnet-5-5', false, false],
    ['claude-opus-5-5', false, false],
    ['claude-fable-5-1', false, false],
    ['claude-mythos-preview', false, false],
    ['my-proxy/best', true, true],
  ])('%s: sampling settings %s, forced calls %s', (model, takesSampling, canBeForced) => {
    expect(modelTraits(model)).toMatchObject({ takesSampling, canBeForced });
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
    expect(plan(model, { reasoning: undefined })).toEqual({ maxTokens: 32_000, betas: [], isWithoutHistory: false, dropped: [] });
  }
});

it('a token budget is sent where a model takes one, and becomes the nearest effort where not', () => {
  const asked = { reasoning: { maxTokens: 5_000 } };
  for (const model of ['claude-haiku-4-5', 'claude-sonnet-4-6', 'my-proxy/best'])
    expect(plan(model, asked).thinking).toEqual({ type: 'enabled', budget_tokens: 5_000 });
  for (const model of ['claude-opus-4-8', 'claude-sonnet-5-5'])
    expect(plan(model, asked)).toMatchObject({ thinking: { type: 'adaptive' }, effort: 'medium', dropped: [] });
});

describe('what is asked for and cannot be had', () => {
  it.each([
    ['a model that does not think', 'claude-3-5-sonnet-20241022', { more: {}, words: /does not think/ }],
    ['off for a model that always thinks', 'claude-opus-5-5', { more: { reasoning: 'off' }, words: /reasoning off/ }],
    ['a budget beside a forced call', 'claude-haiku-4-5', { more: { isForced: true }, words: /a call is forced/ }],
    [
      'a budget in a turn that lost its thinking',
      'claude-haiku-4-5',
      { more: { hasLostThinking: true }, words: /until the next user message/ },
    ],
    ['a budget in a turn that has none', 'claude-haiku-4-5', { more: { lacksThinking: true }, words: /given without it/ }],
    ['thinking in a turn that lost its own', 'claude-opus-4-8', { more: { hasLostThinking: true }, words: /until the next user message/ }],
    [
      'a budget that does not fit',
      'claude-haiku-4-5',
      { more: { reasoning: 'high', maxTokens: 9_000 }, words: /lowered from 16384 to 8999/ },
    ],
    ['a budget under the least', 'claude-haiku-4-5', { more: { reasoning: { maxTokens: 500 } }, words: /least budget is 1024 tokens/ }],
    [
      'a budget over what the model gives',
      'claude-opus-4-20250514',
      { more: { reasoning: { maxTokens: 40_000 } }, words: /lowered from 40000 to 31999/ },
    ],
  ] as const)('%s is told', (_, model, { more, words }) => {
    expect(plan(model, more).dropped.join()).toMatch(words);
  });

  it('says nothing where nothing was asked for', () => {
    expect(plan('claude-opus-5', { reasoning: undefined, hasLostThinking: true }).dropped).toEqual([]);
  });
});

it('a forced call leaves thinking on where the model decides itself how much it thinks', () => {
  expect(plan('claude-opus-4-8', { isForced: true }).thinking).toEqual({ type: 'adaptive' });
});

it.each([
  ['claude-opus-4-8', undefined],
  ['claude-opus-5', { type: 'disabled' }],
  ['claude-sonnet-5-5', { type: 'between_tools' }],
  ['claude-opus-5-5', { type: 'adaptive' }],
] as const)('in a turn that has lost its thinking it is off, by name where a model thinks by itself: %s', (model, thinking) => {
  expect(plan(model, { hasLostThinking: true }).thinking).toEqual(thinking);
});

it('where thinking is off, a model that checks the thinking of earlier answers is not shown it', () => {
  const off = { reasoning: 'off', hasThinkingBlocks: true } as const;
  expect([plan('claude-sonnet-5-5', off).isWithoutHistory, plan('claude-haiku-5-5', off).isWithoutHistory]).toEqual([true, true]);
  expect([plan('claude-opus-5', off).isWithoutHistory, plan('claude-opus-5-5', off).isWithoutHistory]).toEqual([false, false]);
});

it('the style and the display can be set', () => {
  const traits = modelTraits('my-proxy/best');
  expect(planThinking(traits, { style: 'adaptive', display: 'summarized' }, situation).thinking).toEqual({
    type: 'adaptive',
    display: 'summarized',
  });
  const byDefault = planThinking(modelTraits('claude-opus-5'), { display: 'summarized' }, { ...situation, reasoning: undefined });
  expect(byDefault.thinking).toEqual({ type: 'adaptive', display: 'summarized' });
});

it('thinking of earlier answers can be made an error where history has changed', () => {
  const bound = planThinking(modelTraits('claude-opus-5-5'), { onChangedHistory: 'error' }, { ...situation, hasThinkingBlocks: true });
  expect([bound.thinking, bound.betas]).toEqual([{ type: 'adaptive' }, []]);
});

it('every budget is at least 1024, at most what was asked for, less than max_tokens, and max_tokens is what was allowed', () => {
  const limits = fc.option(fc.integer({ min: 1, max: 100_000 }), { nil: undefined });
  fc.assert(
    fc.property(limits, fc.integer({ min: 0, max: 200_000 }), (maxTokens, budget) => {
      const { thinking, maxTokens: sent, dropped } = plan('claude-haiku-4-5', { maxTokens, reasoning: { maxTokens: budget } });
      if (maxTokens !== undefined) expect(sent).toBe(maxTokens);
      expect(sent).toBeLessThanOrEqual(Math.max(64_000, maxTokens ?? 0));
      if (thinking === undefined) {
        expect(dropped).toHaveLength(1);
        return;
      }
      expect(thinking.budget_tokens).toBeLessThanOrEqual(budget);
      expect(thinking.budget_tokens).toBeGreaterThanOrEqual(1_024);
      expect(thinking.budget_tokens).toBeLessThan(sent);
    }),
  );
});
