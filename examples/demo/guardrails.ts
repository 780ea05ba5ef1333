// The desk's rules. Each is a few lines: a name, the surfaces where it stands, and a function that answers.
import { allow, deny, halt, rewrite, withContext } from '@guardloop/core';
import type { Desk } from './shop.js';
import { euros } from './shop.js';
import { refundOrder } from './tools.js';

const { defineGuardrail, definePolicy } = withContext<Desk>();

/** Card numbers reach neither the model nor the log, nor the person. `window` lets the answer flow while it is being checked. */
export const cardNumbers = defineGuardrail({
  name: 'card-numbers',
  on: ['input', 'toolOutput', 'output'],
  window: 24,
  rewrite: ({ content }) => {
    const spans = [...content.matchAll(/(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)/g)].map(({ 0: number, index }) => ({
      start: index,
      end: index + number.length,
      with: '[card number]',
    }));
    return spans.length > 0 ? rewrite(spans, 'a card number') : allow();
  },
});

const topics = /\b(?:order|parcel|card|deliver|ship|arriv|refund|invoice|charge|pay|money|item|return|[A-Z]-\d{4})/i;
const smallTalk = /^\W*(?:hi|hello|hey|thanks?|thank you|yes|no|ok|help|bye)\b|^\S+$/i;

/** The desk is no free chatbot. It runs beside the model, so that it costs no time. */
export const offTopic = defineGuardrail({
  name: 'off-topic',
  on: ['input'],
  beside: 'model',
  check: ({ items }) => {
    const asked = items.filter((item) => item.via === 'user' && item.role === 'user');
    if (asked.every(({ text }) => topics.test(text) || smallTalk.test(text))) return allow();
    return halt('not about an order', { reply: 'I can only help with orders, deliveries, invoices and refunds.' });
  },
});

/** What a tool brings back is data. If it talks to the assistant, it is withheld. */
export const injectedOrders = defineGuardrail({
  name: 'injected-orders',
  on: ['toolOutput'],
  check: ({ content }) =>
    /\b(?:ignore|disregard|forget)\b.{0,30}\b(?:instructions|rules|prompt)\b|\bsystem prompt\b|\byou are now\b/i.test(content)
      ? deny('the result holds orders for the assistant')
      : allow(),
});

/** Triage only routes: it must not promise money. */
export const noPromises = defineGuardrail({
  name: 'no-promises',
  on: ['output'],
  check: ({ content }) => (/€\s?\d|\brefunded\b/i.test(content) ? deny('triage must not promise money') : allow()),
});

/** A customer sees and moves only what is theirs. */
export const ownOrders = defineGuardrail({
  name: 'own-orders',
  on: ['toolInput'],
  check: ({ input }, { context }) => {
    const { orderId } = input as { readonly orderId?: string };
    const order = orderId === undefined ? undefined : context.shop.findOrder(orderId);
    return order !== undefined && order.customer !== context.customer ? deny('this order belongs to another customer') : allow();
  },
});

const freely = 5_000;

/** Who may refund how much. The first rule that fits answers; `ask` puts the call before a person. */
export const refundPolicy = definePolicy({
  name: 'refund-policy',
  rules: [
    {
      tool: refundOrder,
      when: (_input, { untrustedReads }) => untrustedReads.length > 0,
      then: 'ask',
      reason: 'the model has read text from outside since, and may be following it',
    },
    { tool: refundOrder, when: ({ cents }) => cents > freely, then: 'ask', reason: `it is more than ${euros(freely)}` },
    { tool: '*', then: 'allow' },
  ],
  otherwise: 'deny',
});
