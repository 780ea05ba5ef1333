import { GuardloopError } from '@guardloop/core';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { randomPolicy } from '../../test/random-policies.js';
import { findDeadRules } from './dead-rules.js';
import type { CountedCall } from './judge.js';
import { judge } from './judge.js';
import { deadRules, policyFrom } from './policy-from.js';
import { readPolicy } from './read-policy.js';
import type { Condition, PolicyData, PolicyRuleData } from './types.js';

const reading = { cel: (source: string) => () => source === 'true', hasContext: true };
const planOf = (data: PolicyData) => readPolicy(data, reading);
/** What is said of the second of two rules. */
function second(first: Partial<PolicyRuleData>, next: Partial<PolicyRuleData>): string {
  const rules = [first, next].map((rule) => ({ tool: 'pay', then: 'allow', ...rule }) as PolicyRuleData);
  const found = findDeadRules(planOf({ name: 'p', rules, otherwise: 'deny' })).find(({ rule }) => rule === 1);
  return found?.kind ?? 'alive';
}
const x = (tests: object): Condition => ({ field: 'x', ...tests }) as Condition;

test.each<[first: Partial<PolicyRuleData>, next: Partial<PolicyRuleData>, said: string]>([
  [{}, {}, 'covered'],
  [{ tool: '*' }, { tool: 'pay', when: x({ atMost: 5 }) }, 'covered'],
  [{ tool: 'pa*' }, { tool: 'pay*' }, 'covered'],
  [{ tool: 'pay*' }, { tool: 'pa*' }, 'alive'],
  [{ tool: '*a*' }, { tool: 'p*a*y' }, 'covered'],
  [{ tool: ['pay', 'send'] }, { tool: 'send' }, 'covered'],
  [{ tool: 'pay' }, { tool: ['pay', 'send'] }, 'alive'],
  [{ when: x({ atMost: 5 }) }, { when: x({ atMost: 5 }), then: 'deny' }, 'covered'],
  [{ when: x({ atMost: 5 }) }, { when: x({ atMost: 4 }) }, 'covered'],
  [{ when: x({ atMost: 5 }) }, { when: x({ below: 5 }) }, 'covered'],
  [{ when: x({ below: 5 }) }, { when: x({ atMost: 5 }) }, 'alive'],
  [{ when: x({ atMost: 5 }) }, { when: { field: 'y', atMost: 4 } }, 'alive'],
  [{ when: x({ atMost: 5 }) }, {}, 'alive'],
  [{ when: x({ atMost: 5 }) }, { when: x({ equals: 3 }) }, 'covered'],
  [{ when: x({ atMost: 5 }) }, { when: x({ oneOf: [1, 6] }) }, 'alive'],
  [{ when: x({ oneOf: ['a', 'b'] }) }, { when: x({ equals: 'b' }) }, 'covered'],
  [{ when: x({ oneOf: ['a', 'b'] }) }, { when: x({ oneOf: ['b', 'c'] }) }, 'alive'],
  [{ when: x({ noneOf: ['a'] }) }, { when: x({ noneOf: ['a', 'b'] }) }, 'covered'],
  [{ when: x({ noneOf: ['a', 'b'] }) }, { when: x({ noneOf: ['a'] }) }, 'alive'],
  [{ when: x({ noneOf: ['a'] }) }, { when: x({ equals: 'b' }) }, 'covered'],
  [{ when: x({ startsWith: 'ab' }) }, { when: x({ startsWith: 'abc' }) }, 'covered'],
  [{ when: x({ startsWith: 'abc' }) }, { when: x({ startsWith: 'ab' }) }, 'alive'],
  [{ when: x({ endsWith: ['.a', '.b'] }) }, { when: x({ endsWith: 'x.b' }) }, 'covered'],
  [{ when: x({ contains: 'b' }) }, { when: x({ startsWith: 'abc' }) }, 'covered'],
  [{ when: x({ startsWith: 'AB', ignoreCase: true }) }, { when: x({ startsWith: 'abc', ignoreCase: true }) }, 'covered'],
  [{ when: x({ startsWith: 'AB' }) }, { when: x({ startsWith: 'abc', ignoreCase: true }) }, 'alive'],
  [{ when: x({ matches: 'a+' }) }, { when: x({ matches: 'a+' }) }, 'covered'],
  [{ when: x({ matches: 'a+' }) }, { when: x({ equals: 'aaa' }) }, 'covered'],
  [{ when: x({ within: '/srv' }) }, { when: x({ within: '/srv/files' }) }, 'covered'],
  [{ when: x({ within: '/srv/files' }) }, { when: x({ within: '/srv' }) }, 'alive'],
  [{ when: x({ url: { hosts: ['*.a.example'] } }) }, { when: x({ url: { hosts: ['b.a.example', '*.c.a.example'] } }) }, 'covered'],
  [{ when: x({ url: { hosts: ['*.a.example'] } }) }, { when: x({ url: { hosts: ['a.example'] } }) }, 'alive'],
  [{ when: x({ url: { hosts: ['a.example'] } }) }, { when: x({ url: { hosts: ['a.example'], schemes: ['http', 'https'] } }) }, 'alive'],
  [{ when: x({ present: true }) }, { when: x({ atMost: 5 }) }, 'covered'],
  [{ when: x({ atMost: { context: 'limit' } }) }, { when: x({ atMost: { context: 'limit' } }) }, 'covered'],
  [{ when: x({ atMost: { context: 'limit' } }) }, { when: x({ atMost: 0 }) }, 'alive'],
  [{ when: { effect: ['write', 'send'] } }, { when: { effect: 'send' } }, 'covered'],
  [{ when: { not: { effect: 'none' } } }, { when: { effect: ['read', 'send'] } }, 'covered'],
  [{ when: { view: 'trusted' } }, { when: { not: { view: 'untrusted' } } }, 'covered'],
  [{ when: { view: 'trusted' } }, { when: { view: 'untrusted' } }, 'alive'],
  [{ when: { untrustedReads: true } }, { when: { untrustedReads: 'fetch_*' } }, 'covered'],
  [{ when: { untrustedReads: 'fetch_*' } }, { when: { untrustedReads: ['fetch_a', 'fetch_b'] } }, 'covered'],
  [{ when: { agent: 'b*' } }, { when: { agent: ['billing', 'b'] } }, 'covered'],
  [{ when: { only: ['a', 'b'] } }, { when: { only: ['a'] } }, 'covered'],
  [{ when: { only: ['a'] } }, { when: { only: ['a', 'b'] } }, 'alive'],
  [{ when: { cel: 'true' } }, { when: { all: [{ cel: 'true' }, x({ atMost: 5 })] } }, 'covered'],
  [{ during: { zone: 'UTC', from: '09:00' } }, { during: { from: '09:00', to: '24:00', zone: 'UTC' } }, 'covered'],
  [{ during: { zone: 'UTC', from: '09:00' } }, { during: { zone: 'UTC' } }, 'alive'],
  [{ when: { any: [x({ atMost: 5 }), x({ atLeast: 10 })] } }, { when: x({ atLeast: 11 }) }, 'covered'],
  [{ when: x({ atMost: 10 }) }, { when: { any: [x({ atMost: 5 }), x({ equals: 7 })] } }, 'covered'],
  [{ when: { every: 'x[]', atMost: 5 } }, { when: { every: 'x[]', atMost: 4 } }, 'covered'],
  [{ when: { some: 'x[]', atMost: 5 } }, { when: { some: 'x[]', atMost: 4 } }, 'covered'],
  [{ when: { some: 'x[]', atMost: 5 } }, { when: { every: 'x[]', atMost: 4 } }, 'alive'],
  [{ when: { not: { some: 'x[]', oneOf: [5] } } }, { when: { some: 'x[]', oneOf: [4] } }, 'alive'],
  [{ when: { not: { every: 'x[]', oneOf: [5] } } }, { when: { every: 'x[]', oneOf: [4] } }, 'alive'],
  [{ when: { every: 'x[]', atMost: 5 } }, { when: { not: { every: 'x[]', atMost: 4 } } }, 'alive'],
  [{ when: { some: 'x[]', atMost: 5 } }, { when: { not: { some: 'x[]', atMost: 4 } } }, 'alive'],
  [{ limit: { calls: 1, per: 'run' } }, {}, 'covered'],
  [{ limit: { calls: 1, per: 'run', over: 'next' } }, { then: 'ask' }, 'alive'],
  [{}, { tool: 'send', when: x({ atMost: 5, atLeast: 10 }) }, 'contradiction'],
  [{ tool: 'a' }, { when: x({ above: 5, atMost: 5 }) }, 'contradiction'],
  [{ tool: 'a' }, { when: x({ atMost: 5, atLeast: 5 }) }, 'alive'],
  [{ tool: 'a' }, { when: x({ oneOf: ['a'], noneOf: ['a', 'b'] }) }, 'contradiction'],
  [{ tool: 'a' }, { when: x({ oneOf: [1, 2], atLeast: 3 }) }, 'contradiction'],
  [{ tool: 'a' }, { when: x({ atLeast: 3, startsWith: 'a' }) }, 'contradiction'],
  [{ tool: 'a' }, { when: { all: [x({ present: false }), x({ atMost: 3 })] } }, 'contradiction'],
  [{ tool: 'a' }, { when: { all: [{ view: 'trusted' }, { view: 'untrusted' }] } }, 'contradiction'],
  [{ tool: 'a' }, { when: { all: [{ cel: 'true' }, { not: { cel: 'true' } }] } }, 'contradiction'],
  [{ tool: 'a' }, { when: { any: [x({ atMost: 5, atLeast: 10 }), x({ equals: 1, atLeast: 2 })] } }, 'contradiction'],
  [{ tool: 'a' }, { when: { any: [x({ atMost: 5, atLeast: 10 }), x({ equals: 1 })] } }, 'alive'],
  [{ tool: 'a' }, { when: { every: 'x[]', atMost: 5, atLeast: 10 } }, 'alive'],
  [
    { tool: 'a' },
    {
      when: {
        all: [
          { some: 'x[]', atMost: 5 },
          { some: 'x[]', atLeast: 10 },
        ],
      },
    },
    'alive',
  ],
  [{ tool: 'a' }, { when: x({ lengthAtMost: 2, lengthAtLeast: 3 }) }, 'contradiction'],
])('after %j, %j is %s', (first, next, said) => {
  expect(second(first, next)).toBe(said);
});

describe('dead rules', () => {
  const data: PolicyData = {
    name: 'p',
    rules: [
      { tool: '*', when: { view: 'untrusted' }, then: 'ask' },
      { tool: 'pay', when: { field: 'cents', atMost: 5, atLeast: 10 }, then: 'allow' },
      { tool: 'pay', when: { view: 'untrusted', field: 'cents', atMost: 5 }, then: 'allow' },
    ],
    otherwise: 'deny',
  };

  it('are refused when the policy is made, all at once', () => {
    let thrown: unknown;
    try {
      policyFrom(data);
    } catch (error) {
      thrown = error;
    }
    expect(GuardloopError.is(thrown) && [thrown.code, thrown.message]).toEqual([
      'CONFIG_INVALID',
      "Policy p: rules[1] can never answer: its conditions contradict one another. rules[2] can never answer: rules[0] answers every call that it fits. Put it before that one, or remove it. Or give { dead: 'report' }.",
    ]);
  });

  it('are reported where that is wanted', () => {
    expect(deadRules(policyFrom(data, { dead: 'report' }))).toEqual([
      { rule: 1, path: 'rules[1]', kind: 'contradiction', message: 'rules[1] can never answer: its conditions contradict one another.' },
      {
        rule: 2,
        path: 'rules[2]',
        kind: 'covered',
        by: 0,
        message: 'rules[2] can never answer: rules[0] answers every call that it fits. Put it before that one, or remove it.',
      },
    ]);
    expect(deadRules(policyFrom({ ...data, rules: [] }))).toEqual([]);
    expect(() => deadRules({} as never)).toThrow('deadRules was given what `policyFrom` did not make.');
  });

  it('of random policies never answer a complete call, though they are asked', () => {
    let dead = 0;
    fc.assert(
      fc.property(randomPolicy.policy, fc.array(randomPolicy.call, { minLength: 20, maxLength: 20 }), (policy, calls) => {
        const plan = planOf(policy);
        const found = new Set(findDeadRules(plan).map(({ rule }) => rule));
        dead += found.size;
        for (const { tool, input, flow, view } of calls) {
          const call: CountedCall = {
            tool,
            input,
            raw: input,
            flow: { results: 'untrusted', authority: 'all', declared: true, ...flow },
            view,
            call: view,
            agent: 'a',
            untrustedReads: [],
            context: {},
            calls: [],
            now: 0,
          };
          const decision = judge({ plan, dead: new Set(), call, reserve: () => undefined });
          if (decision instanceof Promise) throw new Error('nothing here answers later');
          expect(found.has(decision.rule ?? -1)).toBe(false);
        }
      }),
      { numRuns: 3_000, seed: 21 },
    );
    expect(dead).toBeGreaterThan(500);
  });
});
