import type { Guardrail, Surface } from '@guardloop/core';
import { allow, defineGuardrail, defineTool, deny, rewrite } from '@guardloop/core';
import { z } from 'zod';

export const surfaces = ['input', 'toolInput', 'toolOutput', 'handoff', 'output'] as const satisfies readonly Surface[];

export interface Seen {
  readonly surface: Surface;
  readonly content: string;
}

/** A check that lets everything pass and keeps what it was shown, on the surfaces given. */
export function witness(seen: Seen[], on: readonly Surface[] = surfaces): Guardrail<unknown> {
  return defineGuardrail({
    name: 'witness',
    on,
    check: ({ surface, content }) => {
      seen.push({ surface, content });
      return allow();
    },
  });
}

/** Refuses what holds the word, on the surfaces given. */
export function refuses(word: string, ...on: readonly Surface[]): Guardrail<unknown> {
  return defineGuardrail({
    name: `no-${word}`,
    on,
    check: ({ content }) => (content.includes(word) ? deny('that word is not used here') : allow()),
  });
}

const card = /\d{4} \d{4} \d{4} \d{4}/g;

/** Puts `[card]` in the place of card numbers while text flows. */
export const noCards = defineGuardrail({
  name: 'no-cards',
  on: ['input', 'output'],
  window: 24,
  rewrite: ({ content }) => {
    const spans = [...content.matchAll(card)].map(({ index, 0: { length } }) => ({ start: index, end: index + length, with: '[card]' }));
    return spans.length > 0 ? rewrite(spans, 'card number') : allow();
  },
});

export const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order.',
  input: z.object({ orderId: z.string() }),
  flow: { effect: 'read', results: 'trusted' },
  execute: ({ orderId }) => ({ orderId, status: `${orderId} is on its way` }),
});

/** Refunds, and keeps what it did with its key. Above 50.00 a person decides. */
export function refundOrder(effects: string[]) {
  return defineTool({
    name: 'refund_order',
    description: 'Refunds an order, in cents.',
    input: z.object({ orderId: z.string(), cents: z.number().int().positive() }),
    flow: { effect: 'send', authority: ['orderId', 'cents'] },
    approval: ({ cents }) => cents > 5_000,
    execute: ({ orderId, cents }, { idempotencyKey }) => {
      effects.push(`${orderId} ${cents} ${idempotencyKey.slice(idempotencyKey.indexOf('/') + 1)}`);
      return `refunded ${orderId}`;
    },
  });
}
