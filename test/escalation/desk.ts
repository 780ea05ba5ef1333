// An agent that pays, and what the tests of approvals read and do with it.
import type { Interrupted, JsonObject, Log, OpenApproval, RunResult } from '@guardloop/core';
import { defineTool } from '@guardloop/core';
import { expect } from 'vitest';
import { z } from 'zod';

export interface Payment {
  readonly orderId: string;
  readonly cents: number;
}

/** A tool that always asks, and what it has done. */
export function payments(more: { readonly flow?: { readonly effect: 'send' | 'write' } } = {}) {
  const paid: Payment[] = [];
  const pay = defineTool({
    name: 'pay',
    description: 'Pays for an order.',
    input: z.object({ orderId: z.string(), cents: z.number(), note: z.string().optional() }),
    approval: true,
    ...more,
    execute: ({ orderId, cents }) => {
      paid.push({ orderId, cents });
      return `paid ${cents}`;
    },
  });
  return { paid, pay };
}

/** The approvals of a run that waits. */
export function waiting(result: RunResult): Interrupted {
  if (result.status !== 'interrupted')
    throw new Error(`the run ended ${result.status}${result.status === 'failed' ? `: ${result.error.message}` : ''}`);
  return result;
}
export const idsOf = ({ approvals }: Interrupted): readonly string[] => approvals.map(({ id }) => id);
export function only({ approvals }: Interrupted): OpenApproval {
  const [approval] = approvals;
  if (approval === undefined || approvals.length > 1) throw new Error(`${approvals.length} approvals are open`);
  return approval;
}

export const inOrders = (...cents: readonly number[]): Payment[] => cents.map((each) => ({ orderId: 'o1', cents: each }));

/** Resumes that must be refused before anything is recorded. */
export async function refused(resumed: PromiseLike<unknown>, words: RegExp): Promise<void> {
  await expect(resumed).rejects.toMatchObject({ code: 'RESUME_MISMATCH', message: expect.stringMatching(words) as string });
}

/** A log as it was, with one event changed. */
export function altered(log: Log, type: string, change: (event: JsonObject, index: number) => JsonObject | undefined): Log {
  const events = log.events.map((event, index) =>
    event.type === type ? ((change(event as unknown as JsonObject, index) ?? event) as typeof event) : event,
  );
  return { version: log.version, events };
}
