import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../model/types.js';
import { argumentNames } from './argument-names.js';

const namesOf = (schema: JsonObject) => {
  const names = argumentNames({ type: 'object', ...schema });
  return names === undefined ? undefined : [...names];
};
const has = (...names: readonly string[]): JsonObject => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, {}])),
});

describe('the arguments that a schema names', () => {
  it('are the fields of its root', () => {
    expect(namesOf(has('a', 'b'))).toEqual(['a', 'b']);
    expect(namesOf({ ...has('a'), additionalProperties: false })).toEqual(['a']);
  });

  it.each<[string, JsonObject]>([
    ['nothing', {}],
    ['no field', { properties: {} }],
    ['properties that are none', { properties: null }],
    ['other fields', { ...has('a'), additionalProperties: true }],
    ['other fields of a kind', { ...has('a'), additionalProperties: { type: 'string' } }],
    ['fields that fit a pattern', { ...has('a'), patternProperties: { '^x': {} } }],
    ['other fields in a branch', { ...has('a'), anyOf: [has('b'), { additionalProperties: true }] }],
    ['anything in a branch', { ...has('a'), anyOf: [true] }],
    ['a schema that is elsewhere', { ...has('a'), allOf: [{ $ref: 'https://a.example/schema' }] }],
    ['a schema that is nowhere', { ...has('a'), allOf: [{ $ref: '#/$defs/none' }] }],
    ['a reference to itself', { ...has('a'), allOf: [{ $ref: '#/$defs/x' }], $defs: { x: { $ref: '#/$defs/x' } } }],
  ])('are open with %s', (_what, schema) => {
    expect(namesOf(schema)).toBeUndefined();
  });

  it.each<[string, JsonObject]>([
    ['allOf', { allOf: [has('b'), has('c')] }],
    ['anyOf', { anyOf: [has('b'), has('c')] }],
    ['oneOf', { oneOf: [has('b'), has('c')] }],
    ['branches of branches', { anyOf: [{ oneOf: [has('b'), { allOf: [has('c')] }] }] }],
    ['conditions', { if: has('a'), then: has('b'), else: has('c') }],
    ['what follows from a field', { dependentSchemas: { a: has('b', 'c') } }],
    ['references', { anyOf: [{ $ref: '#/$defs/b' }, { $ref: '#/definitions/c' }], $defs: { b: has('b') }, definitions: { c: has('c') } }],
    ['references along references', { allOf: [{ $ref: '#/$defs/b' }], $defs: { b: { $ref: '#/$defs/c' }, c: has('b', 'c') } }],
    ['what stands beside a reference', { allOf: [{ $ref: '#/$defs/b', ...has('c') }], $defs: { b: has('b') } }],
    ['a branch that only asks for a field', { anyOf: [{ required: ['a'] }, has('b', 'c'), false] }],
  ])('stand in %s too', (_what, schema) => {
    expect(namesOf({ ...has('a'), ...schema })?.toSorted()).toEqual(['a', 'b', 'c']);
  });

  it('are found once where branches lead back', () => {
    const node: JsonObject = { ...has('b'), anyOf: [{ $ref: '#/$defs/node' }, { $ref: '#' }] };
    expect(namesOf({ ...has('a'), anyOf: [{ $ref: '#/$defs/node' }], $defs: { node } })).toEqual(['a', 'b']);
  });

  it('are none of words where a schema should be', () => {
    expect(namesOf({ ...has('a'), anyOf: {}, if: true, then: 'x', dependentSchemas: [] })).toEqual(['a']);
  });
});
