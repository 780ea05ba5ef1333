import assert from 'node:assert/strict';
import { defineAgent, run } from '@guardloop/core';
import type { ScriptedModel } from '@guardloop/testing';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';

// #region design

import { defineTool, jsonFields, toolError } from '@guardloop/core';
import { z } from 'zod';

const findOrders = defineTool({
  name: 'find_orders',
  description: 'Find orders of the signed-in customer, newest first. At most 20.',
  input: z.object({
    status: z.enum(['open', 'shipped', 'returned']).optional().describe('Left out: all.'),
    limit: z.number().int().min(1).max(20).default(5),
  }),
  flow: { effect: 'read', results: 'trusted' },
  timeoutMs: 5_000,
  execute: async ({ status, limit }, { signal }) => database.orders({ status, limit, signal }),
  project: jsonFields({ keep: ['orderId', 'status', 'total'], maxChars: 2_000 }),
});
// #endregion
interface Order {
  readonly orderId: string;
  readonly status: string;
  readonly total: number;
  readonly internalNote: string;
}
const database = {
  async orders({ limit }: { status: string | undefined; limit: number; signal: AbortSignal }): Promise<readonly Order[]> {
    return [{ orderId: 'o1', status: 'open', total: 120, internalNote: 'x'.repeat(500) }].slice(0, limit);
  },
};
const model = scriptedModel([
  callTool('find_orders', { status: 'gone' }),
  callTool('find_orders', { status: 'open' }),
  say('One open order.'),
]);
const desk = defineAgent({ name: 'desk', instructions: '', model, tools: [findOrders] });
const result = await run(desk, 'What is open?');
assert.equal(result.status, 'completed');
const observed = (asked: ScriptedModel, index: number): string =>
  String(asked.requests[index]?.messages.findLast((message) => message.role === 'tool')?.content);
// #region misfit
const told: unknown = JSON.parse(observed(model, 1)); // what the model saw of a call with { status: 'gone' }
// #endregion
assert.deepEqual(told, {
  status: 'error',
  error_class: 'invalid_input',
  summary: (told as { summary: string }).summary,
  retryable: true,
});
assert.match((told as { summary: string }).summary, /^find_orders: .*status/);
assert.ok(!(told as { summary: string }).summary.includes('gone'));
assert.equal(observed(model, 2), '[{"orderId":"o1","status":"open","total":120}]');
const shown = model.requests[2]?.messages.findLast((message) => message.role === 'tool');
assert.equal(shown?.role === 'tool' && shown.note, '[left out: 1 field]');
assert.deepEqual(auditLog(result.log), []);

// #region errors
const reserve = defineTool({
  name: 'reserve_table',
  description: 'Reserve a table.',
  input: z.object({ day: z.iso.date(), people: z.number().int() }),
  flow: { effect: 'write' },
  execute: ({ people }) => {
    if (people > 8) throw toolError('people is at most 8; larger groups call us', { errorClass: 'invalid_input', retryable: true });
    if (isClosed()) return toolError('the kitchen system is not reachable', { errorClass: 'unavailable', retryable: true });
    return { reservationId: 't1' };
  },
});
// #endregion
const isClosed = (): boolean => false;
const host = scriptedModel([callTool('reserve_table', { day: '2027-01-01', people: 12 }), say('At most eight.')]);
await run(defineAgent({ name: 'host', instructions: '', model: host, tools: [reserve] }), 'A table for twelve.');
assert.deepEqual(JSON.parse(observed(host, 1)), {
  status: 'error',
  error_class: 'invalid_input',
  summary: 'reserve_table failed: people is at most 8; larger groups call us',
  retryable: true,
});
