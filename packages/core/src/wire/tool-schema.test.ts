import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../model/types.js';
import { compileSchema } from '../schema.js';
import { wireToolSchema } from './tool-schema.js';

const text = { type: 'string' };
const whole = { type: 'integer' };
const fits = (schema: JsonObject, value: JsonValue): boolean => {
  const parsed = compileSchema(schema, { owner: 'It' }).parse(value);
  return 'ok' in parsed && parsed.ok;
};

describe('the schema that is sent for a tool', () => {
  it('is the same object where nothing has to change', () => {
    const schema: JsonObject = { type: 'object', properties: { a: { anyOf: [text, { type: 'array', items: text }] } }, required: ['a'] };
    expect(wireToolSchema(schema)).toEqual({ schema, isWidened: false });
    expect(wireToolSchema(schema).schema).toBe(schema);
    expect(wireToolSchema(schema)).toBe(wireToolSchema(schema));
  });

  it('says of its root that it is an object, and which properties it has', () => {
    for (const schema of [{}, { type: 'object' }, { type: ['object'] }] satisfies readonly JsonObject[])
      expect(wireToolSchema(schema)).toEqual({ schema: { type: 'object', properties: {} }, isWidened: false });
  });

  it('has items in every array, wherever it stands, and nothing else is touched', () => {
    const schema: JsonObject = {
      type: 'object',
      properties: {
        a: { type: 'array' },
        b: { anyOf: [{ type: ['array', 'null'] }, text] },
        c: { type: 'object', additionalProperties: { type: 'array' } },
        d: { enum: [{ type: 'array' }], default: { type: 'array' } },
      },
      $defs: { e: { type: 'array', items: { type: 'array' } } },
    };
    expect(wireToolSchema(schema)).toEqual({
      isWidened: false,
      schema: {
        type: 'object',
        properties: {
          a: { type: 'array', items: {} },
          b: { anyOf: [{ type: ['array', 'null'], items: {} }, text] },
          c: { type: 'object', additionalProperties: { type: 'array', items: {} } },
          d: { enum: [{ type: 'array' }], default: { type: 'array' } },
        },
        $defs: { e: { type: 'array', items: { type: 'array', items: {} } } },
      },
    });
    expect(schema.properties).toMatchObject({ a: { type: 'array' } });
  });

  it('says in words what a pattern that looks around says', () => {
    const code: JsonObject = { type: 'string', pattern: '^(?!x)[a-z]+$', description: 'A code.' };
    expect(
      wireToolSchema({ type: 'object', properties: { code, codes: { type: 'array', items: { type: 'string', pattern: '(?<=a)b' } } } })
        .schema,
    ).toEqual({
      type: 'object',
      properties: {
        code: { type: 'string', description: 'A code. (pattern: "^(?!x)[a-z]+$")' },
        codes: { type: 'array', items: { type: 'string', description: '(pattern: "(?<=a)b")' } },
      },
    });
    expect(code.pattern).toBe('^(?!x)[a-z]+$');
  });

  it('offers the properties of all branches of its root together', () => {
    const circle: JsonObject = {
      type: 'object',
      properties: { kind: { const: 'circle' }, radius: whole },
      required: ['kind', 'radius'],
      additionalProperties: false,
    };
    const square: JsonObject = {
      type: 'object',
      properties: { kind: { const: 'square' }, side: whole },
      required: ['kind', 'side'],
      additionalProperties: false,
    };
    for (const keyword of ['oneOf', 'anyOf']) {
      expect(wireToolSchema({ type: 'object', [keyword]: [circle, { $ref: '#/$defs/square' }], $defs: { square } })).toEqual({
        isWidened: true,
        schema: {
          type: 'object',
          properties: { kind: { anyOf: [{ const: 'circle' }, { const: 'square' }] }, radius: whole, side: whole },
          required: ['kind'],
          additionalProperties: false,
          $defs: { square },
        },
      });
    }
    expect(wireToolSchema({ allOf: [circle, { properties: { name: text }, required: ['name'] }] }).schema).toEqual({
      type: 'object',
      properties: { kind: { const: 'circle' }, radius: whole, name: text },
      required: ['kind', 'radius', 'name'],
    });
  });

  it('is closed only where every branch is', () => {
    const closed: JsonObject = { properties: { a: text }, additionalProperties: false };
    const sent = (...branches: readonly JsonObject[]): JsonObject => wireToolSchema({ type: 'object', anyOf: branches }).schema;
    expect(sent(closed, closed)).toMatchObject({ additionalProperties: false });
    expect(sent(closed, { properties: { b: text } })).not.toHaveProperty('additionalProperties');
    expect(sent(closed, { ...closed, patternProperties: { '^x': text } })).not.toHaveProperty('additionalProperties');
  });

  it('ends for a root that refers to itself, and for one whose references fan out', () => {
    expect(wireToolSchema({ type: 'object', anyOf: [{ $ref: '#' }, { properties: { a: text } }] }).schema).toEqual({
      type: 'object',
      properties: { a: text },
    });
    const layers = Object.fromEntries(
      Array.from({ length: 40 }, (_layer, index) => [
        `l${index}`,
        index === 39 ? { properties: { deep: text } } : { anyOf: [{ $ref: `#/$defs/l${index + 1}` }, { $ref: `#/$defs/l${index + 1}` }] },
      ]),
    );
    expect(wireToolSchema({ type: 'object', allOf: [{ $ref: '#/$defs/l0' }], $defs: layers }).schema.properties).toEqual({ deep: text });
  });

  it('takes every input that the tool takes, and of one with open branches wants and closes nothing more', () => {
    const names = fc.constantFrom('a', 'b', 'c');
    const leaf: fc.Arbitrary<JsonObject> = fc.constantFrom<JsonObject>(text, whole, { const: 1 }, { enum: ['x', 2] }, { type: 'array' });
    const object = (additional: fc.Arbitrary<JsonValue>, branch: fc.Arbitrary<JsonValue>): fc.Arbitrary<JsonObject> => {
      const own = fc.record({
        type: fc.constant('object'),
        properties: fc.dictionary(names, leaf, { maxKeys: 2 }),
        required: fc.uniqueArray(names, { maxLength: 1 }),
        additionalProperties: additional,
      });
      const pattern = fc.constantFrom<JsonObject>({}, {}, { patternProperties: { '^c': {} } });
      const combined = fc
        .tuple(fc.constantFrom('anyOf', 'oneOf', 'allOf', 'none'), fc.array(branch, { minLength: 1, maxLength: 3 }))
        .map(([keyword, branches]): JsonObject => (keyword === 'none' ? {} : { [keyword]: branches }));
      return fc.tuple(own, pattern, combined).map((parts): JsonObject => Object.assign({}, ...parts) as JsonObject);
    };
    const schemas = (additional: fc.Arbitrary<JsonValue>, alone: fc.Arbitrary<JsonValue>): fc.Arbitrary<JsonObject> => {
      const branch = fc.oneof(alone, object(additional, object(additional, alone)), fc.constant<JsonObject>({ $ref: '#/$defs/other' }));
      return fc.tuple(object(additional, branch), object(additional, alone)).map(([root, other]) => ({ ...root, $defs: { other } }));
    };
    const closed = schemas(fc.constant(false), fc.constant(false));
    const open = schemas(fc.constantFrom<JsonValue>(false, true, text), fc.boolean());
    const value = fc.dictionary(names, fc.oneof(fc.constantFrom<JsonValue>('x', 1, 2, 1.5), fc.constant<JsonValue>([])), { maxKeys: 3 });
    fc.assert(
      fc.property(closed, open, fc.array(value, { minLength: 5, maxLength: 10 }), (shut, loose, values) => {
        for (const given of [shut, loose]) {
          const { schema: sent } = wireToolSchema(given);
          for (const keyword of ['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const']) expect(sent).not.toHaveProperty(keyword);
          const bare: JsonObject = {
            ...sent,
            properties: Object.fromEntries(Object.keys(sent.properties ?? {}).map((name) => [name, {}])),
          };
          for (const each of values) if (fits(given, each)) expect(fits(given === shut ? sent : bare, each)).toBe(true);
        }
      }),
      { numRuns: 400 },
    );
  });
});
