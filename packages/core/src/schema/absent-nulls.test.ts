import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { JsonValue } from '../model/types.js';
import { compileSchema } from '../schema.js';

const undone = (schema: object, written: JsonValue): JsonValue => compileSchema(schema, { owner: 'It' }).withoutAbsent(written);

describe('a null is taken out', () => {
  test.each<readonly [string, object, JsonValue, JsonValue]>([
    ['of an optional field', z.object({ a: z.string().optional(), b: z.number() }), { a: null, b: 1 }, { b: 1 }],
    ['of a field with a default', z.object({ n: z.number().default(3) }), { n: null }, {}],
    [
      'deep inside',
      z.object({ a: z.array(z.object({ b: z.object({ c: z.string().optional() }) })) }),
      { a: [{ b: { c: null } }] },
      { a: [{ b: {} }] },
    ],
    ['in a record', z.record(z.string(), z.object({ a: z.string().optional() })), { x: { a: null } }, { x: {} }],
    ['in a tuple', z.tuple([z.object({ a: z.string().optional() })]), [{ a: null }], [{}]],
    [
      'in both parts of an intersection',
      z.intersection(z.object({ a: z.string().optional() }), z.object({ b: z.string().optional() })),
      { a: null, b: null },
      {},
    ],
    ['in what may be null itself', z.object({ o: z.object({ a: z.string().optional() }).nullable() }), { o: { a: null } }, { o: {} }],
    ['behind a reference', { type: 'object', properties: { a: { $ref: '#/$defs/A' } }, $defs: { A: { type: 'string' } } }, { a: null }, {}],
    [
      'in the alternative whose constant it has',
      z.discriminatedUnion('t', [z.object({ t: z.literal('a'), x: z.null() }), z.object({ t: z.literal('b'), x: z.string().optional() })]),
      { t: 'b', x: null },
      { t: 'b' },
    ],
    [
      'in the alternative that names its fields, though another takes it',
      z.union([z.object({ a: z.string() }), z.object({ a: z.string(), x: z.string().optional() })]),
      { a: 'y', x: null },
      { a: 'y' },
    ],
    ['beside an unknown field', z.union([z.object({ a: z.string().optional() }), z.string()]), { a: null, more: 1 }, { more: 1 }],
    [
      'also where another field does not fit',
      z.union([z.object({ a: z.string().optional(), b: z.number() }), z.null()]),
      { a: null, b: 'x' },
      { b: 'x' },
    ],
  ])('%s', (_case, ...[schema, written, expected]) => {
    const before = JSON.stringify(written);
    expect(undone(schema, written)).toEqual(expected);
    expect(JSON.stringify(written)).toBe(before);
  });

  test('at every level of a schema that contains itself', () => {
    const node = z.object({
      value: z.string().optional(),
      get next() {
        return node.optional();
      },
    });
    expect(undone(node, { value: null, next: { value: 'x', next: { value: null, next: null } } })).toEqual({
      next: { value: 'x', next: {} },
    });
  });
});

describe('a null stays', () => {
  test.each<readonly [string, object, JsonValue]>([
    ['where it fits', z.object({ a: z.string().nullish() }), { a: null }],
    ['where the field is required', z.object({ a: z.string() }), { a: null }],
    ['of a field that takes anything', z.object({ a: z.any().optional() }), { a: null }],
    ['of a field that nobody named', z.object({ a: z.string().optional() }), { b: null }],
    ['as a value of a record', z.record(z.string(), z.string()), { a: null }],
    ['in a list', z.object({ a: z.array(z.string()).optional() }), { a: [null] }],
    [
      'where an alternative has it',
      z.union([z.object({ a: z.string(), x: z.string().optional() }), z.object({ a: z.string(), x: z.null() })]),
      { a: '', x: null },
    ],
    ['at the root', z.object({}), null],
  ])('%s', (_case, schema, written) => {
    expect(undone(schema, written)).toBe(written);
  });

  test('an input without any is given back as it is', () => {
    const written = { a: 'x', b: { c: [1] } };
    expect(undone(z.object({ a: z.string().optional() }), written)).toBe(written);
  });
});

describe('a hostile input', () => {
  test('keeps a field named __proto__, so that it is refused', () => {
    const written = JSON.parse('{"a":null,"__proto__":{"x":null}}') as JsonValue;
    const schema = compileSchema(z.object({ a: z.string().optional() }), { owner: 'It' });
    const result = schema.withoutAbsent(written);
    expect(Object.keys(result as object)).toEqual(['__proto__']);
    expect(schema.parse(result)).toMatchObject({ ok: false });
  });

  test('that is nested too deep, or leads through more alternatives than can be tried, is answered soon', () => {
    let deep: JsonValue = null;
    for (let level = 0; level < 20_000; level += 1) deep = { next: deep };
    const schema = {
      anyOf: [{ $ref: '#/$defs/A' }, { $ref: '#/$defs/B' }, { $ref: '#/$defs/C' }],
      $defs: Object.fromEntries(
        ['A', 'B', 'C'].map((name) => [name, { type: 'object', properties: { next: { $ref: '#' }, [name]: { type: 'string' } } }]),
      ),
    };
    let wide: JsonValue = { A: null };
    for (let level = 0; level < 60; level += 1) wide = { next: wide };
    const started = process.cpuUsage();
    expect(undone(schema, deep)).toBe(deep);
    expect(() => undone(schema, wide)).not.toThrow();
    expect(process.cpuUsage(started).user).toBeLessThan(2_000_000);
  });
});
