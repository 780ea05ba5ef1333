import { expect, test } from 'vitest';
import { z } from 'zod';
import { guardrailSpecOf } from './definition.js';
import { definePolicy } from './policy.js';
import { defineTool, undeclaredFlow } from './tool.js';
import type { GuardInfo, PolicyInfo, ToolInputSubject } from './types.js';

const define = definePolicy as (def: unknown) => ReturnType<typeof definePolicy>;
const invalid = (message: string) => expect.objectContaining({ code: 'CONFIG_INVALID', message });
const refund = defineTool({ name: 'refund_order', description: '', input: z.object({ cents: z.coerce.number() }), execute: () => '' });

const label = { origin: 'agent:billing', integrity: 'untrusted' } as const;
const subject = (tool: string, input: unknown): ToolInputSubject => ({
  surface: 'toolInput',
  content: '{"cents":"the raw one"}',
  label,
  tool,
  callId: '1.0',
  input,
  raw: { cents: 'the raw one' },
  flow: undeclaredFlow,
  schema: { type: 'object' },
});
const info: GuardInfo = {
  context: { mayRefund: true },
  run: 'r',
  agent: 'billing',
  agentPath: ['billing'],
  messages: [],
  labels: { subject: label, view: label },
  calls: [],
  untrustedReads: [],
  signal: new AbortController().signal,
};
const judge = (def: unknown, tool: string, input: unknown = {}) => {
  const { check } = guardrailSpecOf(define(def), 'It');
  return check?.(subject(tool, input), info);
};

test('a policy is one check on toolInput', () => {
  const spec = guardrailSpecOf(
    define({
      name: 'p',
      version: '3',
      rules: [
        { tool: 'find_*', then: 'allow' },
        { tool: refund, then: 'ask' },
      ],
      otherwise: 'deny',
      shadow: true,
    }),
    'It',
  );
  expect(spec.entry).toEqual({ name: 'p', version: '3', surfaces: ['toolInput'], phases: ['check'], shadow: true });
  expect(spec.ruleTools).toEqual(['find_*', 'refund_order']);
});

test('a policy shows its name and surface, and hides the rest', () => {
  expect({ ...define({ name: 'p', rules: [], otherwise: 'deny' }) }).toEqual({ name: 'p', on: ['toolInput'] });
});

test('the first rule that fits answers, else what holds otherwise', () => {
  const policy = {
    name: 'tool-policy',
    rules: [
      { tool: 'find_*', then: 'allow' },
      { tool: refund, when: ({ cents }: { cents: number }) => cents <= 1_000, then: 'allow' },
      { tool: refund, when: ({ cents }: { cents: number }) => cents > 9_000, then: 'halt', reason: 'That is too much.' },
      { tool: refund, then: 'ask' },
    ],
    otherwise: 'deny',
  };
  expect(judge(policy, 'find_order')).toEqual({ action: 'allow' });
  expect(judge(policy, 'refund_order', { cents: 1_000 })).toEqual({ action: 'allow' });
  expect(judge(policy, 'refund_order', { cents: 1_001 })).toEqual({
    action: 'ask',
    reason: 'Rule 4 of policy tool-policy wants a person to decide about refund_order.',
  });
  expect(judge(policy, 'refund_order', { cents: 9_001 })).toEqual({ action: 'halt', reason: 'That is too much.' });
  expect(judge(policy, 'drop_table')).toEqual({ action: 'deny', reason: 'Policy tool-policy, with no rule that fits, denies drop_table.' });
});

test('a policy without rules answers what holds otherwise', () => {
  expect(judge({ name: 'p', rules: [], otherwise: 'halt' }, 'find')).toEqual({
    action: 'halt',
    reason: 'Policy p, with no rule that fits, ends the run at find.',
  });
  expect(judge({ name: 'p', rules: [], otherwise: 'allow' }, 'find')).toEqual({ action: 'allow' });
});

test('reasons name rule and tool and hold no values', () => {
  const secret = 'tr0ub4dor';
  const verdict = judge({ name: 'p', rules: [{ tool: '*', when: () => true, then: 'deny' }], otherwise: 'allow' }, 'pay', { secret });
  expect(verdict).toEqual({ action: 'deny', reason: 'Rule 1 of policy p denies pay.' });
});

test('when gets the parsed input, and what is known about the call', () => {
  const seen: unknown[] = [];
  const when = (input: unknown, given: PolicyInfo) => {
    seen.push(input, given.context, given.tool, given.agent, given.flow, given.labels, given.untrustedReads, given.signal);
    return true;
  };
  judge({ name: 'p', rules: [{ tool: 'pay', when, then: 'allow' }], otherwise: 'deny' }, 'pay', { cents: 3 });
  expect(seen).toEqual([{ cents: 3 }, info.context, 'pay', 'billing', undeclaredFlow, info.labels, [], info.signal]);
});

test('the signal is read only when a rule reads it', () => {
  let reads = 0;
  const lazy: GuardInfo = {
    ...info,
    get signal() {
      reads += 1;
      return info.signal;
    },
  };
  reads = 0;
  const { check } = guardrailSpecOf(
    define({ name: 'p', rules: [{ tool: '*', when: () => true, then: 'allow' }], otherwise: 'deny' }),
    'It',
  );
  check?.(subject('pay', {}), lazy);
  expect(reads).toBe(0);
});

test('a when that throws lets nothing through', () => {
  const when = () => {
    throw new Error('no database');
  };
  expect(() => judge({ name: 'p', rules: [{ tool: '*', when, then: 'deny' }], otherwise: 'allow' }, 'pay')).toThrow('no database');
});

test.each([undefined, null, 1, 'true', Promise.resolve(true), {}])('a when that answers %s lets nothing through', (answer) => {
  expect(() => judge({ name: 'p', rules: [{ tool: '*', when: () => answer, then: 'allow' }], otherwise: 'deny' }, 'pay')).toThrow(
    /^`when` of rule 1 of policy p answered .*\. Answer true or false, at once\.$/,
  );
});

test.each<[string, unknown, string]>([
  ['no options', null, 'A policy was given null as its options. Give an object with name, version, rules, otherwise, shadow.'],
  ['no rules', { name: 'p', otherwise: 'deny' }, 'Policy p has no `rules`. Give a list; it may be empty.'],
  ['rules that are no list', { name: 'p', rules: {}, otherwise: 'deny' }, 'Policy p has an object as `rules`. Give a list.'],
  [
    'nothing otherwise',
    { name: 'p', rules: [] },
    'Policy p has undefined as `otherwise`. Say what holds where no rule fits: allow, ask, deny, halt.',
  ],
  [
    'a misspelt option',
    { name: 'p', rules: [], otherwize: 'deny' },
    'Policy p has an option "otherwize", which does not exist. Did you mean otherwise? The options are name, version, rules, otherwise, shadow.',
  ],
  [
    'a rule that is no object',
    { name: 'p', rules: ['find_*'], otherwise: 'deny' },
    'Rule 1 of policy p was given "find_*" as its options. Give an object with tool, when, then, reason.',
  ],
  [
    'a hole among the rules',
    { name: 'p', rules: new Array(1), otherwise: 'deny' },
    'Rule 1 of policy p was given undefined as its options. Give an object with tool, when, then, reason.',
  ],
  [
    'a rule without a tool',
    { name: 'p', rules: [{ then: 'allow' }], otherwise: 'deny' },
    'The tool of rule 1 of policy p is undefined. Expected a tool made by defineTool or asTool.',
  ],
  [
    'a rule about what cannot name a tool',
    { name: 'p', rules: [{ tool: 'find order', then: 'allow' }], otherwise: 'deny' },
    'Rule 1 of policy p is about "find order", which cannot name a tool. Give a tool, its name, or a pattern such as \'find_*\'.',
  ],
  [
    'a rule without an answer',
    { name: 'p', rules: [{ tool: 'a', then: 'deny' }, { tool: 'find' }], otherwise: 'deny' },
    'Rule 2 of policy p has no `then`. Say what it answers: allow, ask, deny, halt.',
  ],
  [
    'a rule with a misspelt condition',
    { name: 'p', rules: [{ tool: 'find', wen: () => false, then: 'allow' }], otherwise: 'deny' },
    'Rule 1 of policy p has an option "wen", which does not exist. Did you mean when? The options are tool, when, then, reason.',
  ],
  [
    'a when that is no function',
    { name: 'p', rules: [{ tool: 'find', when: true, then: 'allow' }], otherwise: 'deny' },
    'Rule 1 of policy p has true as `when`. Give a function, or leave it out.',
  ],
  [
    'a reason that is no text',
    { name: 'p', rules: [{ tool: 'find', then: 'deny', reason: 3 }], otherwise: 'deny' },
    'Rule 1 of policy p has 3 as `reason`. Give a text, or leave it out.',
  ],
])('%s is refused', (_what, def, message) => {
  expect(() => define(def)).toThrow(invalid(message));
});

test('S177: a misspelt action is refused where the policy is defined, it never means no approval', () => {
  expect(() => define({ name: 'p', rules: [{ tool: 'del', then: 'alow' }], otherwise: 'deny' })).toThrow(
    invalid("Rule 1 of policy p has \"alow\" as `then`. Did you mean allow? Give 'allow' or 'ask' or 'deny' or 'halt'."),
  );
  expect(() => define({ name: 'p', rules: [], otherwise: 'nevr' })).toThrow(
    invalid("Policy p has \"nevr\" as `otherwise`. Give 'allow' or 'ask' or 'deny' or 'halt'."),
  );
});

test.each(['core', 'model'])('nor is a policy named %s', (name) => {
  const define = definePolicy as (def: unknown) => unknown;
  expect(() => define({ name, rules: [{ tool: '*', then: 'allow' }], otherwise: 'deny' })).toThrow(/In logs that name stands for/);
});
