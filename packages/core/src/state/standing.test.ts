import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../model/types.js';
import type { CallApproval } from './events.js';
import type { Standing } from './standing.js';
import { findStanding, fitsStanding, withoutPath } from './standing.js';

const standing = (more: Partial<Standing> = {}): Standing => ({
  id: 'p1',
  seq: 5,
  agentPath: ['a', 'b'],
  tool: 't',
  when: { x: 1 },
  ...more,
});
const approval = (more: Partial<CallApproval> = {}): CallApproval => ({
  id: 'p2',
  surface: 'toolInput',
  run: 'r',
  agentPath: ['a', 'b'],
  subject: 'r/1.0',
  revision: 0,
  digest: '',
  reason: '',
  asks: [{ by: 'approval', reason: '' }],
  label: { origin: 'agent:b', integrity: 'trusted' },
  untrustedFrom: [],
  tool: 't',
  callId: '1.0',
  input: { x: 1, y: 2 },
  flow: { effect: 'none', authority: [], declared: true },
  mayHaveRun: false,
  ...more,
});
const question = (more: Partial<CallApproval> = {}) => ({ approval: approval(more), seq: 6, now: 100 });

describe('a pattern', () => {
  it.each<readonly [string, JsonObject, JsonObject, boolean]>([
    ['nothing', {}, { x: 1 }, true],
    ['an equal field', { x: 1 }, { x: 1, y: 2 }, true],
    ['another value', { x: 1 }, { x: 2 }, false],
    ['another type', { x: 1 }, { x: '1' }, false],
    ['null for none', { x: null }, {}, false],
    ['null for null', { x: null }, { x: null }, true],
    ['keys in another order', { x: { a: 1, b: 2 } }, { x: { b: 2, a: 1 } }, true],
    ['part of a nested object', { x: { a: 1 } }, { x: { a: 1, b: 2 } }, false],
    ['a list in another order', { x: [1, 2] }, { x: [2, 1] }, false],
    ['one field of two', { x: 1, y: 2 }, { x: 1 }, false],
    ['a field of every object', { toString: 'x' }, {}, false],
    ['a field that every object inherits', { constructor: {} }, { x: 1 }, false],
    ['a field without a value', { x: undefined }, { x: undefined }, false],
    ['a field without a value for one with', { x: undefined }, { x: 1 }, false],
    ['a field with a value for one without', { x: 1 }, { x: undefined }, false],
  ])('of %s', (...row) => {
    const [, when, input, isFit] = row;
    expect(fitsStanding({ when }, input)).toBe(isFit);
  });

  it('that is exact fits the very input alone', () => {
    expect(fitsStanding({ when: { x: 1, y: 2 }, exact: true }, { y: 2, x: 1 })).toBe(true);
    expect(fitsStanding({ when: { x: 1 }, exact: true }, { x: 1, y: 2 })).toBe(false);
    expect(fitsStanding({ when: {}, exact: true }, { x: 1 })).toBe(false);
  });

  it('that is no object, or an input that is none, never fits', () => {
    for (const odd of [null, undefined, 'x', 7, [], true]) {
      expect(fitsStanding({ when: odd as never }, { x: 1 })).toBe(false);
      expect(fitsStanding({ when: {} }, odd as never)).toBe(false);
    }
  });
});

describe('a standing decision', () => {
  it('answers a later question about its agent, tool and pattern', () => {
    expect(findStanding([standing({ id: 'p0', tool: 'u' }), standing()], question())?.id).toBe('p1');
    expect(findStanding([], question())).toBeUndefined();
  });
  it.each<[string, Partial<Standing>]>([
    ['given after the question', { seq: 7 }],
    ['given with it', { seq: 6 }],
    ['of another tool', { tool: 'u' }],
    ['of the agent above', { agentPath: ['a'] }],
    ['of an agent below', { agentPath: ['a', 'b', 'c'] }],
    ['of one path in other pieces', { agentPath: ['a,b'] }],
    ['of another pattern', { when: { x: 2 } }],
    ['that has expired', { expiresAt: 99 }],
    ['that expires just now', { expiresAt: 100 }],
    ['whose time is none', { expiresAt: Number.NaN }],
    ['whose time is no number', { expiresAt: '9999' as never }],
    ['whose time is null', { expiresAt: null as never }],
  ])('does not when it is one %s', (_what, more) => {
    expect(findStanding([standing(more)], question())).toBeUndefined();
  });
  it('does so until its last millisecond', () => {
    expect(findStanding([standing({ expiresAt: 101 })], question())).toBeDefined();
  });
  it.each<[string, Partial<CallApproval>]>([
    ['a call that may have run', { mayHaveRun: true }],
    ['a call that the caller runs', { caller: true }],
    [
      'what core asks',
      {
        asks: [
          { by: 'guard', reason: '' },
          { by: 'core', reason: '' },
        ],
      },
    ],
    ['a handoff', { surface: 'handoff' as never }],
    ['an answer', { surface: 'output' as never }],
  ])('does not answer %s', (_what, more) => {
    expect(findStanding([standing()], question(more))).toBeUndefined();
  });
});

it('what an agent leaves behind: its own decisions and those of agents below it end, others stay', () => {
  const all = [['a'], ['a', 'b'], ['a', 'b', 'c'], ['a', 'd'], ['b']].map((agentPath) => standing({ agentPath }));
  const left = (...path: string[]) => withoutPath(all, path).map(({ agentPath }) => agentPath.join('/'));
  expect(left('a')).toEqual(['b']);
  expect(left('a', 'b')).toEqual(['a', 'a/d', 'b']);
  expect(left('c')).toHaveLength(5);
});
