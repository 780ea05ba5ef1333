import type { JsonObject } from '@guardloop/core/model';
import { strictForm } from '@guardloop/core/model';
import { expect, test } from 'vitest';
import { strictProblems } from '../../../testing/src/requests/openai-schema.js';
import { openai } from '../chat/model.js';
import { openaiResponses } from '../responses/model.js';
import { strictRules } from './strict-schema.js';

const wide = strictRules(true);
const narrow = strictRules('narrow');
if (wide === undefined || narrow === undefined) throw new Error('there are no rules');

function object(properties: JsonObject, required: readonly string[] = Object.keys(properties)): JsonObject {
  return { type: 'object', properties, required };
}
const text = { type: 'string' };
const order = object(
  {
    id: { type: 'string', format: 'uuid', pattern: '^[0-9a-f-]{36}$' },
    count: { type: 'integer', minimum: 1, maximum: 9_007_199_254_740_991, default: 1 },
    code: { type: 'string', pattern: '^(?!x)', maxLength: 9 },
    site: { type: 'string', format: 'uri' },
    from: { $ref: '#/$defs/place', description: 'Start.' },
    how: { oneOf: [object({ kind: { const: 'mail' } }), object({ kind: { const: 'van' }, note: text }, ['kind'])] },
  },
  ['id', 'how'],
);

test('the subset takes no default, nothing beside a reference, and no pattern that looks around', () => {
  const form = strictForm({ ...order, $defs: { place: object({ city: text }) } }, wide);
  expect(form).toMatchObject({
    isStrict: true,
    schema: {
      properties: {
        id: { type: 'string', format: 'uuid', description: '(pattern: "^[0-9a-f-]{36}$")' },
        count: { type: ['integer', 'null'], minimum: 1, description: '(default: 1)' },
        code: { type: ['string', 'null'], description: '(pattern: "^(?!x)", maxLength: 9)' },
        site: { type: ['string', 'null'], description: '(format: "uri")' },
        from: { anyOf: [{ $ref: '#/$defs/place' }, { type: 'null' }], description: 'Start.' },
        how: {
          anyOf: [
            { properties: { kind: { const: 'mail' } } },
            { properties: { kind: { const: 'van' }, note: { type: ['string', 'null'] } } },
          ],
        },
      },
      required: ['id', 'count', 'code', 'site', 'from', 'how'],
    },
  });
  if (form.isStrict) expect(strictProblems(form.schema)).toEqual([]);
});

test('the narrow subset says bounds in words and has less of everything', () => {
  const form = strictForm({ ...order, $defs: { place: object({ city: text }) } }, narrow);
  expect(form).toMatchObject({
    isStrict: true,
    schema: {
      properties: {
        id: { description: '(format: "uuid", pattern: "^[0-9a-f-]{36}$")' },
        count: { description: '(minimum: 1, default: 1)' },
      },
    },
  });
  const nested = (depth: number): JsonObject => (depth === 1 ? text : object({ inner: nested(depth - 1) }));
  expect([5, 6, 10, 11].map((depth) => [wide, narrow].map((rules) => strictForm(nested(depth), rules).isStrict))).toEqual([
    [true, true],
    [true, false],
    [true, false],
    [false, false],
  ]);
});

test('a model tells what it can be held to', () => {
  for (const make of [openai, openaiResponses]) {
    expect(make('gpt-5').strictRules).toEqual({ tools: wide, output: wide });
    expect(make('gpt-5', { strictSchemas: 'narrow' }).strictRules).toEqual({ tools: narrow, output: narrow });
    expect(make('gpt-5', { strictSchemas: false }).strictRules).toBeUndefined();
  }
  expect(openai('gpt-5', { dialect: 'azure' }).strictRules).toEqual({ tools: narrow, output: narrow });
  expect(openai('gpt-5', { structuredOutput: 'json_object' }).strictRules).toEqual({ tools: wide });
});
