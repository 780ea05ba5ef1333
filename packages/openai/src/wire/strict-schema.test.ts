import type { JsonObject } from '@guardloop/core/model';
import { describe, expect, test } from 'vitest';
import { strictProblems } from '../../../testing/src/requests/openai-schema.js';
import { fitsStrictSubset } from './strict-schema.js';

function closed(properties: JsonObject, more: JsonObject = {}): JsonObject {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false, ...more };
}
function nested(depth: number): JsonObject {
  return depth === 1 ? { type: 'string' } : closed({ inner: nested(depth - 1) });
}

describe('a schema fits the strict subset', () => {
  const fitting: readonly (readonly [string, JsonObject])[] = [
    [
      'closed and required throughout',
      closed({ a: closed({ b: { type: 'integer', minimum: 0 } }), c: { type: 'array', items: { type: 'string' } } }),
    ],
    ['without properties', closed({})],
    ['with nullable members', closed({ a: { type: ['string', 'null'] }, b: { anyOf: [closed({}), { type: 'null' }] } })],
    [
      'with enums and constants',
      closed({ a: { enum: ['x', 'y'] }, b: { const: 1 }, c: { type: 'string', enum: ['z'], description: 'c' } }),
    ],
    [
      'with its own definitions',
      closed(
        { a: { $ref: '#/$defs/node' } },
        { $defs: { node: closed({ next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } }) } },
      ),
    ],
    ['that refers to its root', closed({ next: { anyOf: [{ $ref: '#' }, { type: 'null' }] } })],
    [
      'with a known format',
      closed({ a: { type: 'string', format: 'date-time' } }, { $schema: 'https://json-schema.org/draft/2020-12/schema' }),
    ],
    ['10 levels deep', nested(10)],
  ];
  test.each(fitting)('%s', (_name, schema) => {
    expect(fitsStrictSubset(schema)).toBe(true);
    expect(strictProblems(schema)).toEqual([]);
  });
});

describe('a schema does not fit the strict subset', () => {
  const misfits: readonly (readonly [string, JsonObject])[] = [
    ['with an optional property', { ...closed({ a: { type: 'string' } }), required: [] }],
    ['with an open object', { type: 'object', properties: {}, required: [] }],
    ['with an open object inside', closed({ a: { type: 'object', properties: {} } })],
    ['with an object beside null inside that is open', closed({ a: { type: ['object', 'null'] } })],
    ['that is a record', closed({ a: { type: 'object', additionalProperties: { type: 'string' } } })],
    ['with a required property that is not there', { ...closed({}), required: ['a'] }],
    ['with oneOf', closed({ a: { oneOf: [{ type: 'string' }] } })],
    ['with allOf', closed({ a: { type: 'string', allOf: [{ type: 'string' }] } })],
    ['with a default', closed({ a: { type: 'string', default: 'x' } })],
    ['with an unknown format', closed({ a: { type: 'string', format: 'iri' } })],
    ['without a type inside', closed({ a: {} })],
    ['with a schema that is true', closed({ a: true })],
    ['with an unknown type', closed({ a: { type: 'date' } })],
    ['with an array of anything', closed({ a: { type: 'array' } })],
    ['with a tuple', closed({ a: { type: 'array', prefixItems: [{ type: 'string' }], items: { type: 'string' } } })],
    ['with a misfit among its definitions', closed({}, { $defs: { a: { type: 'object' } } })],
    ['with anyOf at the root', closed({}, { anyOf: [{ type: 'object' }] })],
    ['with a reference elsewhere', closed({ a: { $ref: 'https://example.com/schema' } })],
    ['with a reference to nothing', closed({ a: { $ref: '#/$defs/none' } })],
    ['with a reference and more', closed({ a: { $ref: '#', default: null } })],
    ['that is no object', { type: 'array', items: { type: 'string' } }],
    ['11 levels deep', nested(11)],
  ];
  test.each(misfits)('%s', (_name, schema) => {
    expect(fitsStrictSubset(schema)).toBe(false);
  });

  test('S169: a hostile schema is answered at once and is not changed', () => {
    let deep: JsonObject = { type: 'string' };
    for (let level = 0; level < 5_000; level += 1)
      deep = { type: 'object', properties: { a: deep }, required: ['a'], additionalProperties: false };
    const wide = closed(Object.fromEntries(Array.from({ length: 5_001 }, (_item, index) => [`p${index}`, { type: 'string' }])));
    const before = JSON.stringify(wide);
    expect(fitsStrictSubset(deep)).toBe(false);
    expect(fitsStrictSubset(wide)).toBe(false);
    expect(JSON.stringify(wide)).toBe(before);
  });
});
