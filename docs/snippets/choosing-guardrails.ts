import assert from 'node:assert/strict';
import { coverage, defineAgent, defineTool } from '@guardloop/core';
import { say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const sendMail = defineTool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: z.object({ to: z.string(), body: z.string() }),
  flow: { effect: 'send', authority: ['to'] },
  execute: () => 'sent',
});
const agent = defineAgent({ name: 'assistant', instructions: 'Help.', model: scriptedModel([say('Hello.')]), tools: [sendMail] });
const input = 'Hello';

// #region recommended
import { run } from '@guardloop/core';
import { recommended } from '@guardloop/guardrails';

const result = await run(agent, input, { guardrails: recommended({ hosts: ['shop.example'] }), strict: true });
// #endregion
assert.equal(result.status, 'completed');
assert.ok(coverage(agent, { guardrails: recommended() }).every(({ unguarded }) => unguarded.length === 0));

// #region written-out
import { dataFlow, egress, hiddenText, injection, length, secrets } from '@guardloop/guardrails';

const writtenOut = [
  length({ name: 'input-length', on: ['input'], max: 200_000 }),
  hiddenText(), // removed everywhere, before others look
  secrets(), // redacted everywhere
  egress({ allow: ['shop.example'], on: ['output'] }), // links and images in answers
  injection({ on: ['toolOutput'], then: 'deny', shadow: true }), // logged, not obeyed
  dataFlow({ links: ['shop.example'] }), // calls
];
// #endregion
assert.deepEqual(
  writtenOut.map(({ name, on }) => [name, on]),
  recommended({ hosts: ['shop.example'] }).map(({ name, on }) => [name, on]),
);

// #region own
import { textGuardrail } from '@guardloop/guardrails';

const ticketNumbers = textGuardrail(
  {
    name: 'ticket-numbers',
    find: (text) => [...text.matchAll(/\bTK-\d{6}\b/g)].map(({ index }) => ({ start: index, end: index + 9, kind: 'ticket' })),
    then: 'redact',
    window: 10, // no finding is longer, or depends on more text on either side: answers flow
  },
  { on: ['output'], placeholder: '[ticket]' },
);
// #endregion
const masked = await run(agent, 'Which ticket?', { guardrails: [ticketNumbers], model: scriptedModel([say('It is TK-123456.')]) });
assert.equal(masked.status === 'completed' && masked.output, 'It is [ticket].');
