// A mail is written to somebody whose address the model never sees: in the log, in what a person approves and in each request stands [EMAIL_1].
import assert from 'node:assert/strict';
import { defineAgent, defineTool, memorySession, resume, run } from '@guardloop/core';
import { memoryVaultStore, pii, vault } from '@guardloop/guardrails';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const key = globalThis.crypto.getRandomValues(new Uint8Array(32)); // of your secrets
const store = memoryVaultStore(); // of your database
const sessions = memorySession();
const outbox: string[] = [];

/** All that a process makes when it starts. */
function startProcess() {
  const values = vault({ conversation: () => 'chat-1', hides: [pii()], store, key });
  const sendMail = defineTool({
    name: 'send_mail',
    description: 'Sends a mail.',
    input: z.object({ to: z.string(), text: z.string() }),
    flow: { effect: 'send', authority: ['to'] },
    approval: true,
    execute: ({ to, text }) => {
      outbox.push(`${to}: ${text}`);
      return { delivered: true, recipient: to }; // hidden again before anybody sees it
    },
  });
  const model = scriptedModel([
    callTool('send_mail', { to: '[EMAIL_1]', text: 'Your spade is on its way.' }),
    say('I have told [EMAIL_1] that the spade is on its way.'),
  ]);
  const agent = defineAgent({
    name: 'desk',
    instructions: 'Write placeholders such as [EMAIL_1] exactly as you see them.',
    model,
    tools: [values.restore(sendMail, { fields: { to: 'email' } })],
    guardrails: [values.guardrail],
  });
  return { values, agent, model };
}

const first = startProcess();
const waiting = await run(first.agent, 'Tell anna@example.org that her spade is on its way. Not [EMAIL_2]!', {
  session: { store: sessions, id: 'chat-1' },
});
assert.ok(waiting.status === 'interrupted');
const [approval] = waiting.approvals;
assert.ok(approval?.surface === 'toolInput');
console.log(`The model was told:   ${JSON.stringify(first.model.requests[0]?.messages[0]).match(/"text":"([^"]*)"/)?.[1]}`);
console.log(`A person approves:    ${approval.tool} ${JSON.stringify(approval.input)}`);
console.log(`The vault's store:    ${JSON.stringify(await store.load('chat-1')).slice(0, 90)}…`);

// Another process, an hour later.
const second = startProcess();
const result = await resume(second.agent, { store: sessions, id: 'chat-1' }, { decisions: { [approval.id]: 'approve' } });
assert.ok(result.status === 'completed');
const end = result.events.find((event) => event.type === 'tool.end');
console.log(`The tool was given:   ${outbox[0]}`);
console.log(`The log has of it:    ${end?.type === 'tool.end' ? end.content : ''}`);
console.log(`The answer:           ${result.output}`);
console.log(`Shown to the person:  ${await second.values.reveal('chat-1', result.output)}`);

assert.deepEqual(outbox, ['anna@example.org: Your spade is on its way.']);
assert.equal(JSON.stringify([waiting, result, first.model.requests, second.model.requests]).includes('anna@'), false);
assert.equal(await second.values.reveal('chat-1', result.output), 'I have told anna@example.org that the spade is on its way.');
