import { expect, it } from 'vitest';
import type { JsonObject } from '../model/types.js';
import { fieldNames } from './field-names.js';

const namesOf = (schema: JsonObject): readonly string[] => {
  const names = new Set<string>();
  fieldNames(schema, names);
  return [...names].toSorted();
};

it('the names of fields are found at any depth and in every branch', () => {
  const schema: JsonObject = {
    type: 'object',
    properties: {
      order: { type: 'object', properties: { id: { type: 'string' } } },
      lines: { type: 'array', items: { $ref: '#/$defs/line' } },
      properties: { type: 'string' },
    },
    anyOf: [{ properties: { email: {} } }, { not: { properties: { phone: {} } } }],
    $defs: { line: { type: 'object', properties: { sku: {} } } },
  };
  expect(namesOf(schema)).toEqual(['email', 'id', 'lines', 'order', 'phone', 'properties', 'sku']);
});

it('values in a schema are no names', () => {
  expect(namesOf({ type: 'object', properties: { a: { const: { properties: { b: 1 } }, enum: [{ properties: { c: 1 } }] } } })).toEqual([
    'a',
  ]);
  expect(namesOf({ properties: { a: { default: { properties: { b: 1 } }, examples: [{ properties: { c: 1 } }] } } })).toEqual(['a']);
  expect(namesOf({ type: 'object' })).toEqual([]);
});
