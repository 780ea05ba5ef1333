import assert from 'node:assert/strict';
// #region content
import { defineAgent, run } from '@guardloop/core';
import type { McpServer } from '@guardloop/mcp';
import { say, scriptedModel } from '@guardloop/testing';

async function sumUp(server: McpServer, uri: string) {
  const parts = await server.resources.read(uri); // labelled untrusted
  return run(reader, [{ type: 'text', text: 'Sum this up.' }, ...parts]);
}
async function begin(server: McpServer, prompt: string) {
  const { history } = await server.prompts.get(prompt, { city: 'Graz' });
  return run(reader, 'Go on.', { history }); // untrusted, and guarded on `input`
}
const reader = defineAgent({ name: 'reader', instructions: 'Read.', model: scriptedModel([say('Short.')]) });
// #endregion
const parts = [{ type: 'text', text: 'long', label: { origin: 'tool:x-resources__read', integrity: 'untrusted' } }] as const;
const fake = {
  resources: { read: async () => parts },
  prompts: { get: async () => ({ history: [{ role: 'user', text: 'In Graz.' }] }) },
} as unknown as McpServer;
assert.equal((await sumUp(fake, 'notes://1')).messages[0]?.label.integrity, 'untrusted');
assert.equal((await begin(fake, 'weather')).messages[0]?.label.integrity, 'untrusted');
