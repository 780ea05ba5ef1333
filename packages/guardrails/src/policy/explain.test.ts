import { defineGuardrail } from '@guardloop/core';
import { describe, expect, it } from 'vitest';
import { cel } from './cel.js';
import { explainPolicy } from './explain.js';
import { policyFrom } from './policy-from.js';

const policy = policyFrom<{ readonly userId: string }>(
  {
    name: 'refunds',
    rules: [
      { tool: 'find_*', then: 'allow' },
      {
        name: 'small',
        tool: 'refund_order',
        when: {
          all: [
            { field: 'cents', atMost: 1000 },
            { field: 'owner', equals: { context: 'userId' } },
            { any: [{ view: 'trusted' }, { not: { untrustedReads: 'fetch_*' } }] },
          ],
        },
        limit: { calls: 2, per: 'run' },
        spend: { field: 'cents', atMost: 5_000, per: 'P1D' },
        then: 'allow',
      },
      { tool: 'refund_order', when: { not: { field: 'note', contains: 'gift' } }, then: 'deny' },
      { tool: 'refund_order', then: 'ask', reason: 'A person looks at it.' },
    ],
    otherwise: 'deny',
  },
  { context: ({ userId }) => ({ userId }) },
);
const context = { userId: 'u1' };

describe('an explanation', () => {
  it('shows each rule, each condition and each limit, and which one answers', () => {
    const told = explainPolicy(policy, { tool: 'refund_order', input: { cents: 500, owner: 'u1' }, context });
    expect(told.action).toBe('allow');
    expect(told.by).toBe('rules[1]');
    expect(told.rules).toEqual([
      { path: 'rules[0]', tool: ['find_*'], then: 'allow', outcome: 'not about this tool', conditions: [], limits: [] },
      {
        path: 'rules[1]',
        name: 'small',
        tool: ['refund_order'],
        then: 'allow',
        outcome: 'answers',
        conditions: [
          { path: 'rules[1].when.all[0].atMost', expects: '`cents` at most 1000', holds: true },
          { path: 'rules[1].when.all[1].equals', expects: '`owner` equal to context.userId', holds: true },
          { path: 'rules[1].when.all[2].any[0].view', expects: 'the label of the view is trusted', holds: true },
          { path: 'rules[1].when.all[2].any[1].not.untrustedReads', expects: 'an untrusted result of fetch_* was read', holds: false },
        ],
        limits: [
          { path: 'rules[1].limit', expects: 'at most 2 calls in one run', holds: true },
          { path: 'rules[1].spend', expects: 'at most 5000 of `cents` in P1D', holds: 'counted' },
        ],
      },
      { path: 'rules[2]', tool: ['refund_order'], then: 'deny', outcome: 'not reached', conditions: [], limits: [] },
      { path: 'rules[3]', tool: ['refund_order'], then: 'ask', outcome: 'not reached', conditions: [], limits: [] },
    ]);
  });

  it('tells what was missing, and what followed from that', () => {
    const { action, by, reason, text } = explainPolicy(policy, { tool: 'refund_order', input: { owner: 'u1' }, context });
    expect([action, by]).toEqual(['deny', 'rules[2]']);
    expect(reason).toBe('Rule 3 of policy refunds denies refund_order. (`note` could not be compared: missing, or of another kind.)');
    expect(text).toBe(
      [
        'refund_order: deny, by rules[2]. Rule 3 of policy refunds denies refund_order. (`note` could not be compared: missing, or of another kind.)',
        'rules[0] find_* then allow: not about this tool',
        'rules[1] (small) refund_order then allow: undecided',
        '  undecided: `cents` at most 1000',
        '  true: `owner` equal to context.userId',
        '  true: the label of the view is trusted',
        '  false: an untrusted result of fetch_* was read',
        '  true: at most 2 calls in one run',
        '  false: at most 5000 of `cents` in P1D (`cents` of this call or of an earlier one is no number of 0 or more, so it cannot be counted)',
        'rules[2] refund_order then deny: undecided',
        '  undecided: not: `note` a text with "gift"',
        'rules[3] refund_order then ask: answers',
      ].join('\n'),
    );
  });

  it('counts the calls that it is given', () => {
    const input = { cents: 500, owner: 'u1' };
    const calls = [
      { tool: 'refund_order', input },
      { tool: 'find_x', input: {} },
      { tool: 'refund_order', input },
    ];
    const told = explainPolicy(policy, { tool: 'refund_order', input, context, calls });
    expect([told.action, told.reason]).toEqual(['deny', 'Rule small of policy refunds: there may be at most 2 calls in one run.']);
    expect(told.rules[1]).toMatchObject({ outcome: 'over its limit', limits: [{ holds: false }, { holds: 'counted' }] });
  });

  it('counts no call whose amount is not known', () => {
    const spending = policyFrom({
      name: 'p',
      rules: [{ tool: 'pay', spend: { field: 'cents', atMost: 10, per: 'run' }, then: 'allow' }],
      otherwise: 'deny',
    });
    const told = (earlier: object) =>
      explainPolicy(spending, { tool: 'pay', input: { cents: 1 }, calls: [{ tool: 'pay', input: earlier as never }] });
    expect([told({ cents: 9 }).action, told({ cents: 10 }).action, told({}).action, told({ cents: -5 }).action]).toEqual([
      'allow',
      'deny',
      'deny',
      'deny',
    ]);
  });

  it('holds no value of the call or its context', () => {
    const secret = 'sk-1234567890';
    const input = { cents: secret, owner: secret, note: secret, [secret]: secret };
    const told = explainPolicy(policy, { tool: 'refund_order', input, context: { userId: secret } });
    expect(JSON.stringify(told)).not.toContain(secret);
  });

  it('tells of rules that can never answer, and of CEL that fails', () => {
    const dead = policyFrom(
      {
        name: 'p',
        rules: [
          { tool: '*', when: { cel: 'input.a == 1' }, then: 'ask' },
          { tool: 'x', when: { cel: 'input.a == 1' }, then: 'deny' },
        ],
        otherwise: 'allow',
      },
      { dead: 'report', cel },
    );
    const told = explainPolicy(dead, { tool: 'x', input: {} });
    expect([told.action, told.by]).toEqual(['deny', 'rules[0]']);
    expect(told.rules.map(({ outcome }) => outcome)).toEqual(['cannot be evaluated', 'unreachable']);
    expect(told.rules[0]?.conditions).toEqual([{ path: 'rules[0].when.cel', expects: 'input.a == 1', holds: 'failed' }]);
  });

  it('of a policy with a context says that the call has none', () => {
    const call = { tool: 'refund_order', input: { cents: 500 } };
    expect(() => explainPolicy(policy, call as never)).toThrow(
      "explainPolicy(…): the call has no context, and the policy's `context` cannot do without one. Give the run's: { tool, input, context }.",
    );
    const own = new Error('of the selection');
    const failing = policyFrom<{ readonly userId: string }>(
      { name: 'p', rules: [], otherwise: 'deny' },
      {
        context: () => {
          throw own;
        },
      },
    );
    expect(() => explainPolicy(failing, { ...call, context })).toThrow(own);
    const patient = policyFrom({ name: 'p', rules: [], otherwise: 'deny' }, { context: (given) => ({ given: typeof given }) });
    expect(explainPolicy(patient, call).action).toBe('deny');
  });

  it('is given of what `policyFrom` made, and of nothing else', () => {
    const other = defineGuardrail({ name: 'x', on: ['toolInput'], check: () => ({ action: 'allow' }) });
    expect(() => explainPolicy(other, { tool: 'x', input: {} })).toThrow('explainPolicy was given what `policyFrom` did not make.');
  });
});
