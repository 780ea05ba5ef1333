import { describe, expect, it } from 'vitest';
import { event, log } from '../../test/log-events.js';
import type { Limits } from './events.js';
import { fold } from './fold.js';
import { hasToolCallsLeft, limitReached, spentLimit, unheldError } from './limit-reached.js';
import { defaultLimits, recordLimits } from './limits.js';
import type { RunState } from './state.js';

/** A run with these limits, and what it has used. */
function running(limits: Partial<Limits>, used: Partial<RunState> = {}): RunState {
  const run = fold(log(event('run.start', { limits: recordLimits({ ...defaultLimits, ...limits }) }))).runs.get('r');
  if (run === undefined) throw new Error('No run was folded.');
  return { ...run, ...used };
}
/** A run without limits of its own, below another, two levels down. */
const below = (parent: RunState): RunState => running({}, { parent: running({}, { parent }) });
const usage = (more: Partial<RunState['usage']>) => ({ requests: 1, ...more });

describe('a limit', () => {
  it('is not reached where nothing was used', () => {
    expect(limitReached(running({ turns: 1, tokens: 1, cost: 1, ms: 1, repeats: 1 }))).toBeUndefined();
  });

  it.each<[ReturnType<typeof limitReached>, Partial<Limits>, Partial<RunState>, Partial<RunState>]>([
    ['turns', { turns: 3 }, { usedTurns: 2 }, { usedTurns: 3 }],
    ['repeats', { repeats: 2 }, { repeated: 3 }, { repeated: 4 }],
    [
      'tokens',
      { tokens: 10 },
      { usage: usage({ inputTokens: 6, outputTokens: 3 }) },
      { usage: usage({ inputTokens: 6, outputTokens: 4 }) },
    ],
    ['tokens', { tokens: 10 }, { usage: usage({ inputTokens: 9 }) }, { usage: usage({ inputTokens: 10 }) }],
    ['tokens', { tokens: 10 }, { usage: usage({ outputTokens: 9 }) }, { usage: usage({ outputTokens: 10 }) }],
    ['cost', { cost: 0.5 }, { usage: usage({ cost: 0.49 }) }, { usage: usage({ cost: 0.5 }) }],
    ['ms', { ms: 100 }, { activeMs: 99 }, { activeMs: 100 }],
  ])('on %s is reached with the last of it: %j', (...[limit, limits, almost, used]) => {
    expect(limitReached(running(limits, almost))).toBeUndefined();
    expect(limitReached(running(limits, used))).toBe(limit);
  });

  it('that kept a call from running comes before all others, then turns, repeats and what is spent', () => {
    const spent = { usage: usage({ inputTokens: 10, outputTokens: 0, cost: 1 }), activeMs: 100 };
    const limits = { turns: 1, repeats: 1, tokens: 10, cost: 1, ms: 100 };
    const all = { ...spent, limitHit: 'handoffs', usedTurns: 1, repeated: 2 } as const;
    expect(limitReached(running(limits, all))).toBe('handoffs');
    expect(limitReached(running(limits, { ...all, limitHit: undefined }))).toBe('turns');
    expect(limitReached(running(limits, { ...spent, repeated: 2 }))).toBe('repeats');
    expect(limitReached(running(limits, spent))).toBe('tokens');
    expect(limitReached(running({ ...limits, tokens: 11 }, spent))).toBe('cost');
    expect(limitReached(running({ ...limits, tokens: 11, cost: 2 }, spent))).toBe('ms');
  });

  it('of a run above is reached here too, where it is on what is spent', () => {
    const parent = running({ ms: 100, turns: 1, repeats: 1 }, { activeMs: 100, usedTurns: 1, repeated: 2, limitHit: 'handoffs' });
    expect(limitReached(below(parent))).toBe('ms');
    expect(limitReached(below(running({ turns: 1 }, { usedTurns: 1, limitHit: 'turns' })))).toBeUndefined();
  });

  it('that is spent keeps calls from starting, and no other does', () => {
    expect(spentLimit(running({ turns: 1, repeats: 1 }, { usedTurns: 1, repeated: 2, limitHit: 'turns' }))).toBeUndefined();
    expect(spentLimit(running({ cost: 1 }, { usage: usage({ cost: 1 }) }))).toBe('cost');
    expect(spentLimit(below(running({ tokens: 1 }, { usage: usage({ outputTokens: 1 }) })))).toBe('tokens');
  });
});

describe('a limit that cannot hold, since a model does not tell what it counts', () => {
  it('is taken as reached, before time and after what is known to be spent', () => {
    const untold = { uncounted: 'm', unpriced: 'n' };
    expect(spentLimit(running({ tokens: 10, cost: 1, ms: 1 }, { ...untold, activeMs: 1 }))).toBe('tokens');
    expect(spentLimit(running({ cost: 1, ms: 1 }, { ...untold, activeMs: 1 }))).toBe('cost');
    expect(spentLimit(running({ tokens: 10, cost: 1 }, { ...untold, usage: usage({ cost: 1 }) }))).toBe('cost');
    expect(spentLimit(below(running({ cost: 1 }, untold)))).toBe('cost');
  });

  it('tells by which model, here or in a run above', () => {
    const error = unheldError(running({ tokens: 10, cost: 1 }, { uncounted: 'm', unpriced: 'n' }));
    expect(error).toMatchObject({ code: 'CONFIG_INVALID', isRetryable: false });
    expect(error?.message).toContain('The limit tokens is 10, and model m does not tell how many tokens');
    const above = unheldError(below(running({ cost: 0.5 }, { uncounted: 'm', unpriced: 'n' })));
    expect(above).toMatchObject({ code: 'CONFIG_INVALID', isRetryable: false });
    expect(above?.message).toContain('The limit cost is 0.5, and what an answer of model n cost is not known');
  });

  it.each<[string, Partial<Limits>, Partial<RunState>]>([
    ['there is no such limit', {}, { uncounted: 'm', unpriced: 'm' }],
    ['the other is not told', { tokens: 10 }, { unpriced: 'm' }],
    ['tokens are not told, and cost is', { cost: 1 }, { uncounted: 'm' }],
    ['all is told', { tokens: 10, cost: 1 }, {}],
  ])('is none where %s', (_what, limits, used) => {
    expect(spentLimit(running(limits, used))).toBeUndefined();
    expect(unheldError(running(limits, used))).toBeUndefined();
    expect(unheldError(below(running(limits, used)))).toBeUndefined();
  });
});

it('a tool may be called while calls are left here and in every run above', () => {
  const calls = (toolCalls: number, usedToolCalls: number) => running({ toolCalls }, { usedToolCalls });
  expect(hasToolCallsLeft(calls(Number.POSITIVE_INFINITY, 1000))).toBe(true);
  expect(hasToolCallsLeft(calls(2, 1))).toBe(true);
  expect(hasToolCallsLeft(calls(2, 2))).toBe(false);
  expect(hasToolCallsLeft(calls(0, 0))).toBe(false);
  expect(hasToolCallsLeft(below(calls(2, 1)))).toBe(true);
  expect(hasToolCallsLeft(below(calls(2, 2)))).toBe(false);
});
