import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Model } from '../model/types.js';
import { defineAgent } from './agent.js';
import { asTool } from './as-tool.js';
import { agentSpecOf, toolSpecOf } from './definition.js';

const model: Model = { id: 'none', provider: 'none', async *stream() {} };
const faq = defineAgent({ name: 'faq', instructions: '', model });
const make = asTool as unknown as (...given: unknown[]) => unknown;
const specOf = (...given: unknown[]) => toolSpecOf(make(...given), 'It');
const invalid = (message: string) => expect.objectContaining({ code: 'CONFIG_INVALID', message });
const fits = { name: 'ask_faq', description: 'Ask.' };

test('an agent as a tool takes a text', async () => {
  const spec = specOf(faq, fits);
  expect(spec.input.json).toEqual({
    type: 'object',
    properties: { input: { type: 'string' } },
    required: ['input'],
    additionalProperties: false,
  });
  expect(await spec.input.parse({ input: 'hello' })).toEqual({ ok: true, value: { input: 'hello' } });
  expect(await spec.input.parse({ input: 3 })).toMatchObject({ ok: false });
  expect(await spec.input.parse({})).toMatchObject({ ok: false });
});

test('it keeps the agent, and nobody runs it but the loop', () => {
  const spec = specOf(faq, fits);
  expect(spec).toStrictEqual({
    kind: 'tool',
    ...fits,
    input: spec.input,
    output: undefined,
    approval: false,
    execute: undefined,
    project: undefined,
    guardrails: [],
    flow: { effect: 'write', results: 'untrusted', authority: 'all', declared: false },
    timeoutMs: undefined,
    retry: undefined,
    repeatable: false,
    declaredRepeatable: false,
    polling: false,
    enabled: true,
    rejection: undefined,
    endsRun: false,
    strict: 'auto',
    agent: {
      agent: agentSpecOf(faq, 'It'),
      brief: expect.any(Function),
      limits: {},
      stream: false,
      result: undefined,
      sharesEffects: false,
    },
  });
  expect(spec.agent?.agent).toBe(agentSpecOf(faq, 'It'));
  for (const part of [spec, spec.guardrails, spec.agent, spec.agent?.limits]) expect(Object.isFrozen(part)).toBe(true);
  expect({ ...(make(faq, fits) as object) }).toEqual(fits);
});

test('it keeps what is said', () => {
  const [project, brief] = [() => '', () => ''];
  const limits = { turns: 2, ms: undefined };
  const spec = specOf(faq, { ...fits, project, brief, limits, stream: true });
  expect(spec).toMatchObject({ project, agent: { brief, stream: true } });
  expect(spec.agent?.limits).toStrictEqual({ turns: 2 });
});

test('the brief is the input text, else the JSON of the arguments, else what the author makes of them', () => {
  const briefOf = (options: object, input: unknown) => specOf(faq, { ...fits, ...options }).agent?.brief(input as never);
  const input = z.object({ question: z.string() });
  expect(briefOf({}, { input: 'hello' })).toBe('hello');
  expect(briefOf({}, { input: '' })).toBe('');
  expect(briefOf({ input }, { question: 'why?' })).toBe('{"question":"why?"}');
  expect(briefOf({ input, brief: ({ question }: { question: string }) => question }, { question: 'why?' })).toBe('why?');
});

test.each([
  ['turns', 1, 0],
  ['toolCalls', 0, -1],
  ['handoffs', 0, -1],
  ['repairs', 0, -1],
  ['repeats', 1, 0],
])('of the child, %s may be %s, and not %s, nor half of one', (name, least, less) => {
  for (const value of [least, least + 1, Number.POSITIVE_INFINITY])
    expect(specOf(faq, { ...fits, limits: { [name]: value } }).agent?.limits).toEqual({ [name]: value });
  for (const [value, described] of [
    [less, String(less)],
    [1.5, '1.5'],
    [Number.NEGATIVE_INFINITY, '-Infinity'],
    ['3', '"3"'],
    [null, 'null'],
  ])
    expect(() => make(faq, { ...fits, limits: { [name]: value } })).toThrow(
      invalid(`\`limits\` of tool ask_faq has ${described} as \`${name}\`. Give a whole number from ${least}, or Infinity for no limit.`),
    );
});

test.each(['tokens', 'cost', 'ms'])('of the child, %s may be any number above 0', (name) => {
  for (const value of [0.001, 1, 2.5, Number.POSITIVE_INFINITY])
    expect(specOf(faq, { ...fits, limits: { [name]: value } }).agent?.limits).toEqual({ [name]: value });
  for (const [value, described] of [
    [0, '0'],
    [-1, '-1'],
    ['3', '"3"'],
  ])
    expect(() => make(faq, { ...fits, limits: { [name]: value } })).toThrow(
      invalid(`\`limits\` of tool ask_faq has ${described} as \`${name}\`. Give a number above 0, or Infinity for no limit.`),
    );
});

test('limits of the child are kept, Infinity and the zeros that make sense among them', () => {
  const limits = {
    turns: 2,
    toolCalls: 0,
    tokens: 100.5,
    cost: 0.5,
    ms: 60_000,
    handoffs: 0,
    repairs: 0,
    repeats: Number.POSITIVE_INFINITY,
  };
  expect(specOf(faq, { ...fits, limits }).agent?.limits).toEqual(limits);
});

test.each<[string, unknown[], string]>([
  ['no agent', [undefined, fits], 'The first argument of asTool is undefined. Expected an agent made by defineAgent.'],
  [
    'no options',
    [faq],
    'A tool was given undefined as its options. Give an object with name, description, input, brief, limits, stream, result, effects, project.',
  ],
  [
    'no name',
    [faq, { description: '' }],
    "A tool has undefined as `name`, which the model's provider would refuse. Give 1 to 64 letters, digits, underscores and hyphens.",
  ],
  ['no description', [faq, { name: 'ask_faq' }], 'Tool ask_faq has undefined as `description`. Give a text.'],
  [
    'a misspelt option',
    [faq, { ...fits, limit: {} }],
    'Tool ask_faq has an option "limit", which does not exist. Did you mean limits? The options are name, description, input, brief, limits, stream, result, effects, project.',
  ],
  ['a brief that is a text', [faq, { ...fits, brief: 'x' }], 'Tool ask_faq has "x" as `brief`. Give a function, or leave it out.'],
  ['a stream that is no boolean', [faq, { ...fits, stream: 1 }], 'Tool ask_faq has 1 as `stream`. Give true or false, or leave it out.'],
  [
    'limits that are a number',
    [faq, { ...fits, limits: 3 }],
    '`limits` of tool ask_faq was given 3 as its options. Give an object with turns, toolCalls, tokens, cost, ms, handoffs, repairs, repeats.',
  ],
  [
    'a misspelt limit',
    [faq, { ...fits, limits: { turn: 3 } }],
    '`limits` of tool ask_faq has an option "turn", which does not exist. Did you mean turns? The options are turns, toolCalls, tokens, cost, ms, handoffs, repairs, repeats.',
  ],
  [
    'no turns at all',
    [faq, { ...fits, limits: { turns: 0 } }],
    '`limits` of tool ask_faq has 0 as `turns`. Give a whole number from 1, or Infinity for no limit.',
  ],
  [
    'half a turn',
    [faq, { ...fits, limits: { turns: 1.5 } }],
    '`limits` of tool ask_faq has 1.5 as `turns`. Give a whole number from 1, or Infinity for no limit.',
  ],
  [
    'a limit that is no number',
    [faq, { ...fits, limits: { ms: Number.NaN } }],
    '`limits` of tool ask_faq has NaN as `ms`. Give a number above 0, or Infinity for no limit.',
  ],
  [
    'no time at all',
    [faq, { ...fits, limits: { ms: 0 } }],
    '`limits` of tool ask_faq has 0 as `ms`. Give a number above 0, or Infinity for no limit.',
  ],
  ['another word for effects', [faq, { ...fits, effects: 'none' }], "Tool ask_faq has \"none\" as `effects`. Give 'apart' or 'shared'."],
])('%s is refused', (_what, given, message) => {
  expect(() => make(...given)).toThrow(invalid(message));
});

test('an input that is null is no schema', () => {
  expect(() => make(faq, { ...fits, input: null })).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(/^The input of tool ask_faq /) }),
  );
});

test('a child that hands over to nobody is refused', () => {
  const lost = defineAgent({ name: 'lost', instructions: '', model, handoffs: ['nobody'] });
  expect(() => make(lost, fits)).toThrow(
    invalid(
      'Agent lost hands over to nobody, but no agent of that name can be reached from agent lost. Reachable are lost. Correct the name, or let an agent on the way hand over to it.',
    ),
  );
});
