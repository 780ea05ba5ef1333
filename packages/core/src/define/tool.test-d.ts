import { z } from 'zod';
import * as mini from 'zod/mini';
import type { JsonValue } from '../model/types.js';
import { withDetails } from './detailed.js';
import { handoff } from './handoff.js';
import type { Equal, RefundNote, Shop } from './shop.test-d.js';
import { adminAgent, billing, context, defineAgent, defineGuardrail, defineTool, expectType, is, model, refund } from './shop.test-d.js';
import { defineTool as definePlainTool } from './tool.js';
import { toolError } from './tool-error.js';
import type { Answer, JsonSchema, Projection, StandardSchema, Tool } from './types.js';
import { allow } from './verdict.js';

declare function jsonFields<const K extends string>(options: { readonly keep: readonly K[] }): Projection<unknown, K>;
declare function headTail(options: { readonly maxChars: number }): Projection;
const base = { description: '', input: z.object({ orderId: z.string(), cents: z.number() }) };

// ---- what is inferred
export const refundOrder = defineTool({
  name: 'refund_order',
  description: 'Refund one order, in cents.',
  input: z.object({ orderId: z.string(), cents: z.number().int().positive() }),
  flow: { effect: 'send', authority: ['orderId', 'cents'] },
  approval: ({ cents }, { context, signal, callId }) => {
    expectType<number>()(cents);
    expectType<Shop>()(context);
    expectType<AbortSignal>()(signal);
    expectType<string>()(callId);
    return !context.mayRefund || cents > 5_000;
  },
  execute: async ({ orderId, cents }, { context, signal, idempotencyKey, callId, progress }) => {
    expectType<string>()(orderId);
    expectType<Shop>()(context);
    expectType<AbortSignal>()(signal);
    progress(`${callId} ${idempotencyKey}`);
    return { refundId: orderId, status: 'done', cents };
  },
  project: jsonFields({ keep: ['refundId', 'status'] }),
});
is<Equal<typeof refundOrder, Tool<Shop, 'refund_order', { orderId: string; cents: number }, never>>>();

export const findOrder = defineTool({
  name: 'find_order',
  description: 'Find an order.',
  input: z.object({ orderId: z.string() }),
  execute: async ({ orderId }) => ({ id: orderId, total: 3 }),
  project: (order, { tool, context, signal }) => {
    expectType<{ id: string; total: number }>()(order);
    expectType<Shop>()(context);
    expectType<AbortSignal>()(signal);
    return `${tool}: ${order.total}`;
  },
  flow: { effect: 'read', results: 'trusted', authority: ['orderId'] },
});
export const clock = definePlainTool({
  name: 'clock',
  description: '',
  input: z.object({}),
  execute: () => 'now',
  project: headTail({ maxChars: 9 }),
});
is<Equal<typeof clock, Tool<unknown, 'clock', Record<string, never>, never>>>();

// ---- schemas: transforms, defaults, coercion, unions, recursion, zod/mini, other libraries, plain JSON Schema
export const when = defineTool({
  name: 'when',
  description: '',
  flow: { authority: ['at', 'zone'] },
  input: z.object({ at: z.string().transform((text) => new Date(text)), zone: z.string().default('UTC'), n: z.coerce.number() }),
  approval: ({ at }) => {
    expectType<Date>()(at);
    return true;
  },
  execute: ({ at, zone, n }) => {
    expectType<Date>()(at);
    expectType<string>()(zone);
    expectType<number>()(n);
    return at.getTime();
  },
  project: (ms) => {
    expectType<number>()(ms);
    return String(ms);
  },
});
is<Equal<typeof when, Tool<Shop, 'when', { at: Date; zone: string; n: number }, never>>>();
const payments = [
  z.object({ kind: z.literal('iban'), iban: z.string() }),
  z.object({ kind: z.literal('card'), card: z.string() }),
] as const;
export const pay = defineTool({
  name: 'pay',
  description: '',
  flow: { authority: ['iban', 'card', 'kind'] },
  input: z.discriminatedUnion('kind', payments),
  execute: (input) => {
    if (input.kind === 'iban') expectType<string>()(input.iban);
    return 'ok';
  },
});
const Tree = z.object({
  name: z.string(),
  get children() {
    return z.array(Tree);
  },
});
export const tree = defineTool({ name: 'tree', description: '', input: Tree, execute: ({ children }) => children[0]?.children[0]?.name });
export const small = defineTool({
  name: 'small',
  description: '',
  input: mini.object({ a: mini.string(), b: mini.optional(mini.number()) }),
  execute: ({ a, b }) => {
    expectType<string>()(a);
    expectType<number | undefined>()(b);
    return a;
  },
});
declare const foreign: StandardSchema<{ city: string }>;
export const weather = defineTool({
  name: 'weather',
  description: '',
  input: foreign,
  execute: ({ city }) => {
    expectType<string>()(city);
    return city;
  },
});
is<Equal<typeof weather, Tool<Shop, 'weather', { city: string }, never>>>();
declare const jsonSchema: JsonSchema;
export const remote = defineTool({
  name: 'remote',
  description: '',
  input: jsonSchema,
  execute: (input, { context }) => {
    expectType<JsonValue | undefined>()(input.city);
    expectType<Shop>()(context);
    return '';
  },
});
export const literal = defineTool({
  name: 'literal',
  description: '',
  input: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  execute: (input) => String(input.city),
});

// ---- results: an output schema, details, failures, the caller's
export const checked = defineTool({
  ...base,
  name: 'checked',
  output: z.object({ id: z.string() }),
  execute: ({ orderId }) => ({ id: orderId }),
});
export const detailed = defineTool({
  ...base,
  name: 'detailed',
  execute: ({ orderId }) => withDetails({ id: orderId }, { rows: [1, 2] }),
  project: (output) => {
    expectType<{ id: string }>()(output);
    return output.id;
  },
});
export const failing = defineTool({
  ...base,
  name: 'failing',
  execute: ({ orderId }) => (orderId === '' ? toolError('There is no such order.', { errorClass: 'not_found' }) : { id: orderId }),
  project: (output) => {
    expectType<{ id: string }>()(output);
    return output.id;
  },
});
export const byCaller = defineTool({ ...base, name: 'by_caller', approval: ({ cents }) => cents > 3 });
is<Equal<typeof byCaller, Tool<Shop, 'by_caller', { orderId: string; cents: number }, never>>>();
export const enabled = defineTool({
  ...base,
  name: 'enabled',
  enabled: ({ context, turn }) => context.mayRefund && turn > 1,
  execute: () => '',
});

// ---- tools that return a handoff
export const escalate = defineTool({
  name: 'escalate',
  description: 'Hand over.',
  input: z.object({ why: z.string(), cents: z.number() }),
  execute: async ({ why, cents }) =>
    cents > 100 ? handoff(billing, { brief: why, history: (messages) => messages.slice(-4) }) : { refused: true },
  project: (output) => {
    expectType<{ refused: boolean }>()(output);
    return 'no';
  },
});
is<Equal<typeof escalate, Tool<Shop, 'escalate', { why: string; cents: number }, Answer<'billing', RefundNote>>>>();
// defined without a context, but handing over to an agent with one: the tool needs that context
export const plainEscalate = definePlainTool({
  name: 'escalate2',
  description: '',
  input: z.object({}),
  execute: () => handoff(billing, { brief: 'x' }),
});
is<Equal<typeof plainEscalate, Tool<Shop, 'escalate2', Record<string, never>, Answer<'billing', RefundNote>>>>();
export const anyTool: Tool = refund;
declare const mcpTools: readonly Tool<unknown>[];
export const withMcp = defineAgent({ name: 'mcp', instructions: '', model, tools: [...mcpTools, refundOrder] });

// ---- misuses
// @ts-expect-error 17 authority names arguments
defineTool({ ...base, name: 'x', flow: { authority: ['orderId', 'cent'] }, execute: () => '' });
// @ts-expect-error 18 no such argument
defineTool({ ...base, name: 'x', execute: ({ cent }) => cent });
// @ts-expect-error 19 approval answers a boolean
defineTool({ ...base, name: 'x', approval: ({ cents }) => cents, execute: () => '' });
// @ts-expect-error 20 approval gets the context in its second argument
defineTool({ ...base, name: 'x', approval: (_, { mayRefund }) => mayRefund, execute: () => '' });
// @ts-expect-error 21 kept fields are fields of the result
defineTool({ ...base, name: 'x', execute: () => ({ refundId: 'r', status: 's' }), project: jsonFields({ keep: ['refundId', 'statuss'] }) });
// @ts-expect-error 22 the model's arguments are an object
defineTool({ name: 'x', description: '', input: z.string(), execute: () => '' });
// @ts-expect-error 22 also in plain JSON Schema
defineTool({ name: 'x', description: '', input: { type: 'string' }, execute: () => '' });
const onOutput = defineGuardrail({ name: 'g', on: ['output'], check: () => allow() });
// @ts-expect-error 23 a tool's own guardrails stand on its input and output
defineTool({ ...base, name: 'x', execute: () => '', guardrails: [onOutput] });
// @ts-expect-error the result fits the output schema
defineTool({ ...base, name: 'x', output: withId, execute: () => ({ id: 3 }) });
// @ts-expect-error nor is a part of it enough
defineTool({ ...base, name: 'x', output: withId, execute: async () => ({}) });
// @ts-expect-error a misspelt option
defineTool({ ...base, name: 'x', timeout: 3, execute: () => '' });
// @ts-expect-error a projection makes text
defineTool({ ...base, name: 'x', execute: () => ({ id: 3 }), project: ({ id }) => id });
// @ts-expect-error no such effect
defineTool({ ...base, name: 'x', flow: { effect: 'delete' }, execute: () => '' });
// @ts-expect-error no such class of failure
toolError('x', { errorClass: 'broken' });
const toAdmin = defineTool({ ...base, name: 't', execute: () => handoff(adminAgent, { brief: '' }) });
// @ts-expect-error 32 a tool that hands over to an agent with another context
defineAgent({ name: 'x', instructions: '', model, tools: [toAdmin] });
void context;

// ---- strict
definePlainTool({ ...base, name: 'a', strict: true, execute: () => '' });
definePlainTool({ ...base, name: 'a', strict: false, execute: () => '' });
definePlainTool({ ...base, name: 'a', strict: 'auto', execute: () => '' });
definePlainTool({ ...base, name: 'a', strict: undefined });
// @ts-expect-error: no such mode
definePlainTool({ ...base, name: 'a', strict: 'always', execute: () => '' });
