import assert from 'node:assert/strict';
import { memoryStore } from '@guardloop/store';
import { callTool, say, scriptedModel } from '@guardloop/testing';

const model = scriptedModel([callTool('locate', { why: 'the next shop' }), say('We guarantee it is open.')]);
const store = memoryStore();

// #region tool
import { defineAgent, defineTool } from '@guardloop/core';
import { z } from 'zod';

const locate = defineTool({
  name: 'locate',
  description: 'Where the person is, as their browser says.',
  input: z.object({ why: z.string() }),
  flow: { effect: 'read', results: 'untrusted' },
  // no `execute`: the front end runs it
});
// #endregion

const held = new Map<string, JsonValue>();

// #region quarantine
import type { JsonValue } from '@guardloop/core';
import { allow, ask, defineGuardrail } from '@guardloop/core';
import { durable, durableAgent } from '@guardloop/durable';
import { anonymous, guardloopServer } from '@guardloop/server';

const quarantine = {
  put: async (key: string, value: JsonValue) => void held.set(key, value), // yours: a table, a bucket
  get: async (key: string) => held.get(key),
  delete: async (key: string) => void held.delete(key),
};
const noPromises = defineGuardrail({
  name: 'no-promises',
  on: ['output'],
  check: ({ content }) => (/guarantee/i.test(content) ? ask('a promise needs a person') : allow()),
});
const guide = defineAgent({ name: 'guide', instructions: 'Show the way.', model, tools: [locate], guardrails: [noPromises] });
const runs = durable({ store, agents: { guide: durableAgent(guide, { options: { quarantine } }) } });
const app = guardloopServer({ runs, agents: { guide: {} }, authenticate: anonymous(), quarantine });
// #endregion
const worker = await runs.worker();

const at = 'http://localhost/v1';
const json = { 'content-type': 'application/json' };
const body = JSON.stringify({ agent: 'guide', input: 'Where is a shop?' });
const { id } = await (await app.request(`${at}/runs`, { method: 'POST', headers: json, body })).json();
await runs.result(id, { until: 'wait' });

// #region result
const { items } = await (await app.request(`${at}/approvals?state=open`)).json();
const [call] = items; // call.approval: { tool: 'locate', input: { why: 'the next shop' }, caller: true, … }
const given = await app.request(`${at}/approvals/${encodeURIComponent(call.id)}/decision`, {
  method: 'POST',
  headers: json,
  body: JSON.stringify({ decision: { result: { city: 'Graz' } }, digest: call.approval.digest }),
});
// #endregion
assert.equal(given.status, 200);
await runs.result(id, { until: 'wait' });

// #region answer
const [waiting] = (await (await app.request(`${at}/approvals?state=open&surface=output`)).json()).items;
const answer = await (await app.request(`${at}/approvals/${encodeURIComponent(waiting.id)}/answer`)).json();
console.log(answer.text, answer.reasoning, answer.calls); // to the person who decides, and to nobody else
// #endregion
assert.equal(answer.text, 'We guarantee it is open.');

await worker.stop();
await runs.close();
await store.close();
