// #region setup
import assert from 'node:assert/strict';
import { allow, defineAgent, defineGuardrail, defineTool, deny, GuardloopError, resume, run, stream } from '@guardloop/core';
import {
  auditLog,
  callTool,
  callUnparsable,
  cutAnywhere,
  cutOff,
  failWith,
  normalLog,
  refuse,
  say,
  scriptedModel,
  think,
} from '@guardloop/testing';
import { z } from 'zod';

let effects = 0;
const book = defineTool({
  name: 'book_room',
  description: 'Book a room.',
  input: z.object({ nights: z.number().int() }),
  flow: { effect: 'write' },
  execute: () => {
    effects += 1;
    return { bookingId: 'b1' };
  },
});
const short = defineGuardrail({
  name: 'short-stays',
  on: ['toolInput'],
  check: ({ raw }) => (Number(raw.nights) <= 14 ? allow() : deny('stays are at most 14 nights')),
});
const hotel = defineAgent({ name: 'hotel', instructions: '', model: scriptedModel([]), tools: [book], guardrails: [short] });
// #endregion

// #region steps
const model = scriptedModel([
  [think('A room.'), say('Let me see.'), callTool('book_room', { nights: 30 })], // step 1: turn 1
  callUnparsable('book_room', '{"nights":'), // step 2: arguments that are no JSON
  callTool('book_room', { nights: 3 }),
  say(['Booked', ': b1.']), // streamed in these chunks
]);
const result = await run(hotel, 'A room for a month.', { model });
assert.equal(result.status === 'completed' && result.text, 'Booked: b1.');
model.assertSpent(); // every step was asked for
// #endregion
assert.equal(effects, 1);

// #region faults
const failed = await run(hotel, 'Hello.', {
  model: scriptedModel([failWith(new GuardloopError('MODEL_FAILED', 'No connection.', { isRetryable: true }))]),
});
const refused = await run(hotel, 'Hello.', { model: scriptedModel([refuse('content filter')]) });
const cut = await run(hotel, 'Hello.', { model: scriptedModel([[say('I was'), cutOff()]]) });
assert.deepEqual([failed.status, refused.status, cut.status], ['failed', 'blocked', 'failed']);
// #endregion

// #region log
assert.deepEqual(auditLog(result.log), []); // complete mediation, pairs, approvals: from the log alone
const streamed = await stream(hotel, 'A room for a month.', { model });
assert.deepEqual(normalLog(streamed.log), normalLog(result.log)); // the same happened
// #endregion

// #region cut
effects = 0;
const report = await cutAnywhere(result.log, (prefix) => resume(hotel, prefix, { model, input: 'A room for a month.' }).result);
assert.deepEqual(report.differences, []); // each cut ends the same, or asks a person
// #endregion
assert.equal(report.same + report.asked, report.cuts);
assert.ok(report.asked > 0);

// #region agents
const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([]), handoffs: [hotel] });
const moved = await run(desk, 'A room, please.', {
  model: scriptedModel({ desk: [callTool('transfer_to_hotel')], hotel: [callTool('book_room', { nights: 1 }), say('Booked.')] }),
});
assert.equal(moved.agent, 'hotel');
// #endregion
