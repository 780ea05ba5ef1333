import type { JsonObject, Model, ModelRequest, ToolSpec } from '@guardloop/core/model';
import { collect } from '@guardloop/core/model';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { checkMessagesRequest } from '../../testing/src/requests/anthropic.js';
import type { Reply } from '../test/fake-api.js';
import { answer, callOf, FakeApi, request, textOf, user } from '../test/fake-api.js';
import { anthropic } from './anthropic.js';
import { answerRules, answerSchema, StrictBudget, toolRules } from './strict-schema.js';

function converted(schema: JsonObject): JsonObject | undefined {
  const result = answerSchema(schema, new StrictBudget());
  if (result !== undefined) {
    const format = { type: 'json_schema', schema: result };
    expect(
      checkMessagesRequest({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'hi' }], output_config: { format } }),
    ).toEqual([]);
  }
  return result;
}

describe('what the subset can say', () => {
  it('objects are closed, fields may be left out, and bounds become words', () => {
    const schema: JsonObject = {
      type: 'object',
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 9, description: 'A name.' },
        when: { type: 'string', format: 'date-time' },
        mail: { type: 'string', format: 'cuid' },
        count: { type: 'integer', minimum: -9_007_199_254_740_991, maximum: 9_007_199_254_740_991, default: 1 },
        tags: { type: 'array', items: { type: 'string' }, maxItems: 3 },
        note: { type: ['string', 'null'] },
      },
      required: ['name'],
    };
    expect(converted(schema)).toEqual({
      type: 'object',
      properties: {
        name: { type: 'string', description: 'A name. (minLength: 1, maxLength: 9)' },
        when: { type: 'string', format: 'date-time' },
        mail: { type: 'string', description: '(format: "cuid")' },
        count: { type: 'integer', default: 1 },
        tags: { type: 'array', items: { type: 'string' }, description: '(maxItems: 3)' },
        note: { type: ['string', 'null'] },
      },
      required: ['name'],
      additionalProperties: false,
    });
  });

  it('unions, literals and references, at the root too', () => {
    const place: JsonObject = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const home: JsonObject = {
      type: 'object',
      properties: { kind: { const: 'home' }, at: { $ref: '#/$defs/place' } },
      required: ['kind', 'at'],
    };
    expect(
      converted({
        oneOf: [home, { type: 'object', properties: { kind: { enum: ['none', 'any'] } }, required: ['kind'] }],
        $defs: { place },
      }),
    ).toEqual({
      anyOf: [
        {
          type: 'object',
          properties: { kind: { type: 'string', const: 'home' }, at: { $ref: '#/$defs/place' } },
          required: ['kind', 'at'],
          additionalProperties: false,
        },
        {
          type: 'object',
          properties: { kind: { type: 'string', enum: ['none', 'any'] } },
          required: ['kind'],
          additionalProperties: false,
        },
      ],
      $defs: { place: { ...place, additionalProperties: false } },
    });
  });

  it.each<readonly [string, JsonObject]>([
    ['a record', { type: 'object', additionalProperties: { type: 'number' } }],
    ['an open object', { type: 'object', properties: {}, additionalProperties: true }],
    ['a tuple', { type: 'array', prefixItems: [{ type: 'string' }] }],
    ['an array of anything', { type: 'array' }],
    ['anything at all', {}],
    [
      'a schema that contains itself',
      { $ref: '#/$defs/node', $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } } },
    ],
    ['more fields that may be left out than are taken', { type: 'object', properties: fields(25) }],
    [
      'more unions than are taken',
      { type: 'object', properties: fields(17, { type: ['string', 'null'] }), required: Object.keys(fields(17)) },
    ],
  ])('but not: %s', (_, schema) => {
    expect(converted(schema)).toBeUndefined();
  });
});

function fields(count: number, field: JsonObject = { type: 'string' }): JsonObject {
  return Object.fromEntries(Array.from({ length: count }, (_item, index) => [`f${index}`, field]));
}
const toolOf = (
  name: string,
  properties: JsonObject,
  more: Partial<ToolSpec> & { readonly required?: readonly string[] } = {},
): ToolSpec => {
  const { required = [], ...rest } = more;
  return { name, description: '', schema: { type: 'object', properties, required }, ...rest };
};

describe('S167: strict tools', () => {
  let api: FakeApi;
  beforeAll(async () => {
    api = await FakeApi.start();
  });
  afterEach(() => {
    expect(api.problems.splice(0)).toEqual([]);
    api.dropScript();
  });
  afterAll(() => api.stop());

  const claude = (options: Parameters<typeof anthropic>[1] = {}, id = 'claude-opus-4-8'): Model =>
    anthropic(id, { apiKey: 'k', baseURL: api.baseURL, maxRetries: 0, ...options });
  async function ask(model: Model, more: Partial<ModelRequest>, ...replies: readonly Reply[]) {
    api.script(...(replies.length === 0 ? [answer(textOf('ok'))] : replies));
    const events = [];
    for await (const event of model.stream(request([user('hi')], more), { signal: new AbortController().signal })) events.push(event);
    return {
      events,
      tools: api.last.tools as readonly { readonly name: string; readonly strict?: boolean; readonly input_schema: JsonObject }[],
    };
  }
  const strictNames = (tools: Awaited<ReturnType<typeof ask>>['tools']): readonly string[] =>
    tools.filter(({ strict }) => strict === true).map(({ name }) => name);
  const tooComplex: Reply = (response) => {
    response.writeHead(400, { 'content-type': 'application/json' });
    const message = 'The compiled grammar is too large, which would cause performance issues. Simplify your tool schemas.';
    response.end(JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } }));
  };

  it('are those whose schema the API can hold a model to, in its form', async () => {
    const record = { type: 'object', properties: {}, additionalProperties: { type: 'string' } } as const;
    const tools = [
      toolOf('find', { id: { type: 'string', minLength: 3 } }),
      { ...toolOf('tag', {}), schema: record },
      toolOf('loose', { id: { type: 'string' } }, { strict: false }),
    ];
    const { tools: sent } = await ask(claude(), { tools });
    expect(sent).toEqual([
      {
        name: 'find',
        input_schema: {
          type: 'object',
          properties: { id: { type: 'string', description: '(minLength: 3)' } },
          additionalProperties: false,
        },
        strict: true,
      },
      { name: 'tag', input_schema: record },
      { name: 'loose', input_schema: { type: 'object', properties: { id: { type: 'string' } }, required: [] } },
    ]);
  });

  it('go as far as the limits of a request, those that must be strict and the answer first', async () => {
    const many = Array.from({ length: 25 }, (_, index) => toolOf(`t${index}`, {}));
    expect(strictNames((await ask(claude(), { tools: many })).tools)).toHaveLength(20);
    const wide = [toolOf('a', fields(13)), toolOf('b', fields(13)), toolOf('c', fields(2)), toolOf('d', fields(10), { strict: true })];
    expect(strictNames((await ask(claude(), { tools: wide })).tools)).toEqual(['a', 'd']);
    const output = { name: 'o', schema: { type: 'object', properties: fields(14) } };
    expect(strictNames((await ask(claude(), { tools: wide, output }, answer(textOf('{}')))).tools)).toEqual(['d']);
    expect(api.last.output_config).toBeDefined();
  });

  it('are refused before any request where one must be strict and cannot be', async () => {
    const before = api.seen.length;
    const refusal = (tools: readonly ToolSpec[]) =>
      collect(claude().stream(request([user('hi')], { tools }), { signal: new AbortController().signal }));
    await expect(refusal([toolOf('any', { a: {} }, { strict: true })])).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('a (type). Anything fits it.'),
    });
    const wide = [toolOf('a', fields(20), { strict: true }), toolOf('b', fields(20), { strict: true })];
    await expect(refusal(wide)).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringMatching(/^Tool b .*24 fields/) });
    expect(api.seen.length).toBe(before);
  });

  it('are sent by models that can be held to a schema, to the API itself, and where it is said', async () => {
    const tools = [toolOf('find', { id: { type: 'string' } })];
    const held = async (...given: Parameters<typeof claude>): Promise<boolean> =>
      strictNames((await ask(claude(...given), { tools })).tools).length > 0;
    expect([await held(), await held({}, 'claude-haiku-4-5'), await held({}, 'claude-opus-4-1'), await held({}, 'glm-5')]).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect([await held({ strictTools: false }), await held({ strictTools: true }, 'glm-5')]).toEqual([false, true]);
    const { events } = await ask(claude({ strictTools: false }), { tools: [toolOf('find', {}, { strict: true })] });
    expect(events[0]).toMatchObject({ type: 'warning', about: 'schema', message: expect.stringContaining('Tool find') });
  });

  it('are told by the model', () => {
    expect(claude().strictRules).toEqual({ tools: toolRules, output: answerRules });
    expect(claude({}, 'claude-3-7-sonnet-latest').strictRules).toEqual({});
    expect(claude({ strictTools: false, structuredOutput: 'prompt' }).strictRules).toEqual({});
  });

  it('go without, all but those that must, where the API finds them too complex together: at once, and from then on', async () => {
    const model = claude();
    const tools = [toolOf('a', fields(2)), toolOf('b', fields(2), { strict: true })];
    const output = { name: 'o', schema: { type: 'object', properties: { n: { type: 'number' } } } };
    const before = api.seen.length;
    const first = await ask(model, { tools, output }, tooComplex, answer(callOf('c1', 'a')));
    expect(api.seen.slice(before).map(({ body }) => [strictNames(body.tools as never), body.output_config !== undefined])).toEqual([
      [['a', 'b'], true],
      [['b'], false],
    ]);
    expect(JSON.stringify(api.last.system)).toContain('JSON Schema');
    expect(first.events).toMatchObject([
      { type: 'retry', attempt: 1 },
      { type: 'tool.delta' },
      { type: 'tool.call' },
      { type: 'end', usage: { requests: 2 } },
    ]);
    const second = await ask(model, { tools, output });
    expect(strictNames(second.tools)).toEqual(['b']);
    expect(second.events[0]).toMatchObject({ type: 'warning', about: 'schema', message: expect.stringContaining('too complex together') });
    expect((await ask(model, { tools, output })).events.some(({ type }) => type === 'warning')).toBe(false);
    expect(strictNames((await ask(model, { tools: [toolOf('c', {})] })).tools)).toEqual(['c']);
  });

  it('fail with what to do where they must be strict and are too complex', async () => {
    const tools = [toolOf('b', fields(2), { strict: true })];
    api.script(tooComplex);
    await expect(
      collect(claude().stream(request([user('hi')], { tools }), { signal: new AbortController().signal })),
    ).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      message: expect.stringContaining('strictTools'),
    });
  });
});
