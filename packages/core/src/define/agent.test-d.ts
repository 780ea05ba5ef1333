import { z } from 'zod';
import { defineAgent as definePlainAgent } from './agent.js';
import { asTool } from './as-tool.js';
import { withContext } from './context.js';
import { coverage } from './coverage.js';
import { handoff } from './handoff.js';
import type { Equal, RefundNote, Shop } from './shop.test-d.js';
import {
  adminAgent,
  billing,
  defineAgent,
  defineGuardrail,
  defineTool,
  expectType,
  faq,
  is,
  model,
  refund,
  refundNote,
  triage,
} from './shop.test-d.js';
import type { Agent, Answer, Route, Tool } from './types.js';
import { allow } from './verdict.js';

// @ts-expect-error the test of equal types can fail
is<Equal<typeof billing, Agent<Shop, Answer<'billing', { refunded: string }>>>>();
is<Equal<typeof billing, Agent<Shop, Answer<'billing', RefundNote>>>>();
is<Equal<typeof triage, Agent<Shop, Answer<'triage', string> | Answer<'billing', RefundNote>>>>();
is<Equal<typeof faq, Agent<unknown, Answer<'faq', string>>>>();
export const shaped = definePlainAgent({ name: 'shaped', instructions: '', model, output: z.string().transform((text) => text.length) });
is<Equal<typeof shaped, Agent<unknown, Answer<'shaped', number>>>>();

export const full = defineAgent({
  name: 'full',
  instructions: async ({ context, signal }) => {
    expectType<AbortSignal>()(signal);
    return `Serve customer ${context.userId}.`;
  },
  model: ({ context, turn }) => {
    expectType<Shop>()(context);
    expectType<number>()(turn);
    return model;
  },
  settings: ({ turn }) => ({ temperature: turn > 1 ? 0 : 1 }),
  providerTools: [{ name: 'web_search', unguarded: true }],
  refusal: 'I cannot help with that here.',
});

// ---- an agent without a context goes where a context is expected
export const desk = defineAgent({
  name: 'desk',
  instructions: '',
  model,
  handoffs: [faq, billing],
  tools: [
    asTool(faq, { name: 'ask_faq', description: 'Ask.' }),
    asTool(triage, { name: 'ask_triage', description: 'Ask.', limits: { turns: 2 } }),
  ],
});
is<Equal<typeof desk, Agent<Shop, Answer<'desk', string> | Answer<'faq', string> | Answer<'billing', RefundNote>>>>();
export const askFaq = asTool(faq, {
  name: 'ask_faq',
  description: 'Ask.',
  input: z.object({ question: z.string() }),
  brief: ({ question }) => {
    expectType<string>()(question);
    return question;
  },
});
is<Equal<typeof askFaq, Tool<unknown, 'ask_faq', { question: string }, never>>>();
const askPlainly = asTool(faq, { name: 'ask', description: '' });
is<Equal<typeof askPlainly, Tool<unknown, 'ask', { input: string }, never>>>();

// ---- handoffs with options
export const front = defineAgent({
  name: 'front',
  instructions: '',
  model,
  handoffs: [
    handoff(billing, {
      name: 'to_billing',
      description: 'Refunds.',
      input: z.object({ why: z.string() }),
      brief: ({ why }) => {
        expectType<string>()(why);
        return why;
      },
      history: (messages, { from, to, context, signal }) => {
        expectType<string>()(from);
        expectType<string>()(to);
        expectType<Shop>()(context);
        expectType<AbortSignal>()(signal);
        return messages.slice(-2);
      },
      enabled: ({ context }) => context.mayRefund,
    }),
    faq,
  ],
});
is<Equal<typeof front, Agent<Shop, Answer<'front', string> | Answer<'billing', RefundNote> | Answer<'faq', string>>>>();

// ---- circles: the way back is a name
export const refunds = defineAgent({ name: 'refunds', instructions: '', model, handoffs: ['reception'], output: refundNote });
export const reception = defineAgent({ name: 'reception', instructions: '', model, handoffs: [refunds, faq] });
is<Equal<typeof reception, Agent<Shop, Answer<'reception', string> | Answer<'refunds', RefundNote> | Answer<'faq', string>>>>();
const toReception = defineTool({
  name: 'to_reception',
  description: '',
  input: z.object({}),
  execute: () => handoff('reception2', { brief: '' }),
});
export const sales = defineAgent({ name: 'sales', instructions: '', model, tools: [toReception] });
export const reception2 = defineAgent({ name: 'reception2', instructions: '', model, handoffs: [sales] });
is<Equal<typeof reception2, Agent<Shop, Answer<'reception2', string> | Answer<'sales', string>>>>();
const named = defineAgent({ name: 'named', instructions: '', model, handoffs: [handoff('reception3', { name: 'back' })] });
export const reception3 = defineAgent({ name: 'reception3', instructions: '', model, handoffs: [named] });
is<Equal<typeof reception3, Agent<Shop, Answer<'reception3', string> | Answer<'named', string>>>>();

// ---- agents not known at compile time, tables of agents, written-out types
declare const team: readonly Agent<Shop>[];
export const lead = defineAgent({ name: 'lead', instructions: '', model, handoffs: team });
export const byName = { triage, faq } satisfies Record<string, Agent<Shop>>;
const partner = defineAgent({ name: 'partner', instructions: '', model });
export const annotated: Agent<Shop, Answer<'annotated', { n: number }> | Answer<'partner', string>> = defineAgent({
  name: 'annotated',
  instructions: '',
  model,
  handoffs: [partner],
  output: z.object({ n: z.number() }),
});
export const wide: Agent<Shop, Answer> = billing;
const anyAgent: Agent<never, Route> = refunds;
void anyAgent;
export const runnable: Agent<Shop> = billing;
coverage(refunds);

// ---- misuses
// @ts-expect-error 28 an agent with a context cannot be a handoff target of one without
definePlainAgent({ name: 'x', instructions: '', model, handoffs: [billing] });
// @ts-expect-error 28 nor with options
definePlainAgent({ name: 'x', instructions: '', model, handoffs: [handoff(billing, { name: 'y' })] });
// @ts-expect-error 29 nor its tool a tool
definePlainAgent({ name: 'x', instructions: '', model, tools: [refund] });
// @ts-expect-error 30 nor a child
definePlainAgent({ name: 'x', instructions: '', model, tools: [asTool(billing, { name: 'b', description: '' })] });
// @ts-expect-error 31 another context
defineAgent({ name: 'x', instructions: '', model, handoffs: [adminAgent] });
const withShop = defineGuardrail({ name: 'g', on: ['input'], check: () => allow() });
// @ts-expect-error 33 a guardrail with a context on an agent without
definePlainAgent({ name: 'x', instructions: '', model, guardrails: [withShop] });
// @ts-expect-error instructions get an object
defineAgent({ name: 'x', instructions: ({ userId }) => userId, model });
// @ts-expect-error a provider's tool is listed as unguarded
defineAgent({ name: 'x', instructions: '', model, providerTools: [{ name: 'web_search' }] });
// @ts-expect-error a misspelt option
defineAgent({ name: 'x', instructions: '', model, handOffs: [billing] });
// @ts-expect-error a misspelt setting
defineAgent({ name: 'x', instructions: '', model, settings: { temprature: 0 } });

const back = defineAgent({ name: 'back', instructions: '', model, handoffs: ['nobody'] });
const half = defineAgent({ name: 'half', instructions: '', model, handoffs: [back, billing] });
// @ts-expect-error 50 a child must be complete
asTool(back, { name: 'x', description: '' });
// @ts-expect-error no such limit
asTool(faq, { name: 'x', description: '', limits: { turn: 1 } });
// @ts-expect-error 51 an agent with a wider answer is not one with a narrower
export const narrow: Agent<Shop, Answer<'billing', { refunded: boolean }>> = half;
// @ts-expect-error 52 not runnable
export const notRunnable: Agent<Shop> = back;
// @ts-expect-error 56 an agent with a context is not one without
export const withoutContext: Agent<unknown> = billing;
// @ts-expect-error a context of one shop is not the other's
withContext<{ readonly userId: number }>().defineAgent({ name: 'x', instructions: '', model, handoffs: [billing] });
