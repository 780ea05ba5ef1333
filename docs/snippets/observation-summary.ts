import assert from 'node:assert/strict';
import { defineAgent, run, usageBy } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';

const smallModel = scriptedModel(() => say('Ticket T-17 is open; the customer waits for a refund of 1,500 cents.'), { id: 'small' });
const ticket = { ticketId: 'T-17', status: 'open', refund: { cents: 1500 }, thread: 'And then I wrote again. '.repeat(200) };

// #region project
import { summariseObservation } from '@guardloop/context';
import { defineTool } from '@guardloop/core';
import { z } from 'zod';

const readTicket = defineTool({
  name: 'read_ticket',
  description: 'Read a support ticket with its whole thread.',
  input: z.object({ ticketId: z.string() }),
  flow: { effect: 'read', results: 'untrusted' },
  execute: async ({ ticketId }) => tickets.get(ticketId),
  project: summariseObservation({ model: smallModel, maxChars: 600, keep: 'arguments' }),
});
// #endregion
const tickets = { get: async (ticketId: string) => ({ ...ticket, ticketId }) };
const model = scriptedModel([callTool('read_ticket', { ticketId: 'T-17' }), say('A refund is wanted.')]);
const result = await run(defineAgent({ name: 'support', instructions: '', model, tools: [readTicket] }), 'What about T-17?');
assert.equal(result.status, 'completed');
const [shown] = result.messages.filter((message) => message.role === 'tool');
assert.deepEqual(JSON.parse(String(shown?.content)), {
  summary_by_a_model: 'Ticket T-17 is open; the customer waits for a refund of 1,500 cents.',
  fields: { ticketId: 'T-17', status: 'open' },
});
assert.equal(usageBy(result.log).byModel.small?.requests, 1);
assert.deepEqual(auditLog(result.log), []);

// #region evaluate
import { evaluateSummariser } from '@guardloop/context';

const cases = [{ name: 'a long thread', output: ticket, arguments: ['ticketId'] }];
const report = await evaluateSummariser(cases, summariseObservation({ model: smallModel, maxChars: 600, keep: 'arguments' }));
const { facts, lost } = report.total; // identifiers, numbers, statuses and kept values; of each case: which, and where they stood
// #endregion
assert.deepEqual([facts, lost], [3, 0]);
