import type { JsonObject } from '@guardloop/core';

const text: JsonObject = { type: 'string', minLength: 1 };
const texts: JsonObject = { type: 'array', items: text, minItems: 1 };
const oneOrMore: JsonObject = { anyOf: [text, texts] };
const scalar: JsonObject = { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] };
const scalars: JsonObject = { type: 'array', items: scalar, minItems: 1 };
const reference: JsonObject = {
  description: 'Taken from the context, or from another argument of the call.',
  anyOf: [
    { type: 'object', properties: { context: text }, required: ['context'], additionalProperties: false },
    { type: 'object', properties: { field: text }, required: ['field'], additionalProperties: false },
  ],
};
const orReference = (...schemas: readonly JsonObject[]): JsonObject => ({ anyOf: [...schemas, reference] });
const integrity: JsonObject = { enum: ['trusted', 'untrusted'] };
const effect: JsonObject = { enum: ['none', 'read', 'write', 'send'] };
const action: JsonObject = { enum: ['allow', 'ask', 'deny', 'halt'] };
const toolName: JsonObject = { type: 'string', pattern: '^[a-zA-Z0-9_*-]{1,64}$' };
const toolNames: JsonObject = { anyOf: [toolName, { type: 'array', items: toolName, minItems: 1 }] };
const count: JsonObject = { type: 'integer', minimum: 0 };
const described = (description: string, schema: JsonObject): JsonObject => ({ description, ...schema });

const values: { readonly [name: string]: JsonObject } = {
  equals: orReference(scalar),
  oneOf: orReference(scalars),
  noneOf: orReference(scalars),
  atMost: orReference({ type: 'number' }),
  atLeast: orReference({ type: 'number' }),
  above: orReference({ type: 'number' }),
  below: orReference({ type: 'number' }),
  matches: described('An expression of RE2 that the whole text fits.', text),
  finds: described('An expression of RE2 that a piece of the text fits.', text),
  startsWith: orReference(text, texts),
  endsWith: orReference(text, texts),
  contains: orReference(text, texts),
  within: described('Folders, as absolute paths.', orReference(text, texts)),
  url: {
    type: 'object',
    properties: {
      hosts: described('Host names, or *.shop.example for every host below one.', texts),
      schemes: described('Default: https.', texts),
      ports: { type: 'array', items: { type: 'integer', minimum: 1, maximum: 65_535 }, minItems: 1 },
    },
    required: ['hosts'],
    additionalProperties: false,
  },
  lengthAtMost: count,
  lengthAtLeast: count,
  present: described('Whether there is a value that is not null.', { type: 'boolean' }),
};
const valueNames = Object.keys(values);
const selectors = ['field', 'every', 'some', 'context'] as const;

const during: JsonObject = {
  type: 'object',
  properties: {
    days: { type: 'array', items: { enum: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] }, minItems: 1 },
    from: { type: 'string', pattern: '^\\d\\d:\\d\\d$' },
    to: { type: 'string', pattern: '^\\d\\d:\\d\\d$' },
    zone: described('An IANA zone such as Europe/Berlin, or UTC.', text),
  },
  required: ['zone'],
  additionalProperties: false,
};

const condition: JsonObject = {
  description: 'All that is written must hold.',
  type: 'object',
  minProperties: 1,
  properties: {
    field: described('A path in the arguments: cents, to.address, items[0].id.', text),
    every: described('A path through lists, orders[].total: each value must pass.', text),
    some: described('A path through lists, orders[].total: one value must pass.', text),
    context: described('A path in what the context gives.', text),
    ...values,
    ignoreCase: { type: 'boolean' },
    effect: { anyOf: [effect, { type: 'array', items: effect, minItems: 1 }] },
    results: integrity,
    declared: { type: 'boolean' },
    view: integrity,
    call: integrity,
    untrustedReads: { anyOf: [{ type: 'boolean' }, ...(toolNames.anyOf as readonly JsonObject[])] },
    agent: oneOrMore,
    only: described('The call has no other arguments than these.', texts),
    during,
    cel: described('An expression of CEL.', text),
    all: { type: 'array', items: { $ref: '#/$defs/condition' }, minItems: 1 },
    any: { type: 'array', items: { $ref: '#/$defs/condition' }, minItems: 1 },
    not: { $ref: '#/$defs/condition' },
  },
  additionalProperties: false,
  // A test needs a value to look at, and a value a test.
  allOf: [
    {
      anyOf: [
        { not: { anyOf: [...valueNames, 'ignoreCase'].map((name) => ({ required: [name] })) } },
        { anyOf: selectors.map((name) => ({ required: [name] })) },
      ],
    },
    {
      anyOf: [
        { not: { anyOf: selectors.map((name) => ({ required: [name] })) } },
        { anyOf: valueNames.map((name) => ({ required: [name] })) },
      ],
    },
  ],
};

const per: JsonObject = {
  description: 'run, or a duration such as PT1H or P1D.',
  type: 'string',
  pattern: '^(run|P(\\d+W|(\\d+D)?(T(\\d+H)?(\\d+M)?(\\d+S)?)?))$',
};
const over: JsonObject = { enum: ['deny', 'ask', 'halt', 'next'], default: 'deny' };
const limit: JsonObject = {
  type: 'object',
  properties: { calls: count, per, over, by: text },
  required: ['calls', 'per'],
  additionalProperties: false,
};
const spend: JsonObject = {
  type: 'object',
  properties: { field: text, atMost: { type: 'number', minimum: 0 }, per, over, by: text },
  required: ['field', 'atMost', 'per'],
  additionalProperties: false,
};
const oneOrList = (schema: JsonObject): JsonObject => ({ anyOf: [schema, { type: 'array', items: schema }] });

/** JSON Schema (draft 2020-12) of {@link PolicyData}: for editors, and checks before a deployment. What it lets through, `policyFrom` still checks. */
export const policySchema: JsonObject = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Guardloop policy',
  description: 'Rules about tool calls. They are tried in order; the first that fits answers, else otherwise.',
  type: 'object',
  properties: {
    $schema: { type: 'string' },
    name: described('Unique among the guardrails that stand together.', text),
    description: text,
    version: text,
    rules: {
      type: 'array',
      maxItems: 1_000,
      items: {
        type: 'object',
        properties: {
          name: text,
          tool: described("A tool's name, a pattern such as find_*, or several.", toolNames),
          when: { $ref: '#/$defs/condition' },
          during,
          limit: oneOrList(limit),
          spend: oneOrList(spend),
          then: action,
          reason: described('Read by the model and by people.', text),
        },
        required: ['tool', 'then'],
        additionalProperties: false,
      },
    },
    otherwise: {
      anyOf: [action, { type: 'object', properties: { then: action, reason: text }, required: ['then'], additionalProperties: false }],
    },
  },
  required: ['name', 'rules', 'otherwise'],
  additionalProperties: false,
  $defs: { condition },
};
