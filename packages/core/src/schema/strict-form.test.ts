import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { JsonObject, JsonValue, StrictRules } from '../model/types.js';
import { compileSchema } from '../schema.js';
import { anyProvider, describeRefusal, strictForm } from './strict-form.js';

const limits = { depth: 10, properties: 5_000, enumValues: 1_000, chars: 120_000, longEnum: [250, 15_000] } as const;
/** Every field required, as OpenAI has it. */
const complete: StrictRules = {
  provider: 'Complete',
  root: 'object',
  absent: 'null',
  recursive: true,
  sameFirstField: false,
  keywords: ['pattern', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minItems', 'maxItems'],
  formats: ['date-time', 'email'],
  limits,
};
/** Fields may be left out, nothing contains itself and no bound is checked, as Anthropic has it. */
const partial: StrictRules = {
  ...complete,
  provider: 'Partial',
  absent: 'optional',
  recursive: false,
  sameFirstField: true,
  keywords: ['default'],
  formats: ['date-time', 'uri'],
};

const jsonOf = (schema: object): JsonObject => compileSchema(schema, { owner: 'It' }).json;
const formOf = (schema: object, rules = complete) => strictForm(jsonOf(schema), rules);
function schemaOf(schema: object, rules = complete): JsonObject {
  const form = formOf(schema, rules);
  if (!form.isStrict) throw new Error(describeRefusal(form));
  return form.schema;
}
function closed(properties: JsonObject, more: JsonObject = {}): JsonObject {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false, ...more };
}
const one = (field: z.ZodType): JsonValue | undefined => (schemaOf(z.object({ field })).properties as JsonObject).field;

describe('the form in which every field is required', () => {
  test.each<readonly [string, z.ZodType, JsonValue]>([
    ['text', z.string(), { type: 'string' }],
    ['optional text', z.string().optional(), { type: ['string', 'null'] }],
    ['nullable text', z.string().nullable(), { type: ['string', 'null'] }],
    ['a default', z.number().default(3), { type: ['number', 'null'], description: '(default: 3)' }],
    ['an optional enum', z.enum(['a', 'b']).optional(), { type: ['string', 'null'], enum: ['a', 'b', null] }],
    ['an optional constant', z.literal('a').optional(), { anyOf: [{ type: 'string', const: 'a' }, { type: 'null' }] }],
    ['a brand', z.string().brand('Id'), { type: 'string' }],
    ['a refinement', z.string().refine((value) => value !== ''), { type: 'string' }],
    ['the input side of a transform', z.string().transform(Number), { type: 'string' }],
    ['the input side of a pipe', z.string().transform(Number).pipe(z.number().int()), { type: 'string' }],
    ['an optional preprocess', z.preprocess((value) => value, z.string().optional()), { type: ['string', 'null'] }],
    ['a whole number', z.int(), { type: 'integer' }],
    ['bounds', z.number().min(1).lt(9), { type: 'number', minimum: 1, exclusiveMaximum: 9 }],
    [
      'lengths, in words',
      z.string().min(2).max(5).describe('A code.'),
      { type: 'string', description: 'A code. (minLength: 2, maxLength: 5)' },
    ],
    ['a pattern', z.string().regex(/^a+$/), { type: 'string', pattern: '^a+$' }],
    ['a pattern that looks around, in words', z.string().regex(/^a(?=b)/), { type: 'string', description: '(pattern: "^a(?=b)")' }],
    [
      'a pattern with a flag that JSON Schema does not have, in words',
      z
        .string()
        .regex(/^[a-f]+$/i)
        .describe('A color.'),
      { type: 'string', description: 'A color. (pattern: /^[a-f]+$/i)' },
    ],
    ['a flag that changes nothing', z.string().regex(/^a+$/gu), { type: 'string', pattern: '^a+$' }],
    [
      'a pattern with a flag behind a transform',
      z.string().regex(/x/is).transform(Number),
      { type: 'string', description: '(pattern: /x/is)' },
    ],
    [
      'two patterns of which one has a flag, in words',
      z.string().regex(/a/i).regex(/b/),
      { type: 'string', description: '(pattern: /a/i) (pattern: "b")' },
    ],
    [
      'fields that are named like keywords beside a pattern with a flag',
      z.object({ pattern: z.string().regex(/p/i), description: z.string(), default: z.string().regex(/d/i) }),
      closed({
        pattern: { type: 'string', description: '(pattern: /p/i)' },
        description: { type: 'string' },
        default: { type: 'string', description: '(pattern: /d/i)' },
      }),
    ],
    ['several patterns, in words', z.string().regex(/a/).regex(/b/), { type: 'string', description: '(pattern: "a", pattern: "b")' }],
    ['a known format', z.iso.datetime(), { type: 'string', format: 'date-time' }],
    ['another format, in words', z.url(), { type: 'string', description: '(format: "uri")' }],
    ['a list', z.array(z.string()).min(1), { type: 'array', items: { type: 'string' }, minItems: 1 }],
    ['an optional list', z.array(z.string()).optional(), { anyOf: [{ type: 'array', items: { type: 'string' } }, { type: 'null' }] }],
    ['an object', z.object({ a: z.string() }), closed({ a: { type: 'string' } })],
    ['a strict object', z.strictObject({}), closed({})],
    [
      'an optional object with its description outside',
      z.object({ a: z.string() }).describe('Where.').optional(),
      { anyOf: [closed({ a: { type: 'string' } }), { type: 'null' }], description: 'Where.' },
    ],
    ['a union', z.union([z.string(), z.array(z.number())]), { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'number' } }] }],
    [
      'a union of constants',
      z.union([z.literal('x'), z.literal(2)]),
      {
        anyOf: [
          { type: 'string', const: 'x' },
          { type: 'number', const: 2 },
        ],
      },
    ],
    [
      'constants of several types',
      z.literal(['a', 1, null]),
      { anyOf: [{ type: 'string', enum: ['a'] }, { type: 'number', enum: [1] }, { type: 'null' }] },
    ],
    [
      'alternatives told apart by a constant',
      z.discriminatedUnion('t', [z.object({ t: z.literal('a') }), z.object({ t: z.literal('b'), n: z.string().optional() })]),
      {
        anyOf: [
          closed({ t: { type: 'string', const: 'a' } }),
          closed({ t: { type: 'string', const: 'b' }, n: { type: ['string', 'null'] } }),
        ],
      },
    ],
    [
      'alternatives told apart by their fields',
      z.union([z.object({ a: z.string(), x: z.string().optional() }), z.object({ b: z.string() })]),
      { anyOf: [closed({ a: { type: 'string' }, x: { type: ['string', 'null'] } }), closed({ b: { type: 'string' } })] },
    ],
  ])('says %s', (_case, given, expected) => {
    expect(one(given)).toEqual(expected);
  });

  test('keeps a schema that contains itself, and words beside a reference', () => {
    const node = z.object({
      value: z.string(),
      get next() {
        return node.optional().describe('The next one.');
      },
    });
    expect(schemaOf(node)).toEqual(
      closed({ value: { type: 'string' }, next: { anyOf: [{ $ref: '#' }, { type: 'null' }], description: 'The next one.' } }),
    );
    const place = z.object({ city: z.string() }).meta({ id: 'place' });
    expect(schemaOf(z.object({ from: place.describe('Start.'), to: place, via: place.optional() }))).toEqual(
      closed(
        {
          from: { anyOf: [{ $ref: '#/$defs/place' }], description: 'Start.' },
          to: { $ref: '#/$defs/place' },
          via: { anyOf: [{ $ref: '#/$defs/place' }, { type: 'null' }] },
        },
        { $defs: { place: closed({ city: { type: 'string' } }) } },
      ),
    );
  });

  test('closes an object of plain JSON Schema that names its fields and says nothing of others', () => {
    expect(schemaOf({ type: 'object', properties: { q: { type: 'string' } } })).toEqual(closed({ q: { type: ['string', 'null'] } }));
    expect(schemaOf({ type: 'object', properties: {} })).toEqual(closed({}));
    expect(
      schemaOf({
        type: 'object',
        properties: { a: { allOf: [{ $ref: '#/definitions/A' }] } },
        required: ['a'],
        definitions: { A: { type: 'string' } },
      }),
    ).toEqual(closed({ a: { $ref: '#/definitions/A' } }, { definitions: { A: { type: 'string' } } }));
  });

  test('drops definitions that nothing refers to', () => {
    expect(schemaOf({ type: 'object', properties: {}, $defs: { open: { type: 'object' } } })).toEqual(closed({}));
  });
});

describe('the form in which fields may be left out', () => {
  test('keeps them optional, null and all, with their defaults', () => {
    const schema = z.object({ a: z.string().nullish(), b: z.number().min(1).default(3), c: z.url() });
    expect(formOf(schema, partial)).toEqual({
      isStrict: true,
      optional: 2,
      unions: 1,
      schema: {
        type: 'object',
        properties: {
          a: { type: ['string', 'null'] },
          b: { type: 'number', description: '(minimum: 1)', default: 3 },
          c: { type: 'string', format: 'uri' },
        },
        required: ['c'],
        additionalProperties: false,
      },
    });
  });

  test('refuses what contains itself', () => {
    const tree = z.object({
      get children() {
        return z.array(tree);
      },
    });
    expect(formOf(tree, partial)).toMatchObject({
      isStrict: false,
      keyword: '$ref',
      why: expect.stringContaining('contains itself, which Partial'),
    });
    const mutual = {
      type: 'object',
      properties: { a: { $ref: '#/$defs/A' } },
      $defs: { A: { type: 'array', items: { $ref: '#/$defs/B' } }, B: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/A' }] } },
    };
    expect(formOf(mutual, partial)).toMatchObject({ isStrict: false, path: 'a', keyword: '$ref' });
    expect(formOf(mutual, { ...partial, recursive: true })).toMatchObject({ isStrict: true });
  });
});

describe('what the form cannot say is told with its place', () => {
  const same = { t: z.string(), x: z.string().optional() };
  test.each<readonly [string, object, string, string]>([
    ['a field that may be left out or null', z.object({ a: z.object({ b: z.string().nullish() }) }), 'a.b', 'required'],
    [
      'a field that may be null behind a reference',
      { type: 'object', properties: { a: { $ref: '#/$defs/A' } }, $defs: { A: { type: ['string', 'null'] } } },
      'a',
      'required',
    ],
    ['a record', z.object({ a: z.array(z.record(z.string(), z.string())) }), 'a[]', 'propertyNames'],
    ['a loose object', z.object({ a: z.looseObject({ b: z.string() }) }), 'a', 'additionalProperties'],
    ['an object of any fields', { type: 'object', properties: { a: { type: 'object' } } }, 'a', 'additionalProperties'],
    [
      'an object inside that names no fields',
      { type: 'object', properties: { a: { type: 'object', properties: {} } } },
      'a',
      'additionalProperties',
    ],
    ['a tuple', z.object({ a: z.tuple([z.string()]) }), 'a', 'prefixItems'],
    ['anything', z.object({ a: z.any() }), 'a', 'type'],
    ['nothing', z.object({ a: z.never() }), 'a', 'not'],
    [
      'an intersection',
      {
        type: 'object',
        properties: {
          a: {
            allOf: [
              { type: 'object', properties: {} },
              { type: 'object', properties: {} },
            ],
          },
        },
      },
      'a',
      'allOf',
    ],
    ['a condition', { type: 'object', properties: { a: { type: 'string', if: { const: 'x' }, then: { minLength: 2 } } } }, 'a', 'if'],
    ['a list of anything', { type: 'object', properties: { a: { type: 'array' } } }, 'a', 'items'],
    ['an object as a constant', { type: 'object', properties: { a: { const: { b: 1 } } } }, 'a', 'const'],
    ['a reference into the middle', { type: 'object', properties: { a: { type: 'string' }, b: { $ref: '#/properties/a' } } }, 'b', '$ref'],
    [
      'a reference with more beside it',
      { type: 'object', properties: { a: { $ref: '#/$defs/A', minLength: 2 } }, $defs: { A: { type: 'string' } } },
      'a',
      '$ref',
    ],
    ['a schema of its own inside', { type: 'object', properties: { a: { $id: 'https://example.org/a', type: 'string' } } }, 'a', '$id'],
    ['a required field without a schema', { type: 'object', properties: {}, required: ['a'] }, '', 'required'],
    [
      'oneOf of alternatives that overlap',
      { type: 'object', properties: { a: { oneOf: [{ type: 'number' }, { type: 'integer' }] } } },
      'a',
      'oneOf',
    ],
    [
      'a union beside other words',
      { type: 'object', properties: { a: { type: 'object', properties: { b: { type: 'string' } }, anyOf: [{ required: ['b'] }] } } },
      'a',
      'anyOf',
    ],
    [
      'alternatives with nulls that could be of either',
      z.object({ a: z.union([z.object(same), z.object({ ...same, y: z.string().optional() })]) }),
      'a',
      'anyOf',
    ],
    [
      'lists with nulls that could be of either',
      z.object({ a: z.union([z.array(z.object(same)), z.array(z.object({ x: z.string().nullable() }))]) }),
      'a',
      'anyOf',
    ],
    ['a union at the root', z.discriminatedUnion('t', [z.object({ t: z.literal('a') }), z.object({ t: z.literal('b') })]), '', 'oneOf'],
    ['a list at the root', z.array(z.string()), '', 'type'],
    ['a text at the root', z.string(), '', 'type'],
    ['more levels than are taken', nested(11), 'inner.inner.inner.inner.inner.inner.inner.inner.inner.inner', 'depth'],
    [
      'more fields than are taken',
      closed(Object.fromEntries(Array.from({ length: 5_001 }, (_, index) => [`p${index}`, { type: 'null' }]))),
      '',
      'properties',
    ],
    ['more values than are taken', z.object({ a: z.enum(words(600)), b: z.enum(words(600)) }), '', 'enum'],
    ['an enum of too many characters', z.object({ a: z.enum(words(260, 60)) }), '', 'enum'],
    ['names of too many characters', closed({ ['x'.repeat(120_001)]: { type: 'null' } }), '', 'size'],
  ])('%s', (_case, ...[given, path, keyword]) => {
    const form = formOf(given);
    expect(form).toEqual({ isStrict: false, path, keyword, why: expect.stringMatching(/^[A-Z].*\.$/) });
  });

  test('alternatives that begin with the same field, which does not tell them apart', () => {
    const union = z.object({
      a: z.union([z.object({ name: z.string(), t: z.literal('x') }), z.object({ name: z.string(), t: z.literal('y') })]),
    });
    expect(formOf(union)).toMatchObject({ isStrict: false, path: 'a', why: expect.stringContaining('begin with the same field') });
    expect(formOf(union, { ...complete, sameFirstField: true })).toMatchObject({ isStrict: true });
  });

  test('10 levels and fields of any wording are taken', () => {
    expect(formOf(nested(10))).toMatchObject({ isStrict: true });
    expect(
      schemaOf({
        type: 'object',
        properties: { 'a b/~c': { $ref: '#/$defs/d~1e~0f' } },
        required: ['a b/~c'],
        $defs: { 'd/e~f': { type: 'string' } },
      }),
    ).toEqual(closed({ 'a b/~c': { $ref: '#/$defs/d~1e~0f' } }, { $defs: { 'd/e~f': { type: 'string' } } }));
  });

  function nested(depth: number): JsonObject {
    return depth === 1 ? { type: 'string' } : closed({ inner: nested(depth - 1) });
  }
  function words(count: number, size = 4): string[] {
    return Array.from({ length: count }, (_, index) => String(index).padStart(size, 'w'));
  }
});

test('the same schema is converted once for the same rules, and never changed', () => {
  const schema = jsonOf(z.object({ a: z.string().optional() }));
  expect(strictForm(schema, complete)).toBe(strictForm(schema, complete));
  expect(strictForm(schema, partial)).not.toBe(strictForm(schema, complete));
  expect(strictForm(JSON.parse(JSON.stringify(schema)), complete)).toEqual(strictForm(schema, complete));
});

test('S169: hostile schemas are answered soon and are not changed', () => {
  const deep = (build: (inner: JsonObject) => JsonObject, levels: number): JsonObject => {
    let schema: JsonObject = { type: 'string' };
    for (let level = 0; level < levels; level += 1) schema = build(schema);
    return { type: 'object', properties: { a: schema }, required: ['a'] };
  };
  const layers = Object.fromEntries(
    Array.from({ length: 60 }, (_, index) => [
      `l${index}`,
      index === 59
        ? { type: 'string' }
        : {
            anyOf: [
              { $ref: `#/$defs/l${index + 1}` },
              { type: 'object', properties: { x: { $ref: `#/$defs/l${index + 1}` } }, required: ['x'] },
            ],
          },
    ]),
  );
  const hostile: readonly JsonObject[] = [
    deep((inner) => ({ type: 'object', properties: { a: inner } }), 5_000),
    deep((inner) => ({ anyOf: [inner, { type: 'null' }] }), 5_000),
    deep((inner) => ({ allOf: [inner] }), 5_000),
    deep((inner) => ({ type: 'array', items: inner }), 5_000),
    { ...deep(() => ({ $ref: '#/$defs/l0' }), 1), $defs: layers },
    { ...deep(() => ({ $ref: '#/$defs/a' }), 1), $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
    {
      type: 'object',
      properties: { u: { anyOf: Array.from({ length: 5_000 }, (_, index) => closed({ [`k${index % 7}`]: { type: 'string' } })) } },
    },
    { $ref: '#' },
  ];
  for (const schema of hostile) {
    for (const rules of [complete, partial, anyProvider]) {
      const started = process.cpuUsage();
      const form = strictForm(schema, rules);
      expect(process.cpuUsage(started).user).toBeLessThan(1_000_000);
      if (!form.isStrict) expect(form.why).not.toBe('');
    }
  }
  const before = JSON.stringify(layers);
  expect(JSON.stringify(layers)).toBe(before);
});

// ------------------------------------------------------------------------------------------------ every schema, every input
/** An input, and how a model writes it where every field is required. */
interface Pair {
  readonly input: JsonValue;
  readonly written: JsonValue;
}
interface Sample {
  readonly schema: JsonObject;
  readonly pair: fc.Arbitrary<Pair>;
}
const same = (value: JsonValue): Pair => ({ input: value, written: value });

const leaf: fc.Arbitrary<Sample> = fc.constantFrom<Sample>(
  { schema: { type: 'string' }, pair: fc.string().map(same) },
  {
    schema: { type: 'string', minLength: 1, maxLength: 4 },
    pair: fc.string({ minLength: 1, maxLength: 4, unit: 'grapheme-ascii' }).map(same),
  },
  { schema: { type: 'integer', minimum: 0 }, pair: fc.nat().map(same) },
  { schema: { type: 'boolean' }, pair: fc.boolean().map(same) },
  { schema: { type: 'null' }, pair: fc.constant(same(null)) },
  { schema: { const: 'x' }, pair: fc.constant(same('x')) },
  { schema: { enum: ['a', 2, null] }, pair: fc.constantFrom<JsonValue>('a', 2, null).map(same) },
  { schema: { type: ['number', 'null'] }, pair: fc.option(fc.nat()).map(same) },
  { schema: { $ref: '#/$defs/chain' }, pair: fc.nat({ max: 3 }).map((links) => chain(links)) },
);
const chainSchema: JsonObject = {
  type: 'object',
  properties: { name: { type: 'string' }, next: { $ref: '#/$defs/chain' } },
  required: ['name'],
};
function chain(links: number): Pair {
  if (links === 0) return { input: { name: 'end' }, written: { name: 'end', next: null } };
  const { input, written } = chain(links - 1);
  return { input: { name: '', next: input }, written: { name: '', next: written } };
}

type Presence = 'required' | 'optional' | 'default';
interface FieldSample {
  readonly name: string;
  readonly presence: Presence;
  readonly sample: Sample;
}

function objectOf(
  fields: readonly FieldSample[],
  { tag, isClosed }: { readonly tag?: string | undefined; readonly isClosed: boolean },
): Sample {
  const properties: JsonObject = Object.fromEntries([
    ...(tag === undefined ? [] : [['tag', { const: tag }] as const]),
    ...fields.map(
      ({ name, presence, sample }) => [name, presence === 'default' ? { ...sample.schema, default: 0 } : sample.schema] as const,
    ),
  ]);
  const required = [
    ...(tag === undefined ? [] : ['tag']),
    ...fields.filter(({ presence }) => presence === 'required').map(({ name }) => name),
  ];
  const values = fields.map(({ name, presence, sample: { pair } }) =>
    (presence === 'required' ? pair : fc.option(pair)).map((value): readonly [string, Pair | null] => [name, value]),
  );
  return {
    schema: { type: 'object', properties, required, ...(isClosed ? { additionalProperties: false } : {}) },
    pair: fc.tuple(...values).map((entries): Pair => {
      const start = tag === undefined ? {} : { tag };
      return {
        input: { ...start, ...Object.fromEntries(entries.flatMap(([name, value]) => (value === null ? [] : [[name, value.input]]))) },
        written: { ...start, ...Object.fromEntries(entries.map(([name, value]) => [name, value === null ? null : value.written])) },
      };
    }),
  };
}

const names = ['a', 'b', 'c'] as const;
const objects = (inner: fc.Arbitrary<Sample>, tag?: string): fc.Arbitrary<Sample> =>
  fc
    .tuple(
      fc.uniqueArray(
        fc.record({
          name: fc.constantFrom(...names),
          presence: fc.constantFrom<Presence>('required', 'required', 'optional', 'default'),
          sample: inner,
        }),
        {
          selector: ({ name }) => name,
          minLength: 1,
          maxLength: 3,
        },
      ),
      fc.boolean(),
    )
    .map(([fields, isClosed]) => objectOf(fields, { tag, isClosed }));
const unionOf = (keyword: 'anyOf' | 'oneOf', branches: readonly Sample[]): Sample => ({
  schema: { [keyword]: branches.map(({ schema }) => schema) },
  pair: fc.oneof(...branches.map(({ pair }) => pair)),
});
const { node } = fc.letrec<{ node: Sample }>((tie) => {
  const inner = tie('node');
  return {
    node: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      objects(inner),
      inner.map(({ schema, pair }) => ({
        schema: { type: 'array', items: schema },
        pair: fc
          .array(pair, { maxLength: 3 })
          .map((pairs) => ({ input: pairs.map(({ input }) => input), written: pairs.map(({ written }) => written) })),
      })),
      fc.tuple(objects(inner, 'x'), objects(inner, 'y')).map((branches) => unionOf('oneOf', branches)),
      fc.array(inner, { minLength: 1, maxLength: 3 }).map((branches) => unionOf('anyOf', branches)),
      fc.array(objects(leaf), { minLength: 2, maxLength: 3 }).map((branches) => unionOf('anyOf', branches)),
    ),
  };
});
const whole = objects(node).map(({ schema, pair }): Sample => ({ schema: { ...schema, $defs: { chain: chainSchema } }, pair }));

test('every input of a schema can be said in its form, fits it, and comes back as it was', () => {
  const rules = { ...complete, sameFirstField: true };
  let converted = 0;
  let changed = 0;
  fc.assert(
    fc.property(
      whole.chain(({ schema, pair }) => fc.tuple(fc.constant(schema), fc.array(pair, { minLength: 1, maxLength: 4 }))),
      ([schema, pairs]) => {
        const before = JSON.stringify(schema);
        const given = compileSchema(schema, { owner: 'It' });
        const form = strictForm(schema, rules);
        expect(JSON.stringify(schema)).toBe(before);
        expect(strictForm(JSON.parse(before) as JsonObject, rules)).toEqual(form);
        if (!form.isStrict) return;
        converted += 1;
        const strict = compileSchema(form.schema, { owner: 'Its form' });
        for (const { input, written } of pairs) {
          if (JSON.stringify(input) !== JSON.stringify(written)) changed += 1;
          expect(given.parse(input)).toMatchObject({ ok: true });
          expect(strict.parse(written)).toEqual({ ok: true, value: written });
          expect(given.withoutAbsent(written)).toEqual(input);
          expect(given.withoutAbsent(input)).toEqual(input);
        }
      },
    ),
    { numRuns: 800, seed: 5 },
  );
  expect(converted).toBeGreaterThan(150);
  expect(changed).toBeGreaterThan(150);
});

test('every input fits the form that lets fields be left out, and what fits that form fits the schema', () => {
  let converted = 0;
  const loose = { ...partial, recursive: true };
  fc.assert(
    fc.property(
      whole.chain(({ schema, pair }) => fc.tuple(fc.constant(schema), fc.array(pair, { minLength: 1, maxLength: 4 }))),
      ([schema, pairs]) => {
        const form = strictForm(schema, loose);
        if (!form.isStrict) return;
        converted += 1;
        const strict = compileSchema(form.schema, { owner: 'Its form' });
        for (const { input } of pairs) expect(strict.parse(input)).toEqual({ ok: true, value: input });
      },
    ),
    { numRuns: 500 },
  );
  expect(converted).toBeGreaterThan(200);
});

test('no schema, however odd, makes it throw, or is changed', () => {
  const keywords = [
    'type',
    'properties',
    'required',
    'additionalProperties',
    'items',
    'enum',
    'const',
    'anyOf',
    'oneOf',
    'allOf',
    '$ref',
    '$defs',
    'format',
    'pattern',
    'minimum',
    'nullable',
    'default',
    'description',
    'x',
  ];
  const words = ['object', 'array', 'string', 'null', '#', '#/$defs/x', 'x', '(', '__proto__', 'constructor'];
  const { odd } = fc.letrec<{ odd: JsonValue }>((tie) => ({
    odd: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom<JsonValue>(...words, 0, -1, 1e300, true, false, null),
      fc.array(tie('odd'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...keywords), tie('odd'), { maxKeys: 5 }),
      fc.record({
        type: fc.constant('object'),
        properties: fc.dictionary(fc.constantFrom('x', 'y', '__proto__'), tie('odd'), { maxKeys: 3 }),
      }),
    ),
  }));
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...keywords), odd, { maxKeys: 6 }), fc.boolean(), (schema, isObject) => {
      const given: JsonObject = isObject ? { ...schema, type: 'object' } : schema;
      const before = JSON.stringify(given);
      for (const rules of [complete, partial, { ...partial, root: 'any' as const }, anyProvider]) {
        const form = strictForm(given, rules);
        if (!form.isStrict) expect(describeRefusal(form)).toMatch(/\.$/);
        else expect(() => JSON.stringify(form.schema)).not.toThrow();
      }
      expect(JSON.stringify(given)).toBe(before);
    }),
    { numRuns: 1_000 },
  );
});
