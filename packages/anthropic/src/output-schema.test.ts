import { describe, expect, it } from 'vitest';
import { checkMessagesRequest } from '../../testing/src/requests/anthropic.js';
import { outputSchema } from './output-schema.js';

function converted(schema: object) {
  const result = outputSchema(schema as never);
  if (result !== undefined) {
    const body = {
      model: 'm',
      max_tokens: 1,
      messages: [{ role: 'user', content: 'hi' }],
      output_config: { format: { type: 'json_schema', schema: result } },
    };
    expect(checkMessagesRequest(body)).toEqual([]);
  }
  return result;
}

describe('what the subset can say', () => {
  it('objects are closed, and limits become words', () => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 9, description: 'A name.' },
        when: { type: 'string', format: 'date-time' },
        mail: { type: 'string', format: 'cuid' },
        count: { type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991 },
        tags: { type: 'array', items: { type: 'string' }, maxItems: 3 },
      },
      required: ['name'],
    };
    expect(converted(schema)).toEqual({
      type: 'object',
      properties: {
        name: { type: 'string', description: 'A name. (minLength: 1, maxLength: 9)' },
        when: { type: 'string', format: 'date-time' },
        mail: { type: 'string', description: '(format: "cuid")' },
        count: { type: 'integer' },
        tags: { type: 'array', items: { type: 'string' }, description: '(maxItems: 3)' },
      },
      required: ['name'],
      additionalProperties: false,
    });
  });

  it('unions, literals, nullable types and references', () => {
    const schema = {
      type: 'object',
      properties: {
        kind: {
          oneOf: [
            { type: 'string', const: 'a' },
            { type: 'string', enum: ['b', 'c'] },
          ],
        },
        note: { type: ['string', 'null'] },
        home: { $ref: '#/$defs/Place', description: 'Where.' },
      },
      $defs: { Place: { type: 'object', properties: { city: { type: 'string' } } } },
      additionalProperties: false,
    };
    expect(converted(schema)).toEqual({
      type: 'object',
      properties: {
        kind: { anyOf: [{ const: 'a' }, { enum: ['b', 'c'] }] },
        note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        home: { type: 'object', properties: { city: { type: 'string' } }, additionalProperties: false, description: 'Where.' },
      },
      additionalProperties: false,
    });
  });

  it('the same schema is converted once', () => {
    const schema = { type: 'object', properties: {} };
    expect(converted(schema)).toBe(converted(schema));
  });
});

describe('what it cannot say is told apart instead of changed', () => {
  it.each([
    ['a record', { type: 'object', additionalProperties: { type: 'number' } }],
    ['an open object', { type: 'object', properties: {}, additionalProperties: true }],
    ['a tuple', { type: 'array', prefixItems: [{ type: 'string' }] }],
    ['an array of anything', { type: 'array' }],
    ['an intersection', { allOf: [{ type: 'object' }, { type: 'object' }] }],
    ['anything at all', {}],
    ['a negation', { type: 'string', not: { const: 'a' } }],
    ['a condition', { type: 'object', if: {} }],
    ['an object as a literal', { const: { a: 1 } }],
    ['a reference to elsewhere', { $ref: 'https://example.org/schema' }],
    ['a reference to nothing', { $ref: '#/$defs/None' }],
    [
      'a schema that contains itself',
      { $ref: '#/$defs/Node', $defs: { Node: { type: 'object', properties: { next: { $ref: '#/$defs/Node' } } } } },
    ],
    ['an unknown type', { type: 'date' }],
  ])('%s', (_, schema) => {
    expect(converted(schema)).toBeUndefined();
  });
});
