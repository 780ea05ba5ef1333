import { describe, expect, it } from 'vitest';
import { jsonSchemaCheck } from './json-schema-check.js';

describe('jsonSchemaCheck', () => {
  it('says what does not fit, without the value', () => {
    const check = jsonSchemaCheck({ type: 'object', properties: { n: { type: 'number' } }, required: ['n'] });
    expect(check({ n: 1 })).toEqual([]);
    expect(check({ n: 'secret' })).toEqual([{ path: 'n', expected: 'number' }]);
  });

  it('refuses schemas that are too deep, or refer to nothing', () => {
    let deep: object = {};
    for (let level = 0; level < 300; level += 1) deep = { properties: { x: deep } };
    expect(() => jsonSchemaCheck(deep)).toThrow('levels deep');
    expect(() => jsonSchemaCheck({ $ref: '#/$defs/none' })).toThrow();
  });

  it('ends where a schema would look at a value in more ways than there is time for', () => {
    const branch = { properties: { x: { $ref: '#' } }, required: ['y'] };
    const check = jsonSchemaCheck({ anyOf: [branch, { ...branch, required: ['z'] }] });
    let value: object = {};
    for (let level = 0; level < 50; level += 1) value = { x: value };
    expect(check(value as never)).toHaveLength(1);
  });
});
