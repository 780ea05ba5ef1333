// What the type tests share: a shop with its context, tools and agents, and ways to say what a type must be.
import { z } from 'zod';
import type { Model } from '../model/types.js';
import { defineAgent as definePlainAgent } from './agent.js';
import { withContext } from './context.js';
import { allow, deny } from './verdict.js';

/** True for the same type only. */
export type Equal<X, Y> = (<T>() => T extends X ? 1 : 2) extends <T>() => T extends Y ? 1 : 2 ? true : false;
/** `expectType<T>()(value)` compiles when the value has exactly the type `T`. */
export declare function expectType<T>(): <U>(value: U, ...same: Equal<T, U> extends true ? [] : [{ expected: T; got: U }]) => void;
/** `is<Equal<X, Y>>()` compiles when the types are the same. */
export declare function is<T extends true>(): void;

export declare const model: Model;
export interface Shop {
  readonly userId: string;
  readonly mayRefund: boolean;
}
export interface Admin {
  readonly adminId: string;
}
export declare const context: Shop;
export const { defineAgent, defineTool, defineGuardrail, definePolicy } = withContext<Shop>();

export interface Refund {
  readonly refundId: string;
  readonly status: 'done' | 'pending';
  readonly trace: string;
}
export const refundInput = z.object({ orderId: z.string(), cents: z.number() });
export const refund = defineTool({
  name: 'refund_order',
  description: 'Refund one order, in cents.',
  input: refundInput,
  execute: ({ orderId }): Refund => ({ refundId: orderId, status: 'done', trace: '' }),
});
export const refundNote = z.object({ refunded: z.boolean(), note: z.string() });
export interface RefundNote {
  refunded: boolean;
  note: string;
}
export const billing = defineAgent({
  name: 'billing',
  description: 'Refunds.',
  instructions: '',
  model,
  tools: [refund],
  output: refundNote,
});
export const faq = definePlainAgent({ name: 'faq', instructions: 'Answer.', model });
export const triage = defineAgent({ name: 'triage', instructions: 'Route the customer.', model, handoffs: [billing] });
export const adminAgent = withContext<Admin>().defineAgent({ name: 'admin', instructions: '', model });
export const ownOrders = defineGuardrail({
  name: 'own-orders',
  on: ['toolInput'],
  check: ({ tool }, { context }) => (tool === 'refund_order' && context.userId === 'guest' ? deny('guests have no orders') : allow()),
});
