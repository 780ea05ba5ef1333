import { defineAgent, defineTool, GuardloopError, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { explainPolicy } from './explain.js';
import { policyFrom } from './policy-from.js';
import type { PolicyData } from './types.js';

const rule = { tool: 'pay', then: 'allow' } as const;
const policy = (more: object = {}): PolicyData => ({ name: 'refunds', rules: [rule], otherwise: 'deny', ...more }) as PolicyData;
const withWhen = (when: unknown, more: object = {}): PolicyData => policy({ rules: [{ ...rule, when, ...more }] });

function messageOf(source: PolicyData | string, options: object = {}): string {
  try {
    policyFrom(source, options);
  } catch (thrown) {
    if (GuardloopError.is(thrown) && thrown.code === 'CONFIG_INVALID') return thrown.message;
    throw thrown;
  }
  return 'it was taken';
}

describe('a policy', () => {
  const yaml = `
# Refunds.
name: refunds
version: '3'
rules:
  - tool: [find_*, list_orders]
    then: allow
  - tool: refund_order
    when: { all: [{ field: cents, atMost: 1000 }, { view: trusted }] }
    then: allow
    reason: small refunds
otherwise: { then: deny, reason: 'Only refunds are made here.' }
`;
  const data: PolicyData = {
    name: 'refunds',
    version: '3',
    rules: [
      { tool: ['find_*', 'list_orders'], then: 'allow' },
      {
        tool: 'refund_order',
        when: { all: [{ field: 'cents', atMost: 1000 }, { view: 'trusted' }] },
        then: 'allow',
        reason: 'small refunds',
      },
    ],
    otherwise: { then: 'deny', reason: 'Only refunds are made here.' },
  };

  it('means the same as a value, as JSON and as YAML', () => {
    const calls = [
      { tool: 'find_order', input: {} },
      { tool: 'refund_order', input: { cents: 1000 } },
      { tool: 'refund_order', input: { cents: 1001 } },
      { tool: 'other', input: {} },
    ];
    const told = [data, JSON.stringify(data), JSON.stringify(data, null, 2), yaml].map((source) =>
      calls.map((call) => explainPolicy(policyFrom(source), call)),
    );
    expect(told[0]?.map(({ action, reason, by }) => [action, by, reason])).toEqual([
      ['allow', 'rules[0]', 'Rule 1 of policy refunds allows find_order.'],
      ['allow', 'rules[1]', 'small refunds'],
      ['deny', 'otherwise', 'Only refunds are made here.'],
      ['deny', 'otherwise', 'Only refunds are made here.'],
    ]);
    for (const each of told) expect(each).toEqual(told[0]);
  });

  it('is a copy: what is changed later changes nothing', () => {
    const list = ['anna'];
    const made = policyFrom(withWhen({ field: 'to', oneOf: list }));
    list.push('mallory');
    expect(explainPolicy(made, { tool: 'pay', input: { to: 'mallory' } }).action).toBe('deny');
  });

  test.each<[what: string, source: PolicyData | string, message: string]>([
    ['no object', [] as never, 'The policy: a list is no policy. Give an object with name, rules and otherwise, or its JSON or YAML.'],
    ['text of a list', '[1]', 'The policy: a list is no policy.'],
    [
      'the name of a file',
      './refunds.yaml',
      'The policy: "./refunds.yaml" is no policy. Give an object with name, rules and otherwise, or its JSON or YAML. No file is read here: give the file\'s text.',
    ],
    [
      'a word of YAML 1.1 for true',
      'name: p\nrules: [{ tool: pay, when: { untrustedReads: yes }, then: ask }]\notherwise: deny',
      'Policy p: rules[0].when.untrustedReads: "yes" is a text here, not true. Write true, without quotes; or [yes] for a tool of that name.',
    ],
    [
      'a word of YAML 1.1 for false',
      'name: p\nrules: [{ tool: pay, when: { untrustedReads: Off }, then: ask }]\notherwise: deny',
      'rules[0].when.untrustedReads: "Off" is a text here, not false.',
    ],
    ['an unknown part', policy({ rulez: [] }), 'Policy refunds: unknown part of a policy rulez; did you mean rules?'],
    ['no name', policy({ name: undefined }), 'The policy: name: undefined is no text of 1 to 200 characters.'],
    ['rules that are none', policy({ rules: 'all' }), 'Policy refunds: rules: "all" is no list of at most 1000 rules. It may be empty.'],
    ['a rule that is none', policy({ rules: [rule, 5] }), 'Policy refunds: rules[1]: 5 is no part of a rule.'],
    ['a misspelt part of a rule', policy({ rules: [{ ...rule, than: 'x' }] }), 'rules[0]: unknown part of a rule than; did you mean then?'],
    [
      'a rule about nothing',
      policy({ rules: [{ then: 'allow' }] }),
      "rules[0].tool: say which tool it is about: a name, a pattern such as find_*, '*' for all, or a list.",
    ],
    ['a tool that cannot be', policy({ rules: [{ ...rule, tool: 'no tool' }] }), 'rules[0].tool: "no tool" cannot name a tool.'],
    ['no tool at all', policy({ rules: [{ ...rule, tool: [] }] }), 'rules[0].tool: this list is empty: the rule would be about nothing.'],
    [
      'a rule that answers nothing',
      policy({ rules: [{ tool: 'pay' }] }),
      'rules[0].then: say what the rule answers: allow, ask, deny, halt.',
    ],
    [
      'an answer that is none',
      policy({ rules: [{ tool: 'pay', then: 'alow' }] }),
      'rules[0].then: "alow" is none of allow, ask, deny, halt; did you mean allow?',
    ],
    ['nothing for otherwise', policy({ otherwise: undefined }), 'otherwise: say what holds where no rule fits: allow, ask, deny, halt.'],
    [
      'two rules of one name',
      policy({
        rules: [
          { ...rule, name: 'a' },
          { tool: 'x', then: 'deny', name: 'a' },
        ],
      }),
      'rules: two rules have the name a.',
    ],
    ['a function in it', policy({ rules: [{ ...rule, when: () => true }] }), 'a function stands in it that is no plain data.'],
    ['a date in it', withWhen({ field: 'to', equals: new Date() }), 'an object stands in it that is no plain data.'],
    [
      'a misspelt test',
      policy({ rules: [rule, rule, { ...rule, when: { all: [{ field: 'cents', atmost: 5 }] } }] }),
      'Policy refunds: rules[2].when.all[0]: unknown condition atmost; did you mean atMost?',
    ],
    ['an empty condition', withWhen({}), 'rules[0].when: this condition is empty.'],
    [
      'a list as condition',
      withWhen([{ view: 'trusted' }]),
      'rules[0].when: a list is no condition. Write { all: [...] } or { any: [...] }.',
    ],
    ['a test of nothing', withWhen({ atMost: 5 }), 'rules[0].when: atMost is asked of nothing. Add `field`, `every`, `some` or `context`.'],
    ['a field of which nothing is asked', withWhen({ field: 'cents' }), 'rules[0].when: nothing is asked of "cents".'],
    ['two values at once', withWhen({ field: 'a', some: 'b[]', equals: 1 }), 'rules[0].when: field and some stand together.'],
    ['a path that is none', withWhen({ field: 'a..b', equals: 1 }), 'rules[0].when.field: this is no path.'],
    [
      'a list as one field',
      withWhen({ field: 'a[].b', equals: 1 }),
      'rules[0].when.field: a[].b goes through a list. Write `every` or `some` in the place of `field`.',
    ],
    ['one field as a list', withWhen({ every: 'a.b', equals: 1 }), 'rules[0].when.every: a.b names one value.'],
    [
      'a number in quotes',
      withWhen({ field: 'a', atMost: '5' }),
      'rules[0].when.atMost: "5" is no number that can be told apart from its neighbours. Give a finite number, without quotes.',
    ],
    [
      'a number that is rounded',
      '{"name":"refunds","rules":[{"tool":"pay","when":{"field":"a","atMost":9007199254740993},"then":"allow"}],"otherwise":"deny"}',
      'rules[0].when.atMost: 9007199254740992 is no number',
    ],
    [
      'null to compare with',
      withWhen({ field: 'a', equals: null }),
      'rules[0].when.equals: null counts as missing. Write `present: false` for it.',
    ],
    ['an empty list', withWhen({ field: 'a', oneOf: [] }), 'rules[0].when.oneOf: a list is no list of 1 to 10000 entries.'],
    ['an expression that is none', withWhen({ field: 'a', matches: '(a' }), 'rules[0].when.matches: this is no expression of RE2'],
    [
      'an expression that needs more than RE2',
      withWhen({ field: 'a', matches: '(?=a)b' }),
      'rules[0].when.matches: this is no expression of RE2',
    ],
    [
      'an expression that would close ours',
      withWhen({ field: 'a', matches: 'a)|(?:.*' }),
      'rules[0].when.matches: this is no expression of RE2',
    ],
    ['a folder that is relative', withWhen({ field: 'a', within: 'files' }), 'rules[0].when.within: "files" is no absolute path'],
    [
      'a host with a path',
      withWhen({ field: 'a', url: { hosts: ['shop.example/x'] } }),
      'rules[0].when.url.hosts[0]: "shop.example/x" is no host.',
    ],
    ['every host of all', withWhen({ field: 'a', url: { hosts: ['*.example'] } }), 'rules[0].when.url.hosts[0]: "*.example" is no host.'],
    ['a star inside a host', withWhen({ field: 'a', url: { hosts: ['api.*.example'] } }), 'is no host.'],
    [
      'a scheme with a colon',
      withWhen({ field: 'a', url: { hosts: ['shop.example'], schemes: ['https:'] } }),
      'rules[0].when.url.schemes[0]: "https:" is no scheme',
    ],
    [
      'case where there is none',
      withWhen({ field: 'a', atMost: 5, ignoreCase: true }),
      'rules[0].when.ignoreCase: nothing here has a case',
    ],
    [
      'a context that is not given',
      withWhen({ field: 'a', equals: { context: 'userId' } }),
      'rules[0].when.equals.context: there is no context here.',
    ],
    [
      'an effect that is none',
      withWhen({ effect: 'sends' }),
      'rules[0].when.effect: "sends" is none of none, read, write, send; did you mean send?',
    ],
    [
      'a zone that is none',
      policy({ rules: [{ ...rule, during: { zone: 'Mars/Base' } }] }),
      'rules[0].during.zone: "Mars/Base" is no time zone that is known here.',
    ],
    [
      'a time that is none',
      policy({ rules: [{ ...rule, during: { from: '9:00', zone: 'UTC' } }] }),
      'rules[0].during.from: "9:00" is no time of day such as 09:00, in quotes.',
    ],
    [
      'a window of no length',
      policy({ rules: [{ ...rule, during: { from: '09:00', to: '09:00', zone: 'UTC' } }] }),
      'rules[0].during: from and to are the same time.',
    ],
    [
      'a limit of what is refused',
      policy({ rules: [{ tool: 'pay', then: 'deny', limit: { calls: 1, per: 'run' } }] }),
      'rules[0]: a rule that answers deny lets nothing through that could be counted.',
    ],
    [
      'a limit by the month',
      policy({ rules: [{ ...rule, limit: { calls: 1, per: 'P1M' } }] }),
      'rules[0].limit.per: "P1M" is neither run nor a duration',
    ],
    [
      'a limit of half a call',
      policy({ rules: [{ ...rule, limit: { calls: 1.5, per: 'run' } }] }),
      'rules[0].limit.calls: 1.5 is no whole number from 0.',
    ],
    [
      'a limit by user in a run',
      policy({ rules: [{ ...rule, limit: { calls: 1, per: 'run', by: 'user' } }] }),
      'rules[0].limit.by: a limit of one run is counted in that run alone.',
    ],
    [
      'a limit that asks where it asks',
      policy({ rules: [{ tool: 'pay', then: 'ask', limit: [{ calls: 1, per: 'run', over: 'ask' }] }] }),
      'rules[0]: it asks in any case',
    ],
    [
      'CEL that nobody reads',
      withWhen({ cel: 'true' }),
      "rules[0].when.cel: there is nothing that reads CEL. Give `policyFrom` the option `cel`: import { cel } from '@guardloop/guardrails/cel'.",
    ],
    [
      'YAML with a name twice',
      'name: a\nname: b\nrules: []\notherwise: deny',
      'The policy: the text has a name twice in one object at line 2, column 1.',
    ],
    [
      'JSON with a name twice',
      '{"name":"a","rules":[],"otherwise":"deny","otherwise":"allow"}',
      'the text has a name twice in one object at line 1, column 43.',
    ],
    [
      'YAML with an alias',
      'name: a\nrules: [&r { tool: x, then: deny }, *r]\notherwise: deny',
      'the text has an alias (*name) at line 2, column 37.',
    ],
    ['YAML with an alias of nothing', 'name: a\nrules: [*r]\notherwise: deny', 'The policy: the text'],
    [
      'YAML with a tag',
      'name: !!js/function x\nrules: []\notherwise: deny',
      'The policy: the text cannot be read at line 1, column 7: Unresolved tag',
    ],
    ['YAML with two documents', 'name: a\nrules: []\notherwise: deny\n---\nname: b', 'The policy: the text cannot be read'],
    [
      'text that is too long',
      `name: a\ndescription: ${'x'.repeat(262_144)}`,
      'The policy: the text has 262165 characters; at most 262144 are read.',
    ],
    ['text that is too deep', `name: ${'['.repeat(20_000)}`, 'The policy: the text cannot be read'],
    [
      'conditions that are too deep',
      withWhen(Array.from({ length: 25 }).reduce((inner) => ({ not: inner }), { view: 'trusted' })),
      'conditions stand more than 20 deep in one another.',
    ],
  ])('with %s is refused where that is', (_what, source, message) => {
    expect(messageOf(source)).toContain(message);
  });

  test.each([
    ['context', { context: 5 }, 'policyFrom(…)'],
    ['limits', { limits: {} }, 'limits is no store'],
    ['clock', { clock: 5 }, 'clock is no clock'],
    ['dead', { dead: 'ignore' }, "dead is neither 'refuse' nor 'report'"],
    ['cel', { cel: 'yes' }, 'cel is no function'],
    ['an option that does not exist', { dedd: 'report' }, 'dedd'],
  ])('with a wrong option, %s, is refused', (_what, options, message) => {
    expect(messageOf(policy(), options)).toContain(message);
  });

  it('is read in time, whatever the text is', () => {
    const began = process.cpuUsage();
    const texts = [
      Array.from({ length: 20_000 }, (_, index) => `k${index}: 1`).join('\n'),
      '&a '.repeat(80_000),
      '['.repeat(200_000),
      '- '.repeat(100_000),
      '\n'.repeat(262_144),
      '\ud800'.repeat(262_144),
      '\u0000'.repeat(262_144),
    ];
    for (const text of texts) expect(messageOf(text)).toMatch(/^The policy/);
    expect(process.cpuUsage(began).user).toBeLessThan(60_000_000);
  }, 90_000);

  it('takes any text with an answer or a fault, and nothing else', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary', maxLength: 200 }), fc.json()), (text) => {
        expect(messageOf(text)).toMatch(/^(The policy|Policy )/);
      }),
      { numRuns: 300, seed: 4 },
    );
  });

  it('has a version that changes with its data alone, unless it says one', async () => {
    const versionOf = async (source: PolicyData | string): Promise<string | undefined> => {
      const pay = defineTool({ name: 'pay', description: 'Pays.', input: z.object({}), execute: () => 'Paid.' });
      const agent = defineAgent({
        name: 'desk',
        instructions: '',
        model: scriptedModel([callTool('pay', {}), say('Done.')]),
        tools: [pay],
      });
      const { events } = await run(agent, 'hello', { guardrails: [policyFrom(source)] });
      return events.flatMap((event) => (event.type === 'guard.verdict' ? [event.version] : []))[0];
    };
    const first = await versionOf(policy());
    expect(first).toMatch(/^[0-9a-z]+$/);
    expect(await versionOf(JSON.stringify({ otherwise: 'deny', rules: [{ then: 'allow', tool: 'pay' }], name: 'refunds' }))).toBe(first);
    expect(await versionOf(policy({ otherwise: 'ask' }))).not.toBe(first);
    expect(await versionOf(policy({ version: '7' }))).toBe('7');
  });
});
