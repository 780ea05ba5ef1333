import { expect, test } from 'vitest';
import { z } from 'zod';
import * as mini from 'zod/mini';
import { guardrailSpecOf, toolSpecOf } from './definition.js';
import { defineGuardrail } from './guardrail.js';
import { definePolicy } from './policy.js';
import { defineTool, refuseUnknownRules } from './tool.js';
import { allow } from './verdict.js';

const define = defineTool as (def: unknown) => ReturnType<typeof defineTool>;
const specOf = (def: unknown) => toolSpecOf(define(def), 'It');
const invalid = (message: string) => expect.objectContaining({ code: 'CONFIG_INVALID', message });
const execute = () => 'done';
const fits = { name: 'refund_order', description: 'Refund.', input: z.object({ orderId: z.string(), cents: z.number() }), execute };
const guardrail = (on: readonly string[], more: object = {}) =>
  (defineGuardrail as (def: unknown) => unknown)({ name: 'g', on, check: () => allow(), ...more });

test('a tool shows its name and description, and hides the rest', () => {
  const tool = define(fits);
  expect({ ...tool }).toEqual({ name: 'refund_order', description: 'Refund.' });
  expect(Object.isFrozen(tool)).toBe(true);
});

test('what is not said has its default, and the strictest flow', () => {
  expect(specOf(fits)).toMatchObject({
    output: undefined,
    approval: false,
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
    agent: undefined,
  });
});

test('S223: a value that is falsy counts as given', () => {
  const spec = specOf({
    ...fits,
    description: '',
    rejection: '',
    approval: false,
    repeatable: false,
    polling: false,
    enabled: false,
    flow: { effect: 'read', authority: [] },
  });
  expect(spec).toMatchObject({
    description: '',
    rejection: '',
    approval: false,
    repeatable: false,
    enabled: false,
    flow: { authority: [] },
  });
});

test.each([
  [undefined, undefined, false],
  [undefined, true, true],
  [{ effect: 'read' }, undefined, true],
  [{ effect: 'none' }, undefined, true],
  [{ effect: 'read' }, false, false],
  [{ effect: 'write' }, undefined, false],
  [{ effect: 'send' }, true, true],
  [{ results: 'trusted' }, undefined, false],
])('with the flow %j and repeatable %s, it may run twice: %s', (flow, given, repeatable) => {
  expect(specOf({ ...fits, flow, repeatable: given })).toMatchObject({ repeatable, declaredRepeatable: given === true });
});

test('only a flow that says its effect is declared', () => {
  expect(specOf({ ...fits, flow: { results: 'trusted' } }).flow).toEqual({
    effect: 'write',
    results: 'trusted',
    authority: 'all',
    declared: false,
  });
  expect(specOf({ ...fits, flow: { effect: 'send', authority: ['cents'] } }).flow).toEqual({
    effect: 'send',
    results: 'untrusted',
    authority: ['cents'],
    declared: true,
  });
});

test('S219: zod, zod/mini, another library and plain JSON Schema are all taken, by their shape', async () => {
  const standard = {
    '~standard': {
      version: 1,
      vendor: 'other',
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: () => ({ type: 'object', properties: { a: { type: 'string' } } }) },
    },
  };
  const json = { type: 'object', properties: { a: { type: 'string' } } };
  for (const input of [z.object({ a: z.string() }), mini.object({ a: mini.string() }), standard, json]) {
    const spec = specOf({ ...fits, input });
    expect(await spec.input.parse({ a: 'x' })).toEqual({ ok: true, value: { a: 'x' } });
    await expect.poll(() => spec.input.json).toMatchObject({ type: 'object', properties: { a: { type: 'string' } } });
  }
});

test.each<[unknown]>([['text'], [3], [null], [[]], [class {}], [{ a: z.string() }], [new Date()], [{}]])(
  'S219: an input that is no schema is refused where the tool is defined: %o',
  (input) => {
    expect(() => define({ ...fits, input })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(/^The input of tool refund_order /) }),
    );
  },
);

test('an input whose root is no object is refused', () => {
  for (const input of [z.string(), z.array(z.string()), { type: 'string' }]) {
    expect(() => define({ ...fits, input })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(/^The input of tool refund_order .*object/) }),
    );
  }
});

test('an input with what JSON Schema cannot express is refused', () => {
  expect(() => define({ ...fits, input: z.object({ at: z.date() }) })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
});

test('an output that is no schema is refused with its place', () => {
  expect(() => define({ ...fits, output: 'text' })).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(/^The output of tool refund_order is a string, /) }),
  );
});

test('what the caller runs has no execute; the end of the run and a deadline go with one', () => {
  expect(specOf({ ...fits, execute: undefined })).toMatchObject({ execute: undefined, endsRun: false, timeoutMs: undefined });
  expect(specOf({ ...fits, endsRun: true, timeoutMs: 5 })).toMatchObject({ execute, endsRun: true, timeoutMs: 5 });
});

test('its own guardrails stand on either side of it', () => {
  for (const on of [['toolInput'], ['toolOutput'], ['toolInput', 'toolOutput']])
    expect(specOf({ ...fits, guardrails: [guardrail(on)] }).guardrails[0]?.on).toEqual(on);
});

test('authority names arguments of any branch of a schema, and anything where it lets in other fields', () => {
  const open = { type: 'object', anyOf: [{ properties: { a: {} } }, { properties: { b: {} }, additionalProperties: true }] };
  const referring = { type: 'object', properties: { a: {} }, anyOf: [{ $ref: '#/$defs/b' }], $defs: { b: { properties: { b: {} } } } };
  expect(specOf({ ...fits, input: open, flow: { authority: ['c'] } }).flow.authority).toEqual(['c']);
  expect(specOf({ ...fits, input: referring, flow: { authority: ['a', 'b'] } }).flow.authority).toEqual(['a', 'b']);
  expect(() => define({ ...fits, input: referring, flow: { authority: ['c'] } })).toThrow(
    invalid('`flow.authority` of tool refund_order names "c", which is no argument of it. Did you mean a? Its arguments are a, b.'),
  );
  const late = mini.object({ a: mini.string() });
  expect(specOf({ ...fits, input: late, flow: { authority: ['c'] } }).flow.authority).toEqual(['c']);
});

test('authority names arguments as texts', () => {
  expect(() => define({ ...fits, flow: { authority: [3] } })).toThrow(
    invalid('`flow.authority` of tool refund_order names 3, which is no argument of it. Its arguments are orderId, cents.'),
  );
  expect(() => define({ ...fits, input: { type: 'object' }, flow: { authority: [3] } })).toThrow(
    invalid('`flow.authority` of tool refund_order names 3, which is no argument of it. Give names of arguments.'),
  );
});

test('an output need not be an object', () => {
  expect(specOf({ ...fits, output: z.string() }).output?.json).toMatchObject({ type: 'string' });
});

test('authority names arguments, in unions and recursive schemas too', () => {
  const union = z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('iban'), iban: z.string() }),
    z.object({ kind: z.literal('card'), card: z.string() }),
  ]);
  const Tree = z.object({
    name: z.string(),
    get children() {
      return z.array(Tree);
    },
  });
  const open = { type: 'object', additionalProperties: true, properties: { a: {} } };
  expect(specOf({ ...fits, input: union, flow: { authority: ['iban', 'card'] } }).flow.authority).toEqual(['iban', 'card']);
  expect(specOf({ ...fits, input: Tree, flow: { authority: ['name'] } }).flow.authority).toEqual(['name']);
  expect(specOf({ ...fits, input: open, flow: { authority: ['b'] } }).flow.authority).toEqual(['b']);
  expect(() => define({ ...fits, input: union, flow: { authority: ['ibann'] } })).toThrow(
    invalid(
      '`flow.authority` of tool refund_order names "ibann", which is no argument of it. Did you mean iban? Its arguments are kind, iban, card.',
    ),
  );
  expect(() => define({ ...fits, input: Tree, flow: { authority: ['nam'] } })).toThrow(/Did you mean name\?/);
});

test('changing what was given changes nothing', () => {
  const def = { ...fits, flow: { effect: 'send', authority: ['cents'] }, guardrails: [guardrail(['toolInput'])] };
  const spec = specOf(def);
  def.flow.effect = 'none';
  def.flow.authority.push('orderId');
  def.guardrails.pop();
  def.execute = () => 'changed';
  expect(spec).toMatchObject({ flow: { effect: 'send', authority: ['cents'] }, execute });
  expect(spec.guardrails).toHaveLength(1);
  for (const part of [spec, spec.flow, spec.flow.authority, spec.guardrails]) expect(Object.isFrozen(part)).toBe(true);
});

const options =
  'name, description, input, output, execute, approval, project, guardrails, flow, timeoutMs, retry, repeatable, polling, enabled, rejection, endsRun, strict';
const nameRule = "which the model's provider would refuse. Give 1 to 64 letters, digits, underscores and hyphens.";
test.each<[string, unknown, string]>([
  ['no options', 'refund', `A tool was given "refund" as its options. Give an object with ${options}.`],
  ['a list', [fits], `A tool was given a list as its options. Give an object with ${options}.`],
  ['no name', { ...fits, name: undefined }, `A tool has undefined as \`name\`, ${nameRule}`],
  ['a name with a space', { ...fits, name: 'refund order' }, `Tool refund order has "refund order" as \`name\`, ${nameRule}`],
  ['a name that is too long', { ...fits, name: 'x'.repeat(65) }, `Tool ${'x'.repeat(65)} has a long text as \`name\`, ${nameRule}`],
  ['a name that is a number', { ...fits, name: 3 }, `A tool has 3 as \`name\`, ${nameRule}`],
  ['no description', { ...fits, description: undefined }, 'Tool refund_order has undefined as `description`. Give a text.'],
  ['no input', { ...fits, input: undefined }, 'Tool refund_order has no `input`. Give a schema of its arguments; z.object({}) for none.'],
  [
    'a misspelt execute',
    { ...fits, execute: undefined, exectue: execute },
    `Tool refund_order has an option "exectue", which does not exist. Did you mean execute? The options are ${options}.`,
  ],
  [
    'an execute that is no function',
    { ...fits, execute: {} },
    'Tool refund_order has an object as `execute`. Give a function, or leave it out.',
  ],
  [
    'an approval that is a text',
    { ...fits, approval: 'always' },
    'Tool refund_order has "always" as `approval`. Give true, false or a function, or leave it out.',
  ],
  [
    'an approval that is null',
    { ...fits, approval: null },
    'Tool refund_order has null as `approval`. Give true, false or a function, or leave it out.',
  ],
  [
    'an approval of zero',
    { ...fits, approval: 0 },
    'Tool refund_order has 0 as `approval`. Give true, false or a function, or leave it out.',
  ],
  [
    'an enabled that is a text',
    { ...fits, enabled: 'no' },
    'Tool refund_order has "no" as `enabled`. Give true, false or a function, or leave it out.',
  ],
  [
    'a projection that is no function',
    { ...fits, project: 'head' },
    'Tool refund_order has "head" as `project`. Give a function, or leave it out.',
  ],
  [
    'a deadline below zero',
    { ...fits, timeoutMs: -1 },
    'Tool refund_order has -1 as `timeoutMs`. Give a number of milliseconds above 0, at most 2147483647.',
  ],
  [
    'a repeatable that is a text',
    { ...fits, repeatable: 'yes' },
    'Tool refund_order has "yes" as `repeatable`. Give true or false, or leave it out.',
  ],
  ['a rejection that is no text', { ...fits, rejection: true }, 'Tool refund_order has true as `rejection`. Give a text, or leave it out.'],
  [
    'a flow that is a text',
    { ...fits, flow: 'read' },
    '`flow` of tool refund_order was given "read" as its options. Give an object with effect, results, authority.',
  ],
  [
    'a misspelt part of the flow',
    { ...fits, flow: { efect: 'read' } },
    '`flow` of tool refund_order has an option "efect", which does not exist. Did you mean effect? The options are effect, results, authority.',
  ],
  [
    'an unknown effect',
    { ...fits, flow: { effect: 'delete' } },
    "`flow` of tool refund_order has \"delete\" as `effect`. Give 'none' or 'read' or 'write' or 'send'.",
  ],
  [
    'results that are neither',
    { ...fits, flow: { results: true } },
    "`flow` of tool refund_order has true as `results`. Give 'trusted' or 'untrusted'.",
  ],
  [
    'an authority that is no argument',
    { ...fits, flow: { authority: ['orderId', 'cent'] } },
    '`flow.authority` of tool refund_order names "cent", which is no argument of it. Did you mean cents? Its arguments are orderId, cents.',
  ],
  [
    'guardrails that are no list',
    { ...fits, guardrails: guardrail(['toolInput']) },
    'Tool refund_order has an object as `guardrails`. Give a list.',
  ],
  [
    'a guardrail that is none',
    { ...fits, guardrails: [() => allow()] },
    'Entry 1 in `guardrails` of tool refund_order is a function. Expected a guardrail made by defineGuardrail or definePolicy.',
  ],
  [
    'a tool as a guardrail',
    { ...fits, guardrails: [define(fits)] },
    'Entry 1 in `guardrails` of tool refund_order is a tool refund_order. Expected a guardrail made by defineGuardrail or definePolicy.',
  ],
  [
    'a guardrail on another surface',
    { ...fits, guardrails: [guardrail(['toolInput', 'output'])] },
    "Guardrail g of tool refund_order stands on output. A tool's own guardrails stand on toolInput and toolOutput only: give it to the agent or the run.",
  ],
  [
    'a guardrail for other tools',
    { ...fits, guardrails: [guardrail(['toolInput'], { tools: ['find_*', 'pay'] })] },
    'Guardrail g of tool refund_order looks only at find_*, pay, so it would never look at it. Leave `tools` out, or name refund_order.',
  ],
  [
    'a policy about another tool',
    { ...fits, guardrails: [definePolicy({ name: 'p', rules: [{ tool: 'refund_orders', then: 'allow' }], otherwise: 'deny' })] },
    'Rule 1 of policy p is about refund_orders, but tool refund_order has no such tool. Did you mean refund_order? Its tools are refund_order. Correct the rule, or remove it.',
  ],
  [
    'an end of the run without execute',
    { ...fits, execute: undefined, endsRun: true },
    'Tool refund_order has `endsRun` but no `execute`, so the caller runs it, outside the run. Give it `execute`, or leave `endsRun` out.',
  ],
  [
    'a deadline without execute',
    { ...fits, execute: undefined, timeoutMs: 3 },
    'Tool refund_order has `timeoutMs` but no `execute`, so the caller runs it, outside the run. Give it `execute`, or leave `timeoutMs` out.',
  ],
])('%s is refused', (_what, def, message) => {
  expect(() => define(def)).toThrow(invalid(message));
});

test('a guardrail for tools that its agent does not have is refused, where it would look at none', () => {
  const guard = (tools: readonly string[], on: readonly ('toolInput' | 'output')[] = ['toolInput']) =>
    guardrailSpecOf(defineGuardrail({ name: 'mails', on, tools, check: () => allow() } as never), 'x');
  const tools = ['send_mail', 'find'];
  expect(() => refuseUnknownRules(guard(['send_mial']), tools, 'agent desk')).toThrow(
    'Guardrail mails looks only at send_mial, and agent desk has no such tool, so it would never be asked. Did you mean send_mail? Its tools are send_mail, find.',
  );
  for (const each of [guard(['send_mial', 'find']), guard(['send_*']), guard(['send_mial'], ['toolInput', 'output']), guard(['refund'])])
    expect(() => refuseUnknownRules(each, tools, 'agent desk')).not.toThrow();
  expect(() => refuseUnknownRules(guard(['send_mial']), [], 'agent desk')).not.toThrow();
});

test('a policy is about tools that its owner has: each rule fits one of them at least', () => {
  const policy = guardrailSpecOf(
    definePolicy({
      name: 'p',
      rules: [
        { tool: 'refund_*', then: 'allow' },
        { tool: 'pay', then: 'ask' },
      ],
      otherwise: 'deny',
    }),
    'It',
  );
  expect(() => refuseUnknownRules(policy, ['find', 'refund_order', 'pay'], 'agent billing')).not.toThrow();
  expect(() => refuseUnknownRules(policy, ['refund_order', 'refund_all'], 'agent billing')).toThrow(
    invalid(
      'Rule 2 of policy p is about pay, but agent billing has no such tool. Its tools are refund_order, refund_all. Correct the rule, or remove it.',
    ),
  );
  expect(() => refuseUnknownRules(policy, [], 'agent billing')).toThrow(
    invalid('Rule 1 of policy p is about refund_*, but agent billing has no such tool. It has no tools. Correct the rule, or remove it.'),
  );
});

test('two guardrails of one name are refused', () => {
  expect(() => define({ ...fits, guardrails: [guardrail(['toolInput']), guardrail(['toolOutput'])] })).toThrow(
    expect.objectContaining({
      code: 'NAME_TAKEN',
      message: 'Guardrail name g is used twice by tool refund_order. Give one another name, or list it once.',
    }),
  );
});

test('S167: a tool is strict where its schema has a strict form, and says at once where it has none', () => {
  const record = z.object({ orders: z.array(z.object({ tags: z.record(z.string(), z.string()) })) });
  expect(specOf({ ...fits, strict: true }).strict).toBe(true);
  expect(specOf({ ...fits, strict: false, input: record }).strict).toBe(false);
  expect(specOf({ ...fits, strict: 'auto', input: record }).strict).toBe('auto');
  for (const input of [z.object({ note: z.string().nullish() }), mini.object({ tags: mini.record(mini.string(), mini.string()) })])
    expect(specOf({ ...fits, strict: true, input }).strict).toBe(true);
  expect(() => define({ ...fits, strict: true, input: record })).toThrow(
    invalid(
      'Tool refund_order has `strict: true`, but no provider could be held to the schema of its input: orders[].tags (propertyNames). It takes fields of any name. Name the fields, or make it a list of entries with a name and a value. Or leave `strict` out.',
    ),
  );
  const union = z.discriminatedUnion('kind', [z.object({ kind: z.literal('a') }), z.object({ kind: z.literal('b') })]);
  expect(() => define({ ...fits, strict: true, input: union })).toThrow(
    expect.objectContaining({ message: expect.stringContaining('the root (oneOf)') }),
  );
  expect(() => define({ ...fits, strict: null })).toThrow(
    invalid("Tool refund_order has null as `strict`. Give true, false or 'auto', or leave it out."),
  );
  expect(() => define({ ...fits, strict: 'yes' })).toThrow(
    invalid('Tool refund_order has "yes" as `strict`. Give true, false or \'auto\', or leave it out.'),
  );
});
