import assert from 'node:assert/strict';
import { auditLog } from '@guardloop/testing';

// #region returned

import { defineAgent, defineTool, handoff, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const fraud = defineAgent({ name: 'fraud', description: 'Suspicious payments.', instructions: 'Look into it.', model: scriptedModel([]) });
const checkPayment = defineTool({
  name: 'check_payment',
  description: 'Check a payment.',
  input: z.object({ paymentId: z.string() }),
  execute: ({ paymentId }) => (paymentId.startsWith('x') ? handoff(fraud, { brief: `Payment ${paymentId} looks odd.` }) : 'It is fine.'),
});
// #endregion
const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([]), tools: [checkPayment] });
const model = scriptedModel({ desk: [callTool('check_payment', { paymentId: 'x1' })], fraud: [say('I blocked it.')] });
const result = await run(desk, 'Is x1 all right?', { model });
assert.equal(result.status === 'completed' && result.agent, 'fraud');
assert.deepEqual(auditLog(result.log), []);

// #region as-tool

import { asTool } from '@guardloop/core';

const translator = defineAgent({ name: 'translator', instructions: 'Translate into French.', model: scriptedModel([say('Bonjour.')]) });
const writer = defineAgent({
  name: 'writer',
  instructions: 'Write letters.',
  model: scriptedModel([callTool('translate', { input: 'Hello.' }), say('The letter says: Bonjour.')]),
  tools: [asTool(translator, { name: 'translate', description: 'Translate a text into French.', limits: { turns: 2 } })],
});
const letter = await run(writer, 'Write to Paris.');
// #endregion
assert.equal(letter.status === 'completed' && letter.text, 'The letter says: Bonjour.');
const child = letter.events.find((event) => event.type === 'run.start' && event.parent === letter.runId);
assert.equal(child?.run, `${letter.runId}/1.0`);
assert.equal(letter.usage.requests, 3);
assert.deepEqual(auditLog(letter.log), []);
