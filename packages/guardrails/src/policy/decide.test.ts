import { describe, expect, it, test } from 'vitest';
import type { CallToExplain } from './explain.js';
import { explainPolicy } from './explain.js';
import { policyFrom } from './policy-from.js';
import type { Condition } from './types.js';

/** What a condition is for a call: it allows, it does not fit, or it cannot be decided. */
function truthOf(when: Condition, call: Partial<CallToExplain> & { readonly user?: object } = {}): unknown {
  const policy = policyFrom<unknown>(
    { name: 'p', rules: [{ tool: 'pay', when, then: 'allow' }], otherwise: 'deny' },
    { context: () => call.user ?? {} },
  );
  const [rule] = explainPolicy(policy, { tool: 'pay', input: {}, ...call }).rules;
  return rule?.outcome === 'answers' ? true : rule?.outcome === 'does not fit' ? false : rule?.outcome;
}
const undecided = 'undecided';
const no = false;

test.each<[when: Condition, value: unknown, truth: unknown]>([
  [{ field: 'x', equals: 'a' }, 'a', true],
  [{ field: 'x', equals: 'a' }, 'A', no],
  [{ field: 'x', equals: 'a', ignoreCase: true }, 'A', true],
  [{ field: 'x', equals: 'a' }, 5, undecided],
  [{ field: 'x', equals: 5 }, '5', undecided],
  [{ field: 'x', equals: true }, false, no],
  [{ field: 'x', equals: 'a' }, ['a'], undecided],
  [{ field: 'x', equals: 'a' }, null, undecided],
  [{ field: 'x', equals: 'a' }, undefined, undecided],
  [{ field: 'x', oneOf: ['a', 5] }, 5, true],
  [{ field: 'x', oneOf: ['a', 5] }, 6, no],
  [{ field: 'x', oneOf: ['a', 'b'] }, 5, undecided],
  [{ field: 'x', noneOf: ['a', 'b'] }, 'c', true],
  [{ field: 'x', noneOf: ['a', 'b'] }, 'a', no],
  [{ field: 'x', noneOf: ['a', 'b'] }, undefined, undecided],
  [{ field: 'x', atMost: 5 }, 5, true],
  [{ field: 'x', atMost: 5 }, 5.01, no],
  [{ field: 'x', atMost: 5 }, Number.NaN, undecided],
  [{ field: 'x', atMost: 5 }, Number.NEGATIVE_INFINITY, undecided],
  [{ field: 'x', atMost: 5 }, '4', undecided],
  [{ field: 'x', atLeast: 5 }, 5, true],
  [{ field: 'x', atLeast: 5 }, 4, no],
  [{ field: 'x', above: 5 }, 5, no],
  [{ field: 'x', above: 5 }, 6, true],
  [{ field: 'x', below: 5 }, 5, no],
  [{ field: 'x', below: 5 }, 4, true],
  [{ field: 'x', above: 1, below: 5 }, 4, true],
  [{ field: 'x', above: 1, below: 5 }, 1, no],
  [{ field: 'x', matches: '[a-z]+' }, 'abc', true],
  [{ field: 'x', matches: '[a-z]+' }, 'abc\n', no],
  [{ field: 'x', matches: '[a-z]+' }, 'abc1', no],
  [{ field: 'x', matches: 'a|b' }, 'ab', no],
  [{ field: 'x', matches: '[a-z]+', ignoreCase: true }, 'ABC', true],
  [{ field: 'x', matches: '.*' }, 'a'.repeat(10_001), undecided],
  [{ field: 'x', finds: 'evil' }, 'an\nevil\nword', true],
  [{ field: 'x', finds: 'evil' }, 'none', no],
  [{ field: 'x', startsWith: 'ab' }, 'abc', true],
  [{ field: 'x', startsWith: ['x', 'ab'] }, 'abc', true],
  [{ field: 'x', startsWith: 'ab' }, 'ABC', no],
  [{ field: 'x', endsWith: '@shop.example' }, 'anna@shop.example', true],
  [{ field: 'x', endsWith: '@shop.example', ignoreCase: true }, 'anna@SHOP.example', true],
  [{ field: 'x', endsWith: '@shop.example' }, 'anna@shop.example.evil.example', no],
  [{ field: 'x', contains: 'b' }, 'abc', true],
  [{ field: 'x', contains: 'b' }, 7, undecided],
  [{ field: 'x', within: '/srv/files' }, '/srv/files', true],
  [{ field: 'x', within: '/srv/files/' }, '/srv/files/a/b.txt', true],
  [{ field: 'x', within: '/srv/files' }, '/srv/files2/a', no],
  [{ field: 'x', within: '/srv/files' }, '/srv/files/../secret', no],
  [{ field: 'x', within: '/srv/files' }, '/srv//files/./a', true],
  [{ field: 'x', within: '/srv/files' }, '/../srv/files/a', true],
  [{ field: 'x', within: '/srv/files' }, 'srv/files/a', undecided],
  [{ field: 'x', within: '/srv/files' }, '/srv/files/%2e%2e/secret', undecided],
  [{ field: 'x', within: '/srv/files' }, '/srv/files\\..\\secret', undecided],
  [{ field: 'x', within: '/srv/files' }, '/srv/files/a\u0000.txt', undecided],
  [{ field: 'x', within: ['/tmp', '/srv'] }, '/tmp/a', true],
  [{ field: 'x', lengthAtMost: 2 }, 'ab', true],
  [{ field: 'x', lengthAtMost: 2 }, 'abc', no],
  [{ field: 'x', lengthAtLeast: 1 }, [], no],
  [{ field: 'x', lengthAtLeast: 1 }, 5, undecided],
  [{ field: 'x', present: true }, 0, true],
  [{ field: 'x', present: true }, null, no],
  [{ field: 'x', present: false }, undefined, true],
  [{ field: 'x', present: false }, '', no],
  [{ not: { field: 'x', atMost: 5 } }, 6, true],
  [{ not: { field: 'x', atMost: 5 } }, undefined, undecided],
  [
    {
      any: [
        { field: 'x', present: false },
        { field: 'x', atMost: 5 },
      ],
    },
    undefined,
    true,
  ],
  [
    {
      any: [
        { field: 'y', atMost: 5 },
        { field: 'x', atMost: 5 },
      ],
    },
    4,
    true,
  ],
  [
    {
      any: [
        { field: 'y', atMost: 5 },
        { field: 'x', atMost: 5 },
      ],
    },
    6,
    undecided,
  ],
  [
    {
      all: [
        { field: 'y', atMost: 5 },
        { field: 'x', atMost: 5 },
      ],
    },
    6,
    no,
  ],
  [
    {
      all: [
        { field: 'y', atMost: 5 },
        { field: 'x', atMost: 5 },
      ],
    },
    4,
    undecided,
  ],
  [{ field: 'x', atMost: 5, view: 'untrusted' }, 4, no],
])('%j of %j is %s', (when, x, truth) => {
  expect(truthOf(when, { input: { x } })).toBe(truth);
});

describe('a path', () => {
  test.each<[when: Condition, input: unknown, truth: unknown]>([
    [{ field: 'to.address', equals: 'a' }, { to: { address: 'a' } }, true],
    [{ field: 'to.address', equals: 'a' }, { to: 'a' }, undecided],
    [{ field: 'items[1].id', equals: 'a' }, { items: [{}, { id: 'a' }] }, true],
    [{ field: 'items[1].id', equals: 'a' }, { items: { 1: { id: 'a' } } }, undecided],
    [{ field: 'a\\.b', equals: 'a' }, { 'a.b': 'a' }, true],
    [{ field: 'a\\.b', equals: 'a' }, { a: { b: 'a' } }, undecided],
    [{ field: 'constructor.name', equals: 'Object' }, {}, undecided],
    [{ field: '__proto__', present: true }, {}, no],
    [{ field: '__proto__', present: true }, JSON.parse('{"__proto__":1}'), true],
    [{ field: 'length', present: true }, [1], no],
    [{ every: 'to[]', endsWith: '.a' }, { to: ['x.a', 'y.a'] }, true],
    [{ every: 'to[]', endsWith: '.a' }, { to: ['x.a', 'y.b'] }, no],
    [{ every: 'to[]', endsWith: '.a' }, { to: ['x.a', 5] }, undecided],
    [{ every: 'to[]', endsWith: '.a' }, { to: [5, 'y.b'] }, no],
    [{ every: 'to[]', endsWith: '.a' }, { to: [] }, true],
    [{ every: 'to[]', endsWith: '.a' }, { to: 'x.a' }, undecided],
    [{ every: 'to[]', endsWith: '.a' }, {}, undecided],
    [{ every: 'to[]', noneOf: ['x'] }, { to: ['y', 'x'] }, no],
    [{ every: 'to[]', noneOf: ['x'] }, { to: ['y', 'z'] }, true],
    [{ some: 'to[]', noneOf: ['x'] }, { to: ['y', 'x'] }, true],
    [{ some: 'to[]', noneOf: ['x'] }, { to: ['x', 'x'] }, no],
    [{ some: 'a[].b[].c', atLeast: 5 }, { a: [{ b: [{ c: 1 }] }, { b: [{ c: 5 }] }] }, true],
    [{ some: 'a[].b[].c', atLeast: 5 }, { a: [{ b: [{ c: 1 }] }, {}] }, undecided],
    [{ some: 'a[].b', present: true }, { a: [{}, { b: 1 }] }, true],
    [{ some: 'a[].b', atLeast: 1 }, { a: [] }, no],
    [{ only: ['a', 'b'] }, { a: 1 }, true],
    [{ only: ['a', 'b'] }, { a: 1, c: undefined }, true],
    [{ only: ['a', 'b'] }, { a: 1, c: 1 }, no],
    [{ only: ['a', 'b'] }, [1], undecided],
    [{ field: 'a', atMost: { field: 'b' } }, { a: 1, b: 2 }, true],
    [{ field: 'a', atMost: { field: 'b' } }, { a: 3, b: 2 }, no],
    [{ field: 'a', atMost: { field: 'b' } }, { a: 3 }, undecided],
    [{ field: 'a', equals: { field: 'b' } }, { a: 3, b: [3] }, undecided],
  ])('%j in %j is %s', (when, input, truth) => {
    expect(truthOf(when, { input })).toBe(truth);
  });
});

describe('a URL', () => {
  const when: Condition = { field: 'x', url: { hosts: ['api.shop.example', '*.cdn.example'] } };
  test.each<[url: unknown, truth: unknown]>([
    ['https://api.shop.example/a?b#c', true],
    ['https://API.Shop.Example', true],
    ['https://api.shop.example./', true],
    ['https://api.shop.example:443/', true],
    ['https://a.b.cdn.example/', true],
    ['https://cdn.example/', no],
    ['https://evilcdn.example/', no],
    ['https://shop.example/', no],
    ['https://api.shop.example.evil.example/', no],
    ['https://evil.example/api.shop.example', no],
    ['https://evil.example#api.shop.example', no],
    ['https://api.shop.example@evil.example/', no],
    ['https://user:word@api.shop.example/', no],
    ['https://@api.shop.example/', no],
    ['https://api.shop.example\\@evil.example/', no],
    ['https:\\\\api.shop.example/', no],
    ['https://api.shop\n.example/', no],
    [' https://api.shop.example/', no],
    ['http://api.shop.example/', no],
    ['https://api.shop.example:8443/', no],
    ['//api.shop.example/', no],
    ['api.shop.example', no],
    ['javascript:alert(1)', no],
    [`https://api.shop.example/${'a'.repeat(9_000)}`, no],
    ['', no],
    [5, undecided],
  ])('%j is %s', (x, truth) => {
    expect(truthOf(when, { input: { x } })).toBe(truth);
  });

  it('may have other schemes and ports where they are named', () => {
    const open: Condition = { field: 'x', url: { hosts: ['localhost', '127.0.0.1', '[::1]'], schemes: ['http'], ports: [80, 8080] } };
    const truths = [
      'http://localhost/',
      'http://127.0.0.1:8080/',
      'http://127.1:8080/',
      'http://[::1]:80',
      'http://localhost:81/',
      'https://localhost/',
    ];
    expect(truths.map((x) => truthOf(open, { input: { x } }))).toEqual([true, true, true, true, false, false]);
  });

  it('has its host compared as a browser writes it', () => {
    const idn: Condition = { field: 'x', url: { hosts: ['bücher.example'] } };
    expect(truthOf(idn, { input: { x: 'https://xn--bcher-kva.example/' } })).toBe(true);
    expect(truthOf(idn, { input: { x: 'https://bücher.example/' } })).toBe(true);
    expect(truthOf(idn, { input: { x: 'https://bucher.example/' } })).toBe(false);
  });
});

describe('what a call says by itself', () => {
  const send = { effect: 'send', results: 'untrusted', declared: true } as const;
  const reads = [{ tool: 'fetch_page', callId: '1.0' }];
  test.each<[when: Condition, call: Partial<CallToExplain> & { user?: object }, truth: unknown]>([
    [{ effect: 'send' }, { flow: send }, true],
    [{ effect: ['none', 'read'] }, { flow: send }, false],
    [{ effect: 'write' }, {}, true],
    [{ declared: false }, {}, true],
    [{ declared: true }, { flow: send }, true],
    [{ results: 'trusted' }, { flow: send }, false],
    [{ view: 'untrusted' }, { view: 'untrusted' }, true],
    [{ view: 'trusted' }, { view: 'untrusted' }, false],
    [{ call: 'untrusted' }, { view: 'untrusted' }, true],
    [{ call: 'untrusted' }, { view: 'untrusted', call: 'trusted' }, false],
    [{ untrustedReads: true }, { untrustedReads: reads }, true],
    [{ untrustedReads: false }, { untrustedReads: reads }, false],
    [{ untrustedReads: 'fetch_*' }, { untrustedReads: reads }, true],
    [{ untrustedReads: ['read_mail', 'list_*'] }, { untrustedReads: reads }, false],
    [{ agent: 'billing' }, { agent: 'billing' }, true],
    [{ agent: ['triage', 'b*'] }, { agent: 'billing' }, true],
    [{ agent: 'billing' }, { agent: 'triage' }, false],
    [{ context: 'role', oneOf: ['admin'] }, { user: { role: 'admin' } }, true],
    [{ context: 'role', oneOf: ['admin'] }, { user: { role: 'guest' } }, false],
    [{ context: 'role', oneOf: ['admin'] }, { user: {} }, undecided],
    [{ context: 'may.refund', equals: true }, { user: { may: { refund: true } } }, true],
    [{ field: 'owner', equals: { context: 'id' } }, { input: { owner: 'u1' }, user: { id: 'u1' } }, true],
    [{ field: 'owner', equals: { context: 'id' } }, { input: { owner: 'u2' }, user: { id: 'u1' } }, false],
    [{ field: 'owner', equals: { context: 'id' } }, { input: { owner: 'u2' }, user: {} }, undecided],
    [{ field: 'owner', oneOf: { context: 'ids' } }, { input: { owner: 'u2' }, user: { ids: ['u1', 'u2'] } }, true],
    [{ field: 'path', within: { context: 'home' } }, { input: { path: '/home/u1/a' }, user: { home: '/home/u1' } }, true],
    [{ field: 'path', within: { context: 'home' } }, { input: { path: '/home/u1/a' }, user: { home: '' } }, undecided],
    [{ field: 'to', endsWith: { context: 'domain' } }, { input: { to: 'x' }, user: { domain: '' } }, undecided],
  ])('%j with %j is %s', (when, call, truth) => {
    expect(truthOf(when, call)).toBe(truth);
  });
});

describe('a time window', () => {
  const open = (during: Condition['during'], at: string): unknown => truthOf({ during } as Condition, { at: Date.parse(at) });
  const office = { days: ['mon', 'tue', 'wed', 'thu', 'fri'], from: '09:00', to: '17:30', zone: 'Europe/Berlin' } as const;

  test.each([
    ['2026-07-06T07:00:00Z', true], // a Monday in summer: 09:00 in Berlin
    ['2026-07-06T06:59:59Z', false],
    ['2026-07-06T15:29:59Z', true],
    ['2026-07-06T15:30:00Z', false],
    ['2026-01-05T08:00:00Z', true], // a Monday in winter: 09:00 in Berlin
    ['2026-01-05T07:59:59Z', false],
    ['2026-07-05T10:00:00Z', false], // a Sunday
  ])('by the clock of its zone: at %s %s', (at, isOpen) => {
    expect(open(office, at)).toBe(isOpen);
  });

  test.each([
    ['2026-07-10T21:59:00Z', false], // Friday
    ['2026-07-10T22:00:00Z', true],
    ['2026-07-11T05:59:00Z', true], // Saturday: the night that began on Friday
    ['2026-07-11T06:00:00Z', false],
    ['2026-07-11T22:30:00Z', false],
    ['2026-07-10T05:00:00Z', false], // Friday morning: the night that began on Thursday
  ])('over midnight it belongs to the day on which it began: at %s %s', (at, isOpen) => {
    expect(open({ days: ['fri'], from: '22:00', to: '06:00', zone: 'UTC' }, at)).toBe(isOpen);
  });

  it('is the whole day where it says nothing else, and can be turned round', () => {
    expect(open({ days: ['sun'], zone: 'UTC' }, '2026-07-05T23:59:59Z')).toBe(true);
    expect(open({ days: ['sun'], zone: 'UTC' }, '2026-07-06T00:00:00Z')).toBe(false);
    expect(truthOf({ not: { during: { days: ['sun'], zone: 'UTC' } } }, { at: Date.parse('2026-07-06T00:00:00Z') })).toBe(true);
  });

  it('of a rule stands beside its condition', () => {
    const policy = policyFrom({
      name: 'p',
      rules: [{ tool: 'pay', when: { field: 'cents', atMost: 5 }, during: { from: '09:00', to: '10:00', zone: 'UTC' }, then: 'allow' }],
      otherwise: 'deny',
    });
    const action = (cents: number, at: string): string =>
      explainPolicy(policy, { tool: 'pay', input: { cents }, at: Date.parse(at) }).action;
    expect([action(5, '2026-07-06T09:00:00Z'), action(6, '2026-07-06T09:00:00Z'), action(5, '2026-07-06T10:00:00Z')]).toEqual([
      'allow',
      'deny',
      'deny',
    ]);
  });
});

describe('hostile text', () => {
  it('is decided about in time', () => {
    const text = `${'a'.repeat(9_990)}!`;
    const began = process.cpuUsage();
    for (const when of [
      { field: 'x', matches: '(a+)+b' },
      { field: 'x', finds: '(a|aa)+$' },
      { field: 'x', contains: 'b' },
    ] satisfies Condition[])
      expect(truthOf(when, { input: { x: text } })).toBe(false);
    const long = 'https://'.repeat(40_000);
    expect(truthOf({ field: 'x', url: { hosts: ['a.example'] } }, { input: { x: long } })).toBe(false);
    expect(truthOf({ field: 'x', within: '/srv' }, { input: { x: '/../'.repeat(80_000) } })).toBe(false);
    expect(process.cpuUsage(began).user).toBeLessThan(4_000_000);
  });
});
