// The support desk: three agents that hand over to each other. Guarded, or the same without a single guardrail.
import type { Guardrail, Model } from '@guardloop/core';
import { withContext } from '@guardloop/core';
import { cardNumbers, injectedOrders, noPromises, offTopic, ownOrders, refundPolicy } from './guardrails.js';
import type { Desk } from './shop.js';
import { readInvoice, refundOrder, trackOrder } from './tools.js';

const { defineAgent } = withContext<Desk>();

/** These stand before every agent, whoever is active. */
export const deskGuardrails: readonly Guardrail<Desk>[] = [cardNumbers, offTopic, injectedOrders];

export function openDesk(model: Model, { isGuarded }: { readonly isGuarded: boolean }) {
  const own = (...guardrails: readonly Guardrail<Desk>[]): readonly Guardrail<Desk>[] => (isGuarded ? guardrails : []);
  const refusal = 'I am sorry, I cannot help with that here.';

  const orders = defineAgent({
    name: 'orders',
    description: 'Where an order is: its status, its parcel, and when it arrives or was delivered.',
    instructions: ({ context }) => `You tell customer ${context.customer} about their orders. Hand over what is about money to billing.`,
    model,
    tools: [trackOrder],
    handoffs: ['billing'],
    guardrails: own(ownOrders),
    refusal,
  });
  const billing = defineAgent({
    name: 'billing',
    description: 'Money: invoices, charges, payments and refunds of orders.',
    instructions: ({ context }) => `You do the billing for customer ${context.customer}. Hand over what is about delivery to orders.`,
    model,
    tools: [readInvoice, refundOrder],
    handoffs: ['orders'],
    guardrails: own(ownOrders, refundPolicy),
    refusal,
  });
  return defineAgent({
    name: 'triage',
    instructions: 'You are the front of a support desk. Hand the customer over to the right colleague; never answer about money yourself.',
    model,
    handoffs: [orders, billing],
    guardrails: own(noPromises),
    refusal,
  });
}
