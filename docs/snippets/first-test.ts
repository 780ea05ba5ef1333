// #region test
import assert from 'node:assert/strict';
import { allow, defineAgent, defineGuardrail, defineTool, deny, run } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const sent: string[] = [];
const sendMail = defineTool({
  name: 'send_mail',
  description: 'Send one mail.',
  input: z.object({ to: z.email(), text: z.string() }),
  execute: ({ to }) => {
    sent.push(to);
    return 'sent';
  },
});
const ownDomain = defineGuardrail({
  name: 'own-domain',
  on: ['toolInput'],
  check: ({ raw }) => (String(raw.to).endsWith('@example.com') ? allow() : deny('mail goes to example.com only')),
});

const model = scriptedModel([callTool('send_mail', { to: 'eve@evil.test', text: 'hi' }), say('I may not send that.')]);
const clerk = defineAgent({ name: 'clerk', instructions: '', model, tools: [sendMail], guardrails: [ownDomain] });

const result = await run(clerk, 'Mail eve.');

assert.equal(result.status, 'completed');
assert.deepEqual(sent, []); // the tool never ran
assert.match(String(model.requests[1]?.messages.at(-1)?.role), /tool/); // and the model was told
assert.deepEqual(auditLog(result.log), []); // nothing crossed unjudged
// #endregion
