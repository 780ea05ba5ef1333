import type { JsonObject } from '@guardloop/core';
import { coverage, defineAgent, defineTool, handoff, run } from '@guardloop/core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ModelServer } from '../providers/model-server.js';
import { modes, settle } from '../providers/settle.js';
import type { Side } from '../providers/sides.js';
import { messages1, readers } from '../providers/sides.js';
import { ends, ofType, sound } from './sound.js';

let server: ModelServer;
beforeAll(async () => {
  server = await ModelServer.start();
});
afterEach(() => {
  const { problems } = server;
  expect(problems).toEqual([]);
  server.forget();
});
afterAll(() => server.stop());

/** One kind of schema: what a model that is held to its strict form writes, and what the tool is given of it. */
interface Kind {
  readonly name: string;
  readonly input: z.ZodType<object>;
  readonly written: JsonObject;
  readonly given: object;
  /** Where it is sent as strict; left out: everywhere. */
  readonly strict?: 'nowhere' | 'openai' | 'anthropic';
}

const tree = z.object({
  value: z.string(),
  get children() {
    return z.array(tree).optional();
  },
});
const repeat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('weekly'), dayOfWeek: z.int().min(0).max(6) }),
  z.object({ type: z.literal('daily'), at: z.string().optional() }),
]);
const kinds: readonly Kind[] = [
  { name: 't_optional', input: z.object({ note: z.string().optional() }), written: { note: null }, given: {} },
  { name: 't_nullable', input: z.object({ note: z.string().nullable() }), written: { note: null }, given: { note: null } },
  {
    name: 't_nullish',
    input: z.object({ note: z.string().nullish() }),
    written: { note: null },
    given: { note: null },
    strict: 'anthropic',
  },
  { name: 't_default', input: z.object({ n: z.number().default(3) }), written: { n: null }, given: { n: 3 } },
  { name: 't_discriminated', input: z.object({ r: repeat }), written: { r: { type: 'daily', at: null } }, given: { r: { type: 'daily' } } },
  { name: 't_root', input: repeat, written: { type: 'weekly', dayOfWeek: 2 }, given: { type: 'weekly', dayOfWeek: 2 }, strict: 'nowhere' },
  { name: 't_union', input: z.object({ u: z.union([z.string(), z.array(z.int())]).optional() }), written: { u: [1] }, given: { u: [1] } },
  { name: 't_literals', input: z.object({ l: z.literal(['a', 2]) }), written: { l: 2 }, given: { l: 2 } },
  { name: 't_enum', input: z.object({ e: z.enum(['a', 'b']) }), written: { e: 'b' }, given: { e: 'b' } },
  {
    name: 't_record',
    input: z.object({ r: z.record(z.string(), z.string()) }),
    written: { r: { a: 'b' } },
    given: { r: { a: 'b' } },
    strict: 'nowhere',
  },
  {
    name: 't_tuple',
    input: z.object({ t: z.tuple([z.string(), z.number()]) }),
    written: { t: ['a', 1] },
    given: { t: ['a', 1] },
    strict: 'nowhere',
  },
  { name: 't_any', input: z.object({ a: z.any() }), written: { a: { b: null } }, given: { a: { b: null } }, strict: 'nowhere' },
  {
    name: 't_date',
    input: z.object({ d: z.iso.datetime().transform((text) => new Date(text)) }),
    written: { d: '2026-01-02T00:00:00Z' },
    given: { d: new Date('2026-01-02T00:00:00Z') },
  },
  { name: 't_pipe', input: z.object({ n: z.string().transform(Number).pipe(z.number().min(3)) }), written: { n: '4' }, given: { n: 4 } },
  {
    name: 't_refine',
    input: z.object({
      id: z
        .string()
        .min(2)
        .brand('Id')
        .refine((id) => id !== 'no'),
    }),
    written: { id: 'yes' },
    given: { id: 'yes' },
  },
  {
    name: 't_recursive',
    input: tree,
    written: { value: 'a', children: [{ value: 'b', children: null }] },
    given: { value: 'a', children: [{ value: 'b' }] },
    strict: 'openai',
  },
  { name: 't_described', input: z.object({ id: z.string().describe('Of the order.') }), written: { id: 'o1' }, given: { id: 'o1' } },
];

function isStrict({ strict }: Kind, { dialect }: Side): boolean {
  return strict === undefined || strict === (dialect === 'messages' ? 'anthropic' : 'openai');
}

/** Which tools of a request are strict, by name. */
function strictIn(body: Readonly<Record<string, unknown>>): ReadonlyMap<string, boolean> {
  const tools = body.tools as readonly {
    readonly name?: string;
    readonly strict?: boolean;
    readonly function?: { readonly name: string; readonly strict?: boolean };
  }[];
  return new Map(tools.map((tool) => [String(tool.name ?? tool.function?.name), (tool.strict ?? tool.function?.strict) === true]));
}

describe.each(readers)('K20: $name', (side) => {
  it('S167: every kind of schema is sent in the strict form or as it is, and nulls for what is absent never reach the tool', async () => {
    const given = new Map<string, unknown>();
    const tools = kinds.map(({ name, input }) =>
      defineTool({
        name,
        description: name,
        input,
        flow: { effect: 'read' },
        execute: (parsed) => {
          given.set(name, parsed);
          return 'ok';
        },
      }),
    );
    server.turns({ toolCalls: kinds.map(({ name, written }) => ({ id: `call_${name}`, name, arguments: written })) }, { content: 'done' });
    const agent = defineAgent({ name: 'a', instructions: 'Help.', model: side.model(server), tools });

    const result = await sound(run(agent, 'all'));

    expect(result).toMatchObject({ status: 'completed', output: 'done' });
    expect([...given]).toEqual(kinds.map(({ name, given: parsed }) => [name, parsed]));
    const [first, second] = server.requests;
    expect([...strictIn(first?.body ?? {})]).toEqual(kinds.map((kind) => [kind.name, isStrict(kind, side)]));
    expect(first?.json).toContain('Of the order.');
    // The model's own words go back as it wrote them; the log has what the tools were given.
    expect(second?.calls.map(({ input }) => input)).toEqual(kinds.map(({ written }) => written));
    const [answer] = ofType(result.events, 'model.end');
    expect(answer?.calls.find(({ name }) => name === 't_optional')?.input).toEqual({});
    const told = coverage(agent).filter(({ tool }) => tool !== undefined);
    expect(told.map(({ tool, strict }) => [tool, strict?.isStrict])).toEqual(kinds.map((kind) => [kind.name, isStrict(kind, side)]));
  });

  it.each(modes)('S167: a structured answer is widened and undone as an input is (%s)', async (mode) => {
    const output = z.object({ city: z.string(), note: z.string().optional(), repeat: repeat.optional(), n: z.number().default(1) });
    server.turns({ content: { city: 'Ulm', note: null, repeat: { type: 'daily', at: null }, n: null } });
    const agent = defineAgent({ name: 'a', instructions: 'Tell.', model: side.model(server), output });
    const { result } = await settle(mode, agent, { input: 'Ulm?' });
    expect(result).toMatchObject({ status: 'completed', output: { city: 'Ulm', repeat: { type: 'daily' }, n: 1 } });
    expect(result.status === 'completed' && Object.keys(result.output)).toEqual(['city', 'repeat', 'n']);
    expect(server.requests).toHaveLength(1);
  });

  it('S167: an answer whose schema has no strict form is asked for all the same, and checked', async () => {
    const shapes: readonly (readonly [z.ZodType, unknown])[] = [
      [z.array(z.object({ id: z.string() })), [{ id: 'o1' }]],
      [repeat, { type: 'weekly', dayOfWeek: 2 }],
      [z.object({ tags: z.record(z.string(), z.string()) }), { tags: { a: 'b' } }],
      [z.object({ note: z.string().nullish() }), { note: null }],
    ];
    for (const [output, value] of shapes) {
      server.inOrder({ content: 'Not yet.' }, { content: JSON.stringify(value) });
      const agent = defineAgent({ name: 'a', instructions: 'Tell.', model: side.model(server), output });
      const result = await sound(run(agent, 'go'));
      expect(result).toMatchObject({ status: 'completed', output: value });
      expect(ofType(result.events, 'model.end').map(({ status }) => status)).toEqual(['refused', 'ok']);
    }
  });

  it('S167: the arguments of a handoff are undone too, and its answer goes back as it was', async () => {
    const billing = defineAgent({ name: 'billing', instructions: 'Bill.', model: side.model(server) });
    const toBilling = handoff(billing, { input: z.object({ why: z.string(), note: z.string().optional() }) });
    server.turns(
      { toolCalls: [{ id: 'call_a', name: 'transfer_to_billing', arguments: { why: 'refund', note: null } }] },
      { content: 'ok' },
    );
    const result = await sound(
      run(defineAgent({ name: 'triage', instructions: 'Route.', model: side.model(server), handoffs: [toBilling] }), 'go'),
    );
    expect(result).toMatchObject({ status: 'completed', agent: 'billing' });
    expect(ofType(result.events, 'handoff')[0]).toMatchObject({ brief: '{"why":"refund"}' });
    const [answer] = ofType(result.events, 'model.end');
    expect(answer?.calls[0]?.input).toEqual({ why: 'refund' });
    expect(answer?.native).toBeDefined();
  });

  it('S169: schemas of another server are sent as they are where they are odd, keep what they take, and are never changed', async () => {
    const schemas: Readonly<Record<string, { readonly type: 'object' } & JsonObject>> = {
      freeform: { type: 'object', properties: { opts: { type: 'object' } }, required: ['opts'] },
      siblings: { type: 'object', properties: { a: { $ref: '#/$defs/a', minLength: 2 } }, $defs: { a: { type: 'string' } } },
      typeless: { type: 'object', properties: { a: { description: 'Anything.' }, b: true } },
      oneof: { type: 'object', properties: { a: { oneOf: [{ type: 'number' }, { type: 'integer' }] } } },
      nested: { type: 'object', $id: 'https://example.org/s', properties: { a: { $id: 'inner', type: 'string' } } },
      recursive: { type: 'object', properties: { next: { $ref: '#' }, name: { type: 'string' } } },
      plain: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
    };
    const written: Readonly<Record<string, JsonObject>> = {
      freeform: { opts: { any: { thing: 1, other: null } } },
      siblings: { a: 'xy' },
      typeless: { a: [null], b: null },
      oneof: { a: 1.5 },
      nested: { a: 'x' },
      recursive: { name: 'x', next: { name: null, next: null } },
      plain: { q: 'x' },
    };
    const before = JSON.stringify(schemas);
    const given = new Map<string, unknown>();
    const started = process.cpuUsage();
    const tools = Object.entries(schemas).map(([name, input]) =>
      defineTool({ name, description: '', input, execute: (args) => void given.set(name, args) }),
    );
    server.turns(
      { toolCalls: Object.entries(written).map(([name, args]) => ({ id: `call_${name}`, name, arguments: args })) },
      { content: 'ok' },
    );
    const agent = defineAgent({ name: 'a', instructions: '', model: side.model(server), tools });
    coverage(agent);
    expect(process.cpuUsage(started).user).toBeLessThan(2_000_000);
    expect(await sound(run(agent, 'go'))).toMatchObject({ status: 'completed' });
    expect(Object.fromEntries(given)).toEqual({ ...written, recursive: { name: 'x', next: {} } });
    expect([...strictIn(server.requests[0]?.body ?? {})].filter(([, strict]) => strict).map(([name]) => name)).toEqual(
      side === messages1 ? ['plain'] : ['recursive', 'plain'],
    );
    expect(JSON.stringify(schemas)).toBe(before);
  });

  it('a null that the schema wants is no absence, and a field that must be there is asked for again', async () => {
    const set = defineTool({
      name: 'set',
      description: '',
      input: z.object({ id: z.string(), owner: z.string().nullable() }),
      execute: () => 'ok',
    });
    server.turns({ toolCalls: [{ id: 'call_a', name: 'set', arguments: { id: null, owner: null } }] }, { content: 'ok' });
    const agent = defineAgent({ name: 'a', instructions: '', model: side.model(server), tools: [set] });
    const result = await sound(run(agent, 'go'));
    expect(ends(result.events)).toEqual(['1.0 error']);
    expect(JSON.stringify(ofType(result.events, 'tool.end')[0])).toContain('id: expected string');
    expect(JSON.stringify(ofType(result.events, 'tool.end')[0])).not.toContain('owner');
  });
});

it('S169: a schema that is nested too deep is refused with the name of its tool, and the others remain', () => {
  let deep: JsonObject = { type: 'string' };
  for (let level = 0; level < 5_000; level += 1) deep = { type: 'object', properties: { a: deep } };
  expect(() => defineTool({ name: 'srv_deep', description: '', input: deep as { readonly type: 'object' } & JsonObject })).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(/srv_deep.*levels deep/) }),
  );
});
