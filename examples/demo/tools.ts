// What the desk's agents can do. `flow` says what a tool does to the world, and whether its results can be trusted.
import { toolError, withContext } from '@guardloop/core';
import { z } from 'zod';
import type { Desk, Order } from './shop.js';

const { defineTool } = withContext<Desk>();

const orderId = z
  .string()
  .regex(/^[A-Z]-\d{4}$/)
  .describe('The order, such as A-1001.');

function orderOf({ shop }: Desk, id: string): Order {
  const order = shop.findOrder(id);
  if (order === undefined) throw toolError(`There is no order ${id}.`, { errorClass: 'not_found' });
  return order;
}

export const trackOrder = defineTool({
  name: 'track_order',
  description: 'Tells where an order is, its status, and when the parcel arrives or was delivered.',
  input: z.object({ orderId }),
  flow: { effect: 'read', results: 'trusted' },
  execute: (input, { context }) => {
    const { id, item, status, carrier, arrives } = orderOf(context, input.orderId);
    return { order: id, item, status, carrier, arrives };
  },
});

export const readInvoice = defineTool({
  name: 'read_invoice',
  description: 'Reads the invoice of an order: what was charged, total and card, and the note that the seller wrote on it.',
  input: z.object({ orderId }),
  // The seller's note is text from outside: whatever comes with it is not to be trusted.
  flow: { effect: 'read', results: 'untrusted' },
  execute: (input, { context }) => {
    const { id, totalCents, card, sellerNote } = orderOf(context, input.orderId);
    return { invoiceFor: id, totalCents, paidWith: card, sellerNote };
  },
});

export const refundOrder = defineTool({
  name: 'refund_order',
  description: 'Refunds money for an order.',
  input: z.object({ orderId, cents: z.number().int().positive().describe('The amount in cents, at most the total that was charged.') }),
  flow: { effect: 'send', results: 'trusted', authority: ['orderId', 'cents'] },
  execute: (input, { context, idempotencyKey }) => {
    const order = orderOf(context, input.orderId);
    if (input.cents > order.totalCents) throw toolError(`Order ${order.id} cost less than that.`, { errorClass: 'invalid_input' });
    const { cents } = context.shop.refund(order, input.cents, idempotencyKey);
    return { status: 'refunded', order: order.id, amountCents: cents };
  },
});
