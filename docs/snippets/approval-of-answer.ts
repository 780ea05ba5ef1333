import assert from 'node:assert/strict';
import { auditLog } from '@guardloop/testing';

// #region quarantine

import type { JsonValue } from '@guardloop/core';
import { allow, ask, defineAgent, defineGuardrail, readQuarantined, resume, run } from '@guardloop/core';
import { say, scriptedModel } from '@guardloop/testing';

const held = new Map<string, JsonValue>();
const quarantine = {
  put: async (key: string, value: JsonValue) => void held.set(key, value),
  get: async (key: string) => held.get(key),
  delete: async (key: string) => void held.delete(key),
};
const noPromises = defineGuardrail({
  name: 'no-promises',
  on: ['output'],
  check: ({ content }) => (/guarantee/i.test(content) ? ask('a promise to a customer needs a person') : allow()),
});
const model = scriptedModel([say('We guarantee delivery on Friday.'), say('It should arrive on Friday.')]);
const desk = defineAgent({ name: 'desk', instructions: '', model, guardrails: [noPromises] });

const paused = await run(desk, 'When will it come?', { quarantine });
if (paused.status !== 'interrupted') throw new Error(paused.status);
const [approval] = paused.approvals;
if (approval?.surface !== 'output') throw new Error('no answer waits');
const { text } = await readQuarantined(quarantine, approval);
console.log(text); // to the person who decides
const { id } = approval;
const rejected = await resume(desk, paused.log, { quarantine, decisions: { [id]: { reject: 'make no promises' } } });
// #endregion
assert.ok(!JSON.stringify(paused).includes('guarantee delivery'));
assert.equal(rejected.status === 'completed' && rejected.text, 'It should arrive on Friday.');
assert.match(String(model.requests[1]?.note), /make no promises/);
assert.equal(held.size, 0);
assert.deepEqual(auditLog(rejected.log), []);
const again = await run(desk, 'When will it come?', { quarantine });
if (again.status !== 'interrupted') throw new Error(again.status);
const approved = await resume(desk, again.log, { quarantine, decisions: { [again.approvals[0]?.id ?? '']: 'approve' } });
assert.equal(approved.status === 'completed' && approved.text, 'We guarantee delivery on Friday.');
const without = await run(desk, 'When will it come?');
assert.equal(without.status === 'completed' && without.text, 'It should arrive on Friday.');
