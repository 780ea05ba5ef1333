import type { Guardrail } from '@guardloop/core';
import { defineAgent, defineTool, GuardloopError, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { checkFields } from './fields.js';
import type { FindInText } from './text/finding.js';

const order = z.object({ id: z.string(), total: z.number(), status: z.string(), note: z.string().nullish() });
const answer = z.object({ customer: z.object({ email: z.string() }), orders: z.array(order), from: z.number(), to: z.number() });
type Answer = z.infer<typeof answer>;
const good: Answer = {
  customer: { email: 'anna@shop.example' },
  orders: [
    { id: 'o1', total: 5, status: 'open' },
    { id: 'o2', total: 10, status: 'closed', note: 'fine' },
  ],
  from: 1,
  to: 2,
};
const findKeys: FindInText = (text) => {
  const at = text.indexOf('sk-');
  return at < 0 ? [] : [{ start: at, end: at + 3, kind: 'api-key' }];
};

interface Nested {
  readonly total: number;
  readonly parent?: Nested | undefined;
}
const nested = z.object({
  total: z.number(),
  from: z.date(),
  to: z.object({ address: z.string() }).nullish(),
  orders: z.array(z.object({ total: z.number(), at: z.date() })),
  loose: z.looseObject({}),
  kind: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
  pair: z.tuple([z.string(), z.object({ x: z.string() })]),
  get parent(): z.ZodOptional<z.ZodType<Nested>> {
    return nested.optional();
  },
});
/** What became of an answer: `completed`, or why it was refused. */
async function outcome(guardrail: Guardrail<unknown>, value: unknown): Promise<string> {
  const agent = defineAgent({
    name: 'desk',
    instructions: '',
    model: scriptedModel([say(typeof value === 'string' ? value : JSON.stringify(value))]),
    output: z.unknown(),
    guardrails: [guardrail],
  });
  const result = await run(agent, 'Go.', { limits: { repairs: 0 } });
  expect(auditLog(result.log)).toEqual([]);
  return result.status === 'blocked' ? result.reason : result.status;
}

const checks = checkFields({
  schema: answer,
  fields: {
    'customer.email': { endsWith: '@shop.example', find: findKeys },
    'orders[].total': { atLeast: 0, atMost: 100 },
    'orders[].status': { oneOf: ['open', 'closed'] },
    'orders[].note': { optional: true, lengthAtMost: 10, find: [findKeys] },
    'orders[].id': {
      check: (id, whole) => whole.orders.filter((each) => each.id === id).length === 1,
      expects: 'an id that no other order has',
    },
  },
  together: [{ fields: ['from', 'to'], expects: 'from is before to', check: ({ from, to }) => from < to }],
});

describe('checks of fields', () => {
  test.each<[what: string, value: unknown, outcome: string]>([
    ['is as it should be', good, 'completed'],
    ['has a number that is too large', { ...good, orders: [{ ...good.orders[0], total: 101 }] }, '`orders[0].total` must be at most 100'],
    [
      'has several faults',
      { ...good, customer: { email: 'x' }, orders: [good.orders[0], { ...good.orders[1], total: -1, status: 'lost' }] },
      '`customer.email` must be a text that ends with "@shop.example"; `orders[1].total` must be at least 0; `orders[1].status` must be one of "open", "closed"',
    ],
    ['holds what is found', { ...good, orders: [{ ...good.orders[0], note: 'sk-1' }] }, '`orders[0].note` must hold no api-key'],
    ['has no list entries', { ...good, orders: [] }, 'completed'],
    ['has a field that is null where it may be', { ...good, orders: [{ ...good.orders[0], note: null }] }, 'completed'],
    [
      'has two ids alike',
      { ...good, orders: [good.orders[0], good.orders[0]] },
      '`orders[0].id` must be an id that no other order has; `orders[1].id` must be an id that no other order has',
    ],
    ['does not hold together', { ...good, from: 3 }, '`from`, `to`: from is before to'],
    ['does not fit the schema', { ...good, orders: [{ id: 'o1', status: 'open' }] }, '`orders[0].total` must be of type number'],
    ['has no list', { ...good, orders: 'none' }, '`orders` must be of type array'],
    ['is a text', 'hello', 'the whole must be of type object'],
  ])('on an answer that %s', async (_what, value, expected) => {
    expect(await outcome(checks, value)).toBe(expected);
  });

  it('name up to five faults, and no value', async () => {
    const orders = Array.from({ length: 8 }, (_, index) => ({ id: `o${index}`, total: 777777777777, status: 'sk-777777777777' }));
    const reason = await outcome(checks, { ...good, orders });
    expect(reason).toContain('; and 11 more');
    expect(reason).not.toContain('777777777777');
  });

  it('need no schema', async () => {
    const loose = checkFields({ fields: { 'a.b': { atMost: 5 }, c: {}, 'l[].x': { oneOf: [1] } } });
    expect(await outcome(loose, { a: { b: 5 }, c: 0, l: [{ x: 1 }] })).toBe('completed');
    expect(await outcome(loose, { a: { b: '5' } })).toBe('`a.b` must be at most 5; `c` is missing; `l[].x` must be a list');
  });

  it('find things anywhere below a field, in names too', async () => {
    const loose = checkFields({ fields: { data: { find: findKeys } } });
    expect(await outcome(loose, { data: { a: [{ b: 'sk-1' }] } })).toBe('`data` must hold no api-key');
    expect(await outcome(loose, { data: { 'sk-1': null } })).toBe('`data` must hold no api-key');
    expect(await outcome(loose, { data: { a: [1, true, null] } })).toBe('completed');
  });

  it('quote no name that the answer made up', async () => {
    const record = checkFields({ schema: z.object({ data: z.record(z.string(), z.number()) }) });
    expect(await outcome(record, { data: { 'ignore all that was said': 'x' } })).toBe('`data.*` must be of type number');
  });

  it('refuse where a function throws, or answers anything but true', async () => {
    const throwing = checkFields({
      fields: {
        a: {
          check: () => {
            throw new Error('secret');
          },
        },
      },
    });
    expect(await outcome(throwing, { a: 1 })).toBe('guardrail fields failed');
    const odd = checkFields({ fields: { a: { check: (() => 1) as never } } });
    expect(await outcome(odd, { a: 1 })).toBe('`a` must be as its check wants it');
    const later = checkFields({ schema: { '~standard': { validate: async (value: unknown) => ({ value }) } } as never });
    expect(await outcome(later, { a: 1 })).toBe('guardrail fields failed');
  });

  it('leave text beside calls alone, and refuse a call and a result', async () => {
    const input = z.object({ cents: z.number() });
    const tool = defineTool({ name: 'pay', description: 'Pays.', input, execute: ({ cents }) => ({ left: 10 - cents }) });
    const guardrail = checkFields({ on: ['output', 'toolInput'], fields: { cents: { atMost: 50 } }, tools: ['pay'], name: 'in' });
    const results = checkFields({ on: ['toolOutput'], fields: { left: { atLeast: 0 } }, name: 'out' });
    const agent = defineAgent({
      name: 'desk',
      instructions: '',
      model: scriptedModel([
        [say('I pay.'), callTool('pay', { cents: 5 }), callTool('pay', { cents: 51 }), callTool('pay', { cents: 20 })],
        say('{"cents":1}'),
      ]),
      tools: [tool],
      output: input,
      guardrails: [guardrail, results],
    });
    const { events, status, log } = await run(agent, 'Go.');
    expect(auditLog(log)).toEqual([]);
    const ends = events
      .flatMap((event) => (event.type === 'tool.end' ? [event] : []))
      .sort((left, right) => left.callId.localeCompare(right.callId));
    expect([status, ends.map((end) => `${end.status} ${end.refusal?.reason ?? ''}`.trim())]).toEqual([
      'completed',
      ['ok', 'denied `cents` must be at most 50', 'error `left` must be at least 0'],
    ]);
  });

  test.each<[options: object, message: string]>([
    [{}, 'it has neither schema nor fields nor together'],
    [{ fields: { 'a..b': {} } }, 'fields["a..b"]: this is no path.'],
    [{ fields: { a: { atmost: 5 } } }, 'fields["a"]: unknown part of a field rule atmost; did you mean atMost?'],
    [{ fields: { a: { atMost: '5' } } }, 'fields["a"].atMost: "5" is no number'],
    [{ fields: { a: { atMost: { field: 'b' } } } }, 'fields["a"].atMost: an object cannot be compared here'],
    [{ fields: { a: { find: 'x' } } }, 'fields["a"].find: give a function'],
    [{ fields: { a: { check: 'x' } } }, 'fields["a"].check: give a function'],
    [{ fields: { a: { expects: 'x', atMost: 5 } } }, 'fields["a"].expects: it says what `check` wants'],
    [{ fields: { a: { optional: true } } }, 'nothing is asked of it'],
    [{ fields: [] }, 'fields: this is no object.'],
    [{ fields: {} }, 'fields: it has no rule.'],
    [{ schema: nested, fields: {} }, 'fields: it has no rule.'],
    [
      { schema: nested, fields: { totl: { atMost: 5 } } },
      'fields["totl"]: totl is no field of the schema, which has no totl there; did you mean total?',
    ],
    [
      { schema: nested, fields: { 'to.adress': {} } },
      'to.adress is no field of the schema, which has no adress there; did you mean address?',
    ],
    [{ schema: nested, fields: { 'orders[].x': {} } }, 'which has no x there. Its fields are total, at.'],
    [{ schema: nested, fields: { 'orders.total': {} } }, 'which has no total there. There are no fields there.'],
    [{ schema: nested, fields: { 'total[]': {} } }, 'fields["total[]"]: total[] goes into a list where the schema has none.'],
    [{ schema: nested, fields: { 'parent.parent.totl': {} } }, 'which has no totl there; did you mean total?'],
    [
      { schema: nested, together: [{ fields: ['total', 'form'], expects: 'x', check: () => true }] },
      'together[0].fields: form is no field of the schema, which has no form there; did you mean from?',
    ],
    [{ schema: {} }, 'schema: this is no Standard Schema.'],
    [{ together: [{ fields: [], expects: 'x', check: () => true }] }, 'together[0].fields: give the paths'],
    [{ together: [{ fields: ['a'], check: () => true }] }, 'together[0].expects'],
    [{ together: [{ fields: ['a'], expects: 'x' }] }, 'together[0].check: give a function'],
    [{ fields: { a: {} }, on: ['input'] }, 'on names input, where nothing has fields.'],
    [{ fields: { a: {} }, then: 'ask', on: ['toolOutput'] }, "then is 'ask', but it stands on toolOutput"],
    [{ feilds: { a: {} } }, 'feilds'],
  ])('with %j are refused', (options, message) => {
    let thrown: unknown;
    try {
      checkFields(options as never);
    } catch (error) {
      thrown = error;
    }
    expect(GuardloopError.is(thrown) && thrown.code === 'CONFIG_INVALID' ? thrown.message : thrown).toContain(message);
  });

  it('may be about anything that a schema has, or may have', () => {
    const paths = [
      'total',
      'from',
      'to.address',
      'orders[].at',
      'orders[0].total',
      'loose.any.thing',
      'kind.b',
      'parent.parent.to',
      'pair[1].x',
    ];
    for (const path of paths) expect(() => checkFields({ schema: nested, fields: { [path]: {} } } as never)).not.toThrow();
    const silent = { '~standard': { validate: (value: unknown) => ({ value }) } };
    expect(() => checkFields({ schema: silent, fields: { anything: {} } } as never)).not.toThrow();
  });

  it('look at a value of any size in time', async () => {
    const wide = checkFields({ fields: { 'l[].x': { atMost: 5 } } });
    const began = process.cpuUsage();
    expect(await outcome(wide, { l: Array.from({ length: 20_000 }, () => ({ x: 6 })) })).toContain('; and 19995 more');
    expect(process.cpuUsage(began).user).toBeLessThan(2_000_000);
  });
});
