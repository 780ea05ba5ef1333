import { describe, expect, it } from 'vitest';
import { GuardloopError } from '../errors.js';
import type { LimitName, RecordedLimits } from './events.js';
import { defaultLimits, limitNames, readLimits, recordLimits, resolveLimits } from './limits.js';

function refusalOf(given: unknown): string {
  try {
    resolveLimits(given as never);
  } catch (thrown) {
    if (GuardloopError.is(thrown) && thrown.code === 'CONFIG_INVALID') return thrown.message;
    throw thrown;
  }
  throw new Error('The limits were taken.');
}

const none = Number.POSITIVE_INFINITY;

describe('limits that are given', () => {
  it('hold over those that hold without them', () => {
    expect(resolveLimits({ turns: 3, cost: 0.5 })).toEqual({ ...defaultLimits, turns: 3, cost: 0.5 });
    const base = { ...defaultLimits, turns: 3 };
    expect(resolveLimits({ cost: 1 }, base)).toEqual({ ...base, cost: 1 });
    expect(base.cost).toBe(none);
  });

  it('are those of before where none are given, and where one has no value', () => {
    expect(resolveLimits(undefined)).toBe(defaultLimits);
    const base = { ...defaultLimits, turns: 3 };
    expect(resolveLimits(undefined, base)).toBe(base);
    expect(resolveLimits({ turns: undefined, ms: 9 }, base)).toEqual({ ...base, ms: 9 });
  });

  it.each([7, 'turns', null, true])('are refused where they are no object: %j', (given) => {
    expect(refusalOf(given)).toContain('`limits` is not an object');
  });

  it('are refused where there is no limit of that name', () => {
    expect(refusalOf({ steps: 3 })).toBe(
      'There is no limit named steps. Use one of turns, toolCalls, tokens, cost, ms, handoffs, repairs, repeats.',
    );
    expect(refusalOf({ steps: undefined })).toContain('named steps');
    expect(refusalOf({ toString: 3 })).toContain('named toString');
  });

  it.each([
    ['turn', 'There is no limit named turn. Did you mean turns? Use one of turns, toolCalls, '],
    ['toolcalls', 'There is no limit named toolcalls. Did you mean toolCalls? Use one of turns, '],
    ['dollars', 'There is no limit named dollars. Use one of turns, '],
  ])('are refused under the name %s with the names that there are, and the one that was meant', (name, message) => {
    expect(refusalOf({ [name]: 3 })).toContain(message);
  });

  it.each<[LimitName, number]>([
    ['turns', 1],
    ['repeats', 1],
    ['toolCalls', 0],
    ['handoffs', 0],
    ['repairs', 0],
  ])('for %s are whole numbers from %d, or no limit', (name, least) => {
    for (const value of [least, least + 1, 1000, none]) expect(resolveLimits({ [name]: value })[name]).toBe(value);
    for (const value of [least - 1, -1, least + 0.5, -none, Number.NaN])
      expect(refusalOf({ [name]: value })).toBe(
        `The limit ${name} is ${value}. Give a whole number from ${least}, or Infinity for no limit.`,
      );
  });

  it.each<LimitName>(['tokens', 'cost', 'ms'])('for %s are numbers above 0, or no limit', (name) => {
    for (const value of [0.001, 1, 2.5, none]) expect(resolveLimits({ [name]: value })[name]).toBe(value);
    for (const value of [0, -0.001, -none, Number.NaN])
      expect(refusalOf({ [name]: value })).toBe(`The limit ${name} is ${value}. Give a number above 0, or Infinity for no limit.`);
  });

  it.each<LimitName>(['turns', 'tokens'])('for %s are refused where they are no number, without their words', (name) => {
    expect(refusalOf({ [name]: '8' })).toContain(`The limit ${name} is a string.`);
    expect(refusalOf({ [name]: null })).toContain(`The limit ${name} is a object.`);
    expect(refusalOf({ [name]: 8n })).toContain(`The limit ${name} is a bigint.`);
  });
});

describe('limits in a log', () => {
  const recorded: RecordedLimits = { ...defaultLimits, toolCalls: null, tokens: null, cost: null, ms: null };

  it('are JSON, with `null` for no limit, and cannot be changed', () => {
    expect(recordLimits(defaultLimits)).toEqual(recorded);
    expect(recordLimits({ ...defaultLimits, ms: 9, turns: none })).toEqual({ ...recorded, ms: 9, turns: null });
    expect(Object.isFrozen(recordLimits(defaultLimits))).toBe(true);
    expect(defaultLimits.ms).toBe(none);
  });

  it('read back as they were', () => {
    for (const limits of [defaultLimits, { ...defaultLimits, turns: none, repairs: 0, cost: 0.5 }])
      expect(readLimits(JSON.parse(JSON.stringify(recordLimits(limits))))).toEqual(limits);
  });

  it('are those that hold where nothing is said, for a limit that an older log does not know', () => {
    for (const name of limitNames) {
      const { [name]: _, ...older } = recordLimits({ ...defaultLimits, [name]: 5 });
      expect(readLimits(older as RecordedLimits)).toEqual(defaultLimits);
    }
  });
});
