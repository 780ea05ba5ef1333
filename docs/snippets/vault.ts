import assert from 'node:assert/strict';
import type { RunEvent } from '@guardloop/core';
import { defineTool, memorySession, resume, run, stream, withContext } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const sent: { to: string; text: string }[] = [];
const mails = {
  send: async (to: string, text: string) => {
    sent.push({ to, text });
    return { sentTo: to };
  },
};

// #region make
import { pii, secrets, vault } from '@guardloop/guardrails';

interface Chat {
  readonly chatId: string;
}
const { defineAgent } = withContext<Chat>();

const values = vault<Chat>({
  conversation: ({ chatId }) => chatId,
  hides: [pii(), secrets()], // text guardrails, or functions that find
});
// #endregion
// #region restore
const sendMail = defineTool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: z.object({ to: z.string(), text: z.string() }),
  flow: { effect: 'send', authority: ['to'] },
  approval: true,
  execute: ({ to, text }) => mails.send(to, text),
});
const desk = defineAgent({
  name: 'desk',
  instructions: 'Answer the mails. Write placeholders such as [EMAIL_1] exactly as you see them.',
  model: scriptedModel([callTool('send_mail', { to: '[EMAIL_1]', text: 'Hello, [EMAIL_1].' }), say('I wrote to [EMAIL_1].')]),
  tools: [values.restore(sendMail, { fields: { to: 'email' } })], // only `to`, and only values of this kind
  guardrails: [values.guardrail],
});
// #endregion
const session = { store: memorySession(), id: 'chat-1' };
const context = { chatId: 'chat-1' };
// #region run
const waiting = await run(desk, 'Write to anna@example.org.', { context, session });
// waiting.approvals[0].input is { to: '[EMAIL_1]', text: 'Hello, [EMAIL_1].' }
// #endregion
const approval = waiting.status === 'interrupted' ? waiting.approvals[0] : undefined;
assert.deepEqual(approval?.surface === 'toolInput' && approval.input, { to: '[EMAIL_1]', text: 'Hello, [EMAIL_1].' });
const done = await resume(desk, session, { context, decisions: { [approval?.id ?? '']: 'approve' } });
assert.deepEqual(sent, [{ to: 'anna@example.org', text: 'Hello, [EMAIL_1].' }]);
assert.equal(JSON.stringify(done).includes('anna@'), false);
assert.deepEqual(auditLog(done.log), []);

// #region reveal
if (done.status === 'completed') {
  const shown = await values.reveal('chat-1', done.output); // 'I wrote to anna@example.org.'
  show(shown);
}
// #endregion
function show(text: string): void {
  assert.equal(text, 'I wrote to anna@example.org.');
}
const pieces: string[] = [];
const write = (text: string) => pieces.push(text);
const talking = defineAgent({ name: 'talking', instructions: '', model: scriptedModel([say(['Hello [EM', 'AIL_1], hello.'])]) });
// #region stream
const events = stream(talking, 'Say hello.', { context });
for await (const event of values.revealStream<RunEvent>('chat-1', events)) if (event.type === 'text.delta') write(event.text);
// #endregion
assert.equal(pieces.join(''), 'Hello anna@example.org, hello.');

const rows = new Map<string, { placeholder: string; kind: string; value: string }[]>();
const database = {
  read: async (name: string) => rows.get(name) ?? [],
  insertAfter: async (name: string, entries: readonly { placeholder: string; kind: string; value: string }[], after: number) => {
    const before = rows.get(name) ?? [];
    if (before.length !== after) return false;
    rows.set(name, [...before, ...entries]);
    return true;
  },
  remove: async (name: string) => void rows.delete(name),
};
const keyFromYourSecrets = btoa('0123456789abcdef0123456789abcdef');

// #region store
import type { VaultStore } from '@guardloop/guardrails';

const store: VaultStore = {
  load: (conversation) => database.read(conversation),
  append: (conversation, entries, after) => database.insertAfter(conversation, entries, after), // false where another was faster
  delete: (conversation) => database.remove(conversation),
};
const stored = vault<Chat>({ conversation: ({ chatId }) => chatId, hides: [pii(), secrets()], store, key: keyFromYourSecrets });
const address = await stored.put('chat-2', 'email', 'bert@example.org'); // '[EMAIL_1]', for instructions
await stored.forget('chat-2'); // nobody can put it back any more
// #endregion
assert.equal(address, '[EMAIL_1]');
assert.equal(await stored.reveal('chat-2', address), '[EMAIL_1]');

// #region schema
import { orPlaceholder } from '@guardloop/guardrails';

const input = z.object({ to: orPlaceholder(z.email()), text: z.string() });
// #endregion
assert.equal(input.safeParse({ to: '[EMAIL_1]', text: '' }).success, true);
assert.equal(input.safeParse({ to: 'nobody', text: '' }).success, false);

// #region around
import { aroundTool } from '@guardloop/core';

const quiet = aroundTool(sendMail, {
  input: (given, { callId }) => ({ ...(given as object), text: `${(given as { text: string }).text}\n\nRef. ${callId}` }),
  text: (text) => text.replaceAll('anna', '…'),
});
// #endregion
assert.equal(quiet.name, 'send_mail');
