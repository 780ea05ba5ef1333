import type { PolicyAction } from '@guardloop/core';
import { definePolicy } from '@guardloop/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { randomPolicy } from '../../test/random-policies.js';
import { explainPolicy } from './explain.js';
import { policyFrom } from './policy-from.js';
import type { Condition, PolicyData, PolicyRuleData } from './types.js';

const strictness: Record<PolicyAction, number> = { allow: 0, ask: 1, deny: 2, halt: 3 };
const answerTo = (data: Pick<PolicyData, 'rules' | 'otherwise'>, input: object, tool = 'pay') =>
  explainPolicy(policyFrom({ name: 'p', ...data }, { dead: 'report' }), { tool, input });
const small: Condition = { field: 'cents', atMost: 1000 };

describe('rules', () => {
  it('are tried in order, and the first that fits answers', () => {
    const rules: PolicyRuleData[] = [
      { tool: 'find_*', then: 'allow' },
      { tool: 'pay', when: small, then: 'allow' },
      { tool: 'pay', then: 'ask' },
    ];
    const by = (tool: string, input: object): string => answerTo({ rules, otherwise: 'halt' }, input, tool).by;
    expect([by('find_x', {}), by('pay', { cents: 1 }), by('pay', { cents: 1001 }), by('send', {})]).toEqual([
      'rules[0]',
      'rules[1]',
      'rules[2]',
      'otherwise',
    ]);
  });

  it('say why in their own words, or in ours', () => {
    const data = {
      rules: [
        { tool: 'pay', when: small, then: 'ask', name: 'small' },
        { tool: 'x', then: 'deny', reason: 'No x.' },
      ],
      otherwise: 'halt',
    } as const;
    expect(answerTo(data, { cents: 1 }).reason).toBe('Rule small of policy p wants a person to decide about pay.');
    expect(answerTo(data, {}, 'x').reason).toBe('No x.');
    expect(answerTo(data, { cents: 2000 }).reason).toBe('Policy p, with no rule that fits, ends the run at pay.');
    expect(answerTo({ rules: [], otherwise: { then: 'deny', reason: 'Nothing.' } }, {}).reason).toBe('Nothing.');
  });
});

describe('a condition that cannot be decided', () => {
  it('lets no rule allow', () => {
    const data = { rules: [{ tool: 'pay', when: small, then: 'allow' }], otherwise: 'ask' } as const;
    for (const cents of [undefined, null, '5', [5], { cents: 5 }]) expect(answerTo(data, { cents }).action).toBe('ask');
  });

  it('makes a rule refuse that would refuse, and names the field', () => {
    const data = {
      rules: [{ tool: 'pay', when: { field: 'to', endsWith: '.evil' }, then: 'deny', reason: 'Not there.' }],
      otherwise: 'allow',
    } as const;
    const { action, reason } = answerTo(data, {});
    expect([action, reason]).toEqual(['deny', 'Not there. (`to` could not be compared: missing, or of another kind.)']);
  });

  it('makes a rule ask that would ask, unless what follows is stricter', () => {
    const ask: PolicyRuleData = { tool: 'pay', when: small, then: 'ask' };
    expect(answerTo({ rules: [ask], otherwise: 'allow' }, {}).action).toBe('ask');
    expect(answerTo({ rules: [ask], otherwise: 'deny' }, {}).action).toBe('deny');
    expect(answerTo({ rules: [ask, { tool: 'pay', then: 'halt' }], otherwise: 'allow' }, {}).action).toBe('halt');
  });

  it('can be left out by asking whether the field is there', () => {
    const rules: PolicyRuleData[] = [
      {
        tool: 'pay',
        when: {
          all: [
            { field: 'bcc', present: true },
            { field: 'bcc', endsWith: '.evil' },
          ],
        },
        then: 'deny',
      },
    ];
    expect(answerTo({ rules, otherwise: 'allow' }, {}).action).toBe('allow');
    expect(answerTo({ rules, otherwise: 'allow' }, { bcc: 'x.evil' }).action).toBe('deny');
  });
});

describe('random policies', () => {
  it('never answer a call looser because fields are missing or of another kind', () => {
    fc.assert(
      fc.property(
        randomPolicy.policy,
        randomPolicy.call,
        fc.record({ hidden: fc.subarray([...randomPolicy.fields]), stand: fc.constantFrom(undefined, null, [1], {}) }),
        (data, asked, { hidden, stand }) => {
          const policy = policyFrom(data, { dead: 'report' });
          const full = explainPolicy(policy, asked as never).action;
          const partial = explainPolicy(policy, {
            ...asked,
            input: { ...asked.input, ...Object.fromEntries(hidden.map((name) => [name, stand])) },
          } as never).action;
          expect(strictness[partial]).toBeGreaterThanOrEqual(strictness[full]);
        },
      ),
      { numRuns: 3_000, seed: 11 },
    );
  });

  it('answer complete calls as rules written in TypeScript do', () => {
    const holds = (
      when: Condition | undefined,
      input: Record<string, number>,
      asked: { flow: { effect: string }; view: string },
    ): boolean => {
      if (when === undefined) return true;
      const [[name, value] = ['', undefined]] = Object.entries(when).filter(([key]) => key !== 'field') as [string, unknown][];
      const own = input[(when as { field: string }).field] ?? 0;
      switch (name) {
        case 'all':
          return (value as Condition[]).every((each) => holds(each, input, asked));
        case 'any':
          return (value as Condition[]).some((each) => holds(each, input, asked));
        case 'not':
          return !holds(value as Condition, input, asked);
        case 'atMost':
          return own <= (value as number);
        case 'atLeast':
          return own >= (value as number);
        case 'above':
          return own > (value as number);
        case 'below':
          return own < (value as number);
        case 'oneOf':
          return (value as number[]).includes(own);
        case 'noneOf':
          return !(value as number[]).includes(own);
        case 'equals':
          return own === input[(value as { field: string }).field];
        case 'effect':
          return [value].flat().includes(asked.flow.effect);
        default:
          return value === asked.view;
      }
    };
    fc.assert(
      fc.property(randomPolicy.policy, randomPolicy.call, (data, asked) => {
        const rule = data.rules.find(
          ({ tool, when }) =>
            (tool === '*' || tool === asked.tool || (tool === 'pay*' && asked.tool.startsWith('pay'))) && holds(when, asked.input, asked),
        );
        const explained = explainPolicy(policyFrom(data, { dead: 'report' }), asked as never);
        expect([explained.action, explained.by]).toEqual(
          rule ? [rule.then, `rules[${data.rules.indexOf(rule)}]`] : [data.otherwise, 'otherwise'],
        );
      }),
      { numRuns: 3_000, seed: 12 },
    );
  });
});

it('is a guardrail beside policies in TypeScript', () => {
  const typed = definePolicy({ name: 'typed', rules: [], otherwise: 'allow' });
  const data = policyFrom({ name: 'data', rules: [], otherwise: 'allow' });
  expect([typed, data].map(({ on }) => on)).toEqual([['toolInput'], ['toolInput']]);
});
