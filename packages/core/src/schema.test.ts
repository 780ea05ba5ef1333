import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import * as mini from 'zod/mini';
import * as z3 from 'zod/v3';
import { GuardloopError } from './errors.js';
import type { JsonValue } from './model/types.js';
import { compileSchema, describeIssues, maxInputChars, maxInputDepth, schemasReady } from './schema.js';

const owner = 'The input of tool add';
const forTool = (schema: unknown) => compileSchema(schema, { owner, root: 'object' });
const words = async (schema: unknown, raw: unknown): Promise<string> => {
  const parsed = await compileSchema(schema, { owner }).parse(raw as JsonValue);
  return parsed.ok ? 'fits' : describeIssues(parsed.issues);
};
const refusal = (schema: unknown): string => {
  try {
    forTool(schema);
    return 'accepted';
  } catch (error) {
    expect(GuardloopError.is(error) && error.code).toBe('CONFIG_INVALID');
    return (error as Error).message;
  }
};

describe('compileSchema with zod', () => {
  it('parses without a promise, applies defaults and transforms, and drops unknown fields', () => {
    const { parse } = forTool(z.object({ a: z.number(), b: z.string().default('x'), c: z.string().transform((text) => text.length) }));
    expect(parse({ a: 1, c: 'four', other: true })).toEqual({ ok: true, value: { a: 1, b: 'x', c: 4 } });
  });

  it('compiles a schema once', () => {
    const schema = z.object({ a: z.number() });
    expect(forTool(schema)).toBe(forTool(schema));
    expect(compileSchema(schema, { owner: 'another' })).toBe(compileSchema(schema, { owner }));
  });

  it('knows whether some field must be given', () => {
    expect(forTool(z.object({ a: z.number() })).required).toBe(true);
    expect(forTool(z.object({ a: z.number().optional(), b: z.string().default('x') })).required).toBe(false);
  });

  it('gives frozen JSON Schema of the input side', () => {
    const { json } = forTool(
      z.object({ when: z.iso.date(), n: z.string().transform(Number), d: z.number().default(1).describe('how many') }),
    );
    expect(json).toMatchObject({
      type: 'object',
      required: ['when', 'n'],
      properties: { n: { type: 'string' }, d: { type: 'number', default: 1, description: 'how many' } },
    });
    expect(json).not.toHaveProperty('$schema');
    expect(Object.isFrozen(json) && Object.isFrozen(json.properties)).toBe(true);
  });

  it('runs asynchronous checks and transforms, declared so or not, from the first input on', async () => {
    const declared = forTool(z.object({ n: z.number().refine(async (n) => n > 5, 'more than 5') }));
    expect(declared.parse({ n: 6 })).toBeInstanceOf(Promise);
    expect(await declared.parse({ n: 6 })).toEqual({ ok: true, value: { n: 6 } });
    expect(await declared.parse({ n: 3 })).toEqual({ ok: false, issues: [{ path: 'n', expected: 'to pass its check: more than 5' }] });
    const undeclared = forTool(z.object({ n: z.string().transform((text) => Promise.resolve(text.length)) }));
    expect(await undeclared.parse({ n: 'abc' })).toEqual({ ok: true, value: { n: 3 } });
    expect(undeclared.parse({ n: 'abcd' })).toBeInstanceOf(Promise);
  });

  it('parses synchronous checks without a promise', () => {
    const { parse } = forTool(z.object({ n: z.number().refine((n) => n % 2 === 0, 'an even number') }));
    expect(parse({ n: 2 })).toEqual({ ok: true, value: { n: 2 } });
    expect(parse({ n: 3 })).toEqual({ ok: false, issues: [{ path: 'n', expected: 'to pass its check: an even number' }] });
  });

  it('refuses the input when a check throws or rejects, and lets no rejection go unhandled', async () => {
    const unhandled: unknown[] = [];
    const listener = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', listener);
    try {
      const broken = [
        z.object({
          n: z.number().refine(() => {
            throw new Error('secret');
          }),
        }),
        z.object({ n: z.number().refine(() => Promise.reject(new Error('secret'))) }),
        z.object({
          n: z.number().transform(async () => {
            throw new Error('secret');
          }),
        }),
        z.object({
          n: z.number().transform(() => {
            throw new Error('secret');
          }),
        }),
      ];
      for (const schema of broken)
        expect(await words(schema, { n: 1 })).toBe('the input: expected an input that its checks can judge; one of them failed.');
      await new Promise((done) => setTimeout(done, 5));
    } finally {
      process.off('unhandledRejection', listener);
    }
    expect(unhandled).toEqual([]);
  });
});

describe('S167: what JSON Schema can and cannot express', () => {
  const tree: z.ZodType = z.lazy(() => z.object({ n: z.number(), kids: z.array(tree) }));
  it.each([
    ['optional', z.object({ a: z.string().optional() }), {}],
    ['nullable', z.object({ a: z.string().nullable() }), { a: null }],
    ['default', z.object({ a: z.number().default(1) }), {}],
    [
      'nested discriminated union',
      z.object({
        r: z.discriminatedUnion('type', [z.object({ type: z.literal('daily') }), z.object({ type: z.literal('weekly'), day: z.int() })]),
      }),
      { r: { type: 'weekly', day: 2 } },
    ],
    [
      'discriminated union at the root',
      z.discriminatedUnion('type', [z.object({ type: z.literal('daily') }), z.object({ type: z.literal('weekly'), day: z.int() })]),
      { type: 'weekly', day: 2 },
    ],
    ['union', z.object({ a: z.union([z.string(), z.number()]) }), { a: 1 }],
    ['record', z.object({ a: z.record(z.string(), z.number()) }), { a: { x: 1 } }],
    ['tuple', z.object({ a: z.tuple([z.string(), z.number()]) }), { a: ['x', 1] }],
    ['transform', z.object({ a: z.string().transform((text) => new Date(text)) }), { a: '2026-01-02' }],
    [
      'codec',
      z.object({ a: z.codec(z.iso.datetime(), z.date(), { decode: (text) => new Date(text), encode: (date) => date.toISOString() }) }),
      { a: '2026-01-02T00:00:00Z' },
    ],
    ['preprocess', z.object({ a: z.preprocess((value) => Number(value), z.number()) }), { a: 4 }],
    ['pipe', z.object({ a: z.string().pipe(z.coerce.number()) }), { a: '4' }],
    ['brand', z.object({ a: z.string().brand('id') }), { a: 'x' }],
    ['union of literals', z.object({ a: z.union([z.literal('x'), z.literal(2)]) }), { a: 2 }],
    ['enum', z.object({ a: z.enum(['a', 'b']) }), { a: 'b' }],
    ['refine', z.object({ a: z.string().refine((text) => text !== '') }), { a: 'x' }],
    ['recursion', tree, { n: 1, kids: [{ n: 2, kids: [] }] }],
    ['any and unknown', z.object({ a: z.any(), b: z.unknown() }), { a: [1], b: { x: 1 } }],
    ['intersection', z.intersection(z.object({ a: z.number() }), z.object({ b: z.number() })), { a: 1, b: 2 }],
    ['readonly', z.object({ a: z.array(z.string()).readonly() }).readonly(), { a: ['x'] }],
    ['catch', z.object({ a: z.number().catch(0) }), { a: 1 }],
    ['strict and loose objects', z.strictObject({ a: z.looseObject({ b: z.number() }) }), { a: { b: 1, c: 2 } }],
  ])('takes %s, with an object at the root, and its JSON Schema fits what it fits', (_name, schema, input) => {
    const { json, parse } = forTool(schema);
    expect(json.type).toBe('object');
    expect(parse(input)).toMatchObject({ ok: true });
    expect(forTool(structuredClone(json)).parse(input)).toEqual({ ok: true, value: input });
  });

  it.each([
    ['a date', z.object({ at: z.date() }), 'has the field at, which is a date'],
    ['a bigint in a list', z.object({ rows: z.array(z.object({ n: z.bigint() })) }), 'has the field rows[].n, which is a bigint'],
    ['a map', z.object({ m: z.map(z.string(), z.number()) }), 'has the field m, which is a map'],
    ['a set in a union', z.object({ s: z.union([z.string(), z.set(z.string())]) }), 'has the field s, which is a set'],
    ['a symbol', z.object({ s: z.symbol() }), 'which is a symbol'],
    ['undefined', z.object({ s: z.undefined() }), 'which is a undefined'],
    ['an instance', z.object({ s: z.instanceof(URL) }), 'which is a custom'],
    ['a date after preprocessing', z.object({ s: z.preprocess((value) => value, z.date()) }), 'has the field s, which is a date'],
    ['a bigint literal', z.object({ s: z.literal(1n) }), 'has the field s'],
    [
      'a date deep in a recursion',
      z.object({
        get next() {
          return z.object({ at: z.date().optional() });
        },
      }),
      'has the field next.at, which is a date',
    ],
  ])('refuses %s at definition, naming the field', (_name, schema, message) => {
    expect(refusal(schema)).toContain(message);
    expect(refusal(schema)).toContain(owner);
  });

  it.each([
    ['a text', z.string()],
    ['a list', z.array(z.object({}))],
    ['anything', z.any()],
    ['an object or null', z.object({}).nullable()],
    ['a union with a text', z.union([z.object({}), z.string()])],
    ['a JSON Schema of a list', { type: 'array', items: { type: 'object' } }],
    ['a JSON Schema of anything', { enum: [{ a: 1 }, 'x'] }],
  ])('refuses %s at the root of a tool, and takes it elsewhere', (_name, schema) => {
    expect(refusal(schema)).toContain('must be an object at its root');
    expect(() => compileSchema(schema, { owner })).not.toThrow();
  });

  it("keeps an object's references when its root is one", () => {
    const { json, parse } = forTool({
      $ref: '#/$defs/node',
      $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
    });
    expect(json).toMatchObject({ type: 'object', properties: { next: { $ref: '#/$defs/node' } } });
    expect(parse({ next: { next: 1 } })).toEqual({ ok: false, issues: [{ path: 'next.next', expected: 'object' }] });
  });
});

describe('S219: which schemas are known', () => {
  it('takes a schema of zod/mini as soon as it is converted', async () => {
    const compiled = forTool(mini.object({ cents: mini.int().check(mini.positive()) }));
    await schemasReady();
    expect(schemasReady()).toBeUndefined();
    expect(compiled.json).toMatchObject({ type: 'object', properties: { cents: { type: 'integer' } }, required: ['cents'] });
    expect(compiled.required).toBe(true);
    expect(compiled.parse({ cents: 5 })).toEqual({ ok: true, value: { cents: 5 } });
    expect(compiled.parse({ cents: -5 })).toEqual({ ok: false, issues: [{ path: 'cents', expected: 'integer above 0' }] });
    expect(refusal(mini.object({ at: mini.date() }))).toContain('has the field at, which is a date');
    expect(refusal(mini.string())).toContain('must be an object at its root');
  });

  it('says of a zod 3 schema that zod 4 is needed', () => {
    expect(refusal(z3.object({ a: z3.number() }))).toContain('is a zod 3 schema');
  });

  it('knows zod by its structure, not by its class', async () => {
    const schema = z.object({ a: z.number() });
    const foreign = Object.create(null, { _zod: { value: schema._zod }, '~standard': { value: schema['~standard'] } }) as unknown;
    expect(forTool(foreign).json).toMatchObject({ type: 'object', required: ['a'] });
    expect(await words(foreign, {})).toBe('a: expected number, but the field is missing.');
  });

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'string'],
    ['a function', () => true],
    ['an unknown object', { foo: 1 }],
    ['an empty object', {}],
    ['a date', new Date()],
    ['a list', [{ type: 'object' }]],
  ])('says of %s what is accepted', (_name, schema) => {
    expect(refusal(schema)).toMatch(/zod 4 schema.*Standard JSON Schema.*JSON Schema object/);
  });

  it('says of fields without their object how to wrap them', () => {
    expect(refusal({ a: z.string() })).toContain('Wrap it in z.object(…)');
  });

  const standard = (validate: (value: unknown) => unknown, jsonSchema?: object) => ({
    '~standard': { version: 1, vendor: 'other', validate, ...(jsonSchema ? { jsonSchema } : {}) },
  });
  const numberJson = {
    input: ({ target }: { target: string }) => ({
      $schema: target,
      type: 'object',
      properties: { n: { type: 'number', minimum: 2 } },
      required: ['n'],
    }),
  };

  it('takes a schema of another library that gives its JSON Schema, synchronous or not', async () => {
    const sync = forTool(standard((value) => ({ value }), numberJson));
    expect(sync.json).toEqual({ type: 'object', properties: { n: { type: 'number', minimum: 2 } }, required: ['n'] });
    expect(sync.parse({ n: 3 })).toEqual({ ok: true, value: { n: 3 } });
    const late = forTool(
      standard(async () => ({ issues: [{ message: 'Invalid: received "hunter2"', path: [{ key: 'n' }] }] }), numberJson),
    );
    expect(await late.parse({ n: 1 })).toEqual({ ok: false, issues: [{ path: 'n', expected: 'number at least 2' }] });
  });

  it("passes on another library's own words only if they hold nothing of the input", async () => {
    const says = (message: string) => standard(() => ({ issues: [{ message, path: ['n'] }] }), numberJson);
    expect(await words(says('must be even'), { n: 3 })).toBe('n: expected number at least 2 (must be even).');
    expect(await words(says('bad value hunter2'), { n: 'hunter2' })).toBe('n: expected number at least 2.');
  });

  it('refuses the input when the other library throws', async () => {
    const failing = standard(() => {
      throw new Error('secret');
    }, numberJson);
    expect(await words(failing, { n: 1 })).toContain('one of them failed');
  });

  it('says of a library without JSON Schema what is missing', () => {
    expect(refusal(standard((value) => ({ value })))).toContain(
      'schema of other that does not give its JSON Schema (~standard.jsonSchema)',
    );
    expect(
      refusal(
        standard((value) => ({ value }), {
          input: () => {
            throw new Error('no words for check.');
          },
        }),
      ),
    ).toContain('cannot be written as JSON Schema: no words for check. ');
  });
});

describe('the words of issues', () => {
  it.each([
    [z.object({ cents: z.number().int().positive() }), { cents: -5 }, 'cents: expected integer above 0.'],
    [z.object({ cents: z.number().int().positive() }), {}, 'cents: expected integer above 0, but the field is missing.'],
    [z.object({ a: z.number(), b: z.string() }), { a: 'x', b: 1 }, 'a: expected number; b: expected string.'],
    [
      z.object({ items: z.array(z.object({ n: z.number().min(1).max(9) })).min(1) }),
      { items: [{ n: 5 }, { n: 12 }] },
      'items[1].n: expected number from 1 to 9.',
    ],
    [z.object({ items: z.array(z.number()).min(1).max(3) }), { items: [] }, 'items: expected list of 1 to 3 items.'],
    [z.object({ s: z.string().min(1).max(1) }), { s: 'xx' }, 's: expected string of 1 character.'],
    [z.object({ s: z.string().regex(/^o\d+$/) }), { s: 'x' }, 's: expected string matching ^o\\d+$.'],
    [z.object({ s: z.email() }), { s: 'x' }, 's: expected email address.'],
    [z.object({ s: z.enum(['a', 'b']) }), { s: 'c' }, 's: expected one of "a", "b".'],
    [z.object({ s: z.literal('only') }), { s: 'c' }, 's: expected "only".'],
    [z.object({ s: z.boolean().nullable() }), { s: 'c' }, 's: expected true or false or null.'],
    [z.object({ s: z.number().multipleOf(5) }), { s: 3 }, 's: expected number a multiple of 5.'],
    [z.object({ u: z.union([z.string(), z.number()]) }), { u: true }, 'u: expected string or number.'],
    [z.object({ u: z.union([z.string(), z.object({ a: z.number() })]) }), { u: { a: 'x' } }, 'u.a: expected number.'],
    [
      z.object({ u: z.union([z.object({ a: z.number() }), z.object({ b: z.number() })]) }),
      { u: 1 },
      'u: expected object with a or object with b.',
    ],
    [
      z.discriminatedUnion('t', [z.object({ t: z.literal('x') }), z.object({ t: z.literal('y'), n: z.number() })]),
      { t: 'z' },
      't: expected "x" or "y".',
    ],
    [
      z.discriminatedUnion('t', [z.object({ t: z.literal('x') }), z.object({ t: z.literal('y'), n: z.number() })]),
      { t: 'y', n: 'z' },
      'n: expected number.',
    ],
    [z.strictObject({ a: z.number(), b: z.number() }), { a: 1, b: 2, c: 3 }, 'the input: expected no other fields than a, b.'],
    [z.object({ r: z.record(z.string(), z.number()) }), { r: { any: 'x' } }, 'r.*: expected number.'],
    [
      z.object({ r: z.record(z.string().min(3), z.number()) }),
      { r: { x: 1 } },
      'r: expected only field names that fit: string of at least 3 characters.',
    ],
    [z.object({ n: z.string().transform(Number).pipe(z.number().max(10)) }), { n: '20' }, 'n: expected string, at most 10.'],
    [z.object({ n: z.int() }), { n: 1.5 }, 'n: expected integer.'],
    [z.object({ a: z.number() }), null, 'the input: expected object.'],
  ])('are plain: %#', async (schema, raw, expected) => {
    expect(await words(schema, raw)).toBe(expected);
  });

  it('leave a long list of issues at eight', async () => {
    const shape = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`f${index}`, z.number()]));
    expect(await words(z.object(shape), {})).toMatch(/; and 4 more\.$/);
  });

  it("take the author's words where they are the same for every input, and no others", async () => {
    const check = (error: unknown) => z.object({ n: z.number().refine(() => false, error as string) });
    expect(await words(check('an even number'), { n: 31337 })).toBe('n: expected to pass its check: an even number.');
    expect(await words(check({ error: (issue: { input: unknown }) => `not ${issue.input}` }), { n: 31337 })).toBe(
      'n: expected to pass its check.',
    );
    const refined = (message: (value: { card: string }) => string) =>
      z
        .object({ card: z.string() })
        .superRefine((value, context) => context.addIssue({ code: 'custom', message: message(value), path: ['card'] }));
    expect(
      await words(
        refined(() => 'the end must come after the start'),
        { card: '4242 4242' },
      ),
    ).toBe('card: expected to pass its check: the end must come after the start.');
    for (const leak of [(value: { card: string }) => `bad ${value.card}`, (value: { card: string }) => `ends in ${value.card.slice(-4)}`]) {
      expect(await words(refined(leak), { card: '1111 2222' })).toBe('card: expected to pass its check.');
    }
  });

  it('never hold anything of the input, for every input', () => {
    const secret = fc.stringMatching(/^s3cr3t[a-z0-9]{6}$/);
    const schemas = [
      z.strictObject({
        a: z.number(),
        list: z.array(z.int()),
        r: z.record(z.string().max(3), z.number()),
        u: z.union([z.number(), z.object({ x: z.number() })]),
        e: z.enum(['x', 'y']),
        m: z.email(),
      }),
      z.discriminatedUnion('t', [z.object({ t: z.literal('x') }), z.object({ t: z.literal('y') })]),
      {
        type: 'object',
        properties: { a: { type: 'number' }, list: { type: 'array', items: { type: 'integer' } }, e: { enum: ['x'] } },
        additionalProperties: false,
        propertyNames: { maxLength: 4 },
      },
    ];
    fc.assert(
      fc.property(
        secret,
        fc.object({
          key: fc.constantFrom('a', 'list', 'r', 'u', 'e', 'm', 't', 'x', '§'),
          values: [fc.constant('§'), fc.integer(), fc.constant(null)],
          maxDepth: 3,
        }),
        (hidden, shape) => {
          const raw = JSON.parse(JSON.stringify(shape).replaceAll('§', hidden)) as JsonValue;
          for (const schema of schemas) {
            const parsed = compileSchema(schema, { owner }).parse(raw);
            if (!(parsed instanceof Promise) && !parsed.ok) expect(describeIssues(parsed.issues)).not.toContain(hidden);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('inputs that are refused whatever the schema', () => {
  const kinds: readonly (readonly [string, unknown])[] = [
    ['zod', z.looseObject({})],
    [
      'another library',
      {
        '~standard': {
          version: 1,
          vendor: 'other',
          validate: (value: unknown) => ({ value }),
          jsonSchema: { input: () => ({ type: 'object' }) },
        },
      },
    ],
    ['JSON Schema', { type: 'object' }],
  ];

  it.each(kinds)('S026: refuses what is no object, with words for the model (%s)', async (kind, schema) => {
    if (kind === 'another library') return;
    for (const raw of [null, [1, 2], '1', 7]) expect(await words(schema, raw)).toBe('the input: expected object.');
  });

  it('S026: refuses what is no object where another library would let it in', async () => {
    const lenient = {
      '~standard': {
        version: 1,
        vendor: 'other',
        validate: (value: unknown) => ({ value }),
        jsonSchema: { input: () => ({ type: 'object' }) },
      },
    };
    for (const raw of [null, [1, 2], '1', 7])
      expect(await forTool(lenient).parse(raw)).toEqual({ ok: false, issues: [{ path: '', expected: 'object' }] });
  });

  it.each(kinds)('S034: refuses fields that could change a prototype, at any depth (%s)', async (_kind, schema) => {
    for (const text of [
      '{"__proto__":{"isAdmin":true},"a":1}',
      '{"a":[{"b":{"__proto__":{"isAdmin":true}}}]}',
      '{"constructor":{"prototype":{"isAdmin":true}}}',
    ]) {
      expect(await words(schema, JSON.parse(text))).toContain('no field named __proto__');
    }
    expect(await words(schema, { constructor: 'Acme Ltd' })).toBe('fits');
    expect(({} as { isAdmin?: unknown }).isAdmin).toBeUndefined();
  });

  it.each(kinds)('refuses input that is nested too deep or too long (%s)', async (_kind, schema) => {
    const nested = (levels: number): unknown => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`);
    expect(await words(schema, nested(maxInputDepth))).toBe('fits');
    expect(await words(schema, nested(maxInputDepth + 1))).toBe('the input: expected at most 64 levels of nesting.');
    expect(await words(schema, nested(100_000))).toBe('the input: expected at most 64 levels of nesting.');
    expect(await words(schema, { a: 'x'.repeat(maxInputChars - 20) })).toBe('fits');
    expect(await words(schema, { a: 'x'.repeat(maxInputChars) })).toBe('the input: expected at most 1000000 characters of JSON.');
    expect(await words(schema, { a: new Array(600_000).fill(0) })).toBe('the input: expected at most 1000000 characters of JSON.');
  });

  it('S038: lets no cut input pass where a field was lost', async () => {
    expect(await words(z.object({ path: z.string(), content: z.string() }), { path: 'b.txt' })).toBe(
      'content: expected string, but the field is missing.',
    );
  });

  it('leaves the raw input as it was', async () => {
    const raw = Object.freeze({ a: Object.freeze([1, 2]), extra: Object.freeze({ x: 1 }) });
    for (const schema of [z.looseObject({ a: z.array(z.number()) }), { type: 'object' }]) expect(await words(schema, raw)).toBe('fits');
    expect(raw).toEqual({ a: [1, 2], extra: { x: 1 } });
  });
});

describe('plain JSON Schema', () => {
  it('S169: copies the schema of another server, never changes it', () => {
    const schema = { type: 'object', properties: { opts: { type: 'object' } }, $schema: 'https://json-schema.org/draft/2020-12/schema' };
    const before = structuredClone(schema);
    const { json, parse } = forTool(schema);
    expect(schema).toEqual(before);
    expect(Object.isFrozen(schema)).toBe(false);
    schema.properties.opts.type = 'string';
    expect(json).toEqual({ type: 'object', properties: { opts: { type: 'object' } } });
    expect(parse({ opts: { any: { thing: 1 } } })).toMatchObject({ ok: true, value: { opts: { any: { thing: 1 } } } });
  });

  it.each([
    [
      'nested 5,000 levels deep',
      Array.from({ length: 5_000 }).reduce<object>((inner) => ({ type: 'object', properties: { a: inner } }), { type: 'object' }),
      'nested more than 200 levels deep',
    ],
    [
      'made of 200,000 parts',
      { type: 'object', properties: Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`p${index}`, { type: 'string' }])) },
      'more than 20000 parts',
    ],
    [
      'with a reference to elsewhere',
      { type: 'object', properties: { a: { $ref: 'https://example.test/other.json' } } },
      'the reference https://example.test/other.json leads to nothing',
    ],
    [
      'with a reference to nowhere',
      { type: 'object', properties: { a: { $ref: '#/$defs/missing' } } },
      'the reference #/$defs/missing leads to nothing',
    ],
    [
      'with a pattern that is none',
      { type: 'object', properties: { a: { type: 'string', pattern: '(' } } },
      'the pattern ( is no regular expression',
    ],
    ['with a type that there is not', { type: 'object', properties: { a: { type: 'text' } } }, 'the type "text" is none of object, array'],
    ['with one among its types that there is not', { type: 'object', properties: { a: { type: ['string', 'any'] } } }, 'the type "any"'],
    ['with a type that is no word', { type: 'object', properties: { a: { type: null } } }, 'the type null'],
    ['with dynamic references', { type: 'object', properties: { a: { $dynamicRef: '#a' } } }, '$dynamicRef is not supported'],
  ])('S169: refuses a schema %s', (_name, schema, message) => {
    expect(refusal(schema)).toContain(message);
  });

  it('takes types of other words than those of JSON Schema where they stand in none', () => {
    const name = { type: 'string', errorMessage: { type: 'must be text' }, 'x-field': { type: 'textarea' }, default: { type: 'text' } };
    expect(compileSchema({ type: 'object', properties: { name } } as never, { owner: 'The tool' }).json.type).toBe('object');
    expect(refusal({ type: 'object', properties: { a: { anyOf: [{ items: { type: 'text' } }] } } })).toContain('the type "text"');
  });

  it('S169: ends for schemas that go round in circles or multiply', async () => {
    expect(
      await words({ type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { $ref: '#/$defs/a' } } }, { a: 1 }),
    ).toContain('reasonable time');
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [
        `d${index}`,
        { anyOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] },
      ]),
    );
    expect(
      await words({ type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, $defs: { ...$defs, d40: { type: 'string' } } }, { a: 1 }),
    ).toContain('reasonable time');
  });

  it.each([
    [
      'siblings of a reference',
      { properties: { a: { $ref: '#/$defs/s', maxLength: 2 } }, $defs: { s: { type: 'string' } } },
      [{ a: 'ab' }],
      [{ a: 'abc' }, { a: 1 }],
    ],
    [
      'a reference by $id, and one by anchor',
      {
        properties: { a: { $ref: 'item.json' }, b: { $ref: '#it' } },
        $defs: { i: { $id: 'item.json', type: 'string' }, j: { $anchor: 'it', type: 'number' } },
      },
      [{ a: 'x', b: 1 }],
      [{ a: 1 }, { b: 'x' }],
    ],
    [
      'fields named like keywords',
      { properties: { enum: { type: 'string' }, $ref: { type: 'number' }, properties: { type: 'boolean' } }, required: ['enum'] },
      [{ enum: 'x', $ref: 1, properties: true }],
      [{ enum: 1 }, { enum: 'x', $ref: 'x' }, {}],
    ],
    ['boolean schemas', { properties: { a: true, b: false } }, [{ a: 1 }, {}], [{ b: 1 }]],
    ['no type', { properties: { a: { minimum: 2, minLength: 2 } } }, [{ a: 2 }, { a: 'ab' }, { a: null }], [{ a: 1 }, { a: 'a' }]],
    ['several types', { properties: { a: { type: ['string', 'null'] } } }, [{ a: 'x' }, { a: null }], [{ a: 1 }]],
    ['oneOf', { properties: { a: { oneOf: [{ multipleOf: 2 }, { multipleOf: 3 }] } } }, [{ a: 4 }, { a: 9 }], [{ a: 6 }, { a: 5 }]],
    ['not', { properties: { a: { not: { type: 'string' } } } }, [{ a: 1 }], [{ a: 'x' }]],
    [
      'if, then, else',
      { if: { properties: { k: { const: 1 } }, required: ['k'] }, then: { required: ['a'] }, else: { required: ['b'] }, properties: {} },
      [{ k: 1, a: 1 }, { b: 1 }],
      [{ k: 1 }, { k: 2 }],
    ],
    [
      'dependent fields',
      { properties: {}, dependentRequired: { a: ['b'] }, dependentSchemas: { c: { required: ['d'] } }, dependencies: { e: ['f'] } },
      [{ a: 1, b: 1 }, { c: 1, d: 1 }, {}],
      [{ a: 1 }, { c: 1 }, { e: 1 }],
    ],
    [
      'patterns of names',
      { properties: { x: {} }, patternProperties: { '^n_': { type: 'number' } }, additionalProperties: false },
      [{ n_a: 1, x: 's' }],
      [{ n_a: 's' }, { other: 1 }],
    ],
    ['a schema for the rest', { properties: { a: {} }, additionalProperties: { type: 'number' } }, [{ a: 'x', b: 1 }], [{ b: 'x' }]],
    [
      'unevaluated fields',
      { allOf: [{ properties: { a: {} } }], properties: { b: {} }, unevaluatedProperties: false },
      [{ a: 1, b: 1 }],
      [{ c: 1 }],
    ],
    [
      'tuples, new and old',
      {
        properties: {
          a: { prefixItems: [{ type: 'string' }], items: { type: 'number' } },
          b: { items: [{ type: 'string' }], additionalItems: false },
        },
      },
      [{ a: ['x', 1], b: ['x'] }],
      [{ a: [1] }, { a: ['x', 'y'] }, { b: ['x', 1] }],
    ],
    ['contains', { properties: { a: { contains: { const: 1 }, maxContains: 2 } } }, [{ a: [1, 2] }], [{ a: [2] }, { a: [1, 1, 1] }]],
    [
      'lists without repeats',
      { properties: { a: { uniqueItems: true } } },
      [{ a: [1, '1', { x: 1, y: 2 }] }],
      [
        { a: [1, 1] },
        {
          a: [
            { x: 1, y: 2 },
            { y: 2, x: 1 },
          ],
        },
      ],
    ],
    [
      'lengths in characters',
      { properties: { a: { type: 'string', minLength: 2, maxLength: 2 } } },
      [{ a: '😀😀' }],
      [{ a: '😀' }, { a: 'abc' }],
    ],
    ['exclusive bounds of draft 4', { properties: { a: { minimum: 1, exclusiveMinimum: true } } }, [{ a: 2 }], [{ a: 1 }]],
    ['nullable of OpenAPI', { properties: { a: { type: 'string', nullable: true } } }, [{ a: null }], [{ a: 1 }]],
    ['fractions', { properties: { a: { multipleOf: 0.1 } } }, [{ a: 0.3 }, { a: 1 }], [{ a: 0.35 }]],
    [
      'formats',
      { properties: { a: { format: 'date-time' }, b: { format: 'something-else' } } },
      [{ a: '2026-01-31T12:00:00Z', b: 'x' }],
      [{ a: 'tomorrow' }],
    ],
    ['whole numbers written as fractions', { properties: { a: { type: 'integer' } } }, [{ a: 2.0 }], [{ a: 2.5 }]],
    ['objects as constants', { properties: { a: { const: { x: [1] } } } }, [{ a: { x: [1] } }], [{ a: { x: [2] } }]],
  ] as readonly (readonly [string, object, readonly JsonValue[], readonly JsonValue[]])[])(
    'is checked here: %s',
    async (...[, schema, fitting, misfits]) => {
      for (const raw of fitting) expect(await words(schema, raw)).toBe('fits');
      for (const raw of misfits) expect(await words(schema, raw)).not.toBe('fits');
    },
  );

  it('lets in the same inputs as zod, for every input', () => {
    const schema = z.strictObject({
      a: z.number().min(-3).max(3).optional(),
      b: z.union([z.string().min(1).max(3), z.array(z.int().nullable()).max(2)]),
      c: z.record(z.string(), z.boolean()).optional(),
      d: z
        .discriminatedUnion('t', [z.object({ t: z.literal('x') }), z.strictObject({ t: z.literal('y'), n: z.number().multipleOf(2) })])
        .optional(),
    });
    const plain = structuredClone(forTool(schema).json);
    const value = fc.oneof(fc.integer({ min: -5, max: 5 }), fc.constantFrom('', 'x', 'y', 'long text', true, null, 1.5));
    const input = fc.record(
      {
        a: value,
        b: fc.oneof(value, fc.array(value, { maxLength: 3 })),
        c: fc.oneof(value, fc.dictionary(fc.constantFrom('k', 'l'), value)),
        d: fc.oneof(value, fc.record({ t: fc.constantFrom('x', 'y', 'z'), n: value, m: value }, { requiredKeys: ['t'] })),
        e: value,
      },
      { requiredKeys: ['b'] },
    );
    fc.assert(
      fc.property(input, (raw) => {
        const byZod = forTool(schema).parse(raw as JsonValue);
        const byJson = forTool(plain).parse(raw as JsonValue);
        expect((byJson as { ok: boolean }).ok).toBe((byZod as { ok: boolean }).ok);
      }),
      { numRuns: 1_000 },
    );
  });
});
