// How to test agents: a scripted model, the audit, and cutting the log anywhere, as a crash would.
import assert from 'node:assert/strict';
import type { Model } from '@guardloop/core';
import { allow, assertCompleted, defineAgent, defineGuardrail, defineTool, deny, resume, run, stream } from '@guardloop/core';
import { auditLog, callTool, cutAnywhere, normalLog, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

// What is tested: an agent that may mail only people in the house.
const sent: string[] = [];
function mailer(model: Model) {
  const sendMail = defineTool({
    name: 'send_mail',
    description: 'Sends a mail.',
    input: z.object({ to: z.string(), text: z.string() }),
    flow: { effect: 'send', authority: ['to'] },
    execute: ({ to }) => {
      sent.push(to);
      return 'sent';
    },
  });
  const inHouse = defineGuardrail({
    name: 'in-house',
    on: ['toolInput'],
    check: ({ input }) => ((input as { readonly to: string }).to.endsWith('@example.org') ? allow() : deny('only people in the house')),
  });
  return defineAgent({ name: 'mailer', instructions: 'Send mails.', model, tools: [sendMail], guardrails: [inHouse] });
}

// 1. A script says what the model does; a step may be a function of the request.
const model = scriptedModel([
  [callTool('send_mail', { to: 'ada@example.org', text: 'Hi' }), callTool('send_mail', { to: 'eve@example.com', text: 'Hi' })],
  say('One mail is out.'),
]);
const result = await run(mailer(model), 'Mail Ada and Eve.');
assertCompleted(result);
assert.deepEqual(sent, ['ada@example.org']);
model.assertSpent();

// 2. The model was told what happened: look at what it was sent.
const results = model.requests[1]?.messages.flatMap((message) => (message.role === 'tool' ? [message.isError] : []));
assert.deepEqual(results, [false, true]);

// 3. Nothing crossed a boundary unseen; and a log in which a verdict is missing does not pass.
assert.deepEqual(auditLog(result.log), []);
const events = result.log.events.filter(({ type }) => type !== 'guard.verdict').map((event, index) => ({ ...event, seq: index + 1 }));
const findings = auditLog({ version: 1, events });
console.log(`Without its verdicts the log has ${findings.length} findings, such as: ${findings[0]}`);
assert.ok(findings.length > 0);

// 4. Streaming is the same run: the logs are equal, but for times and ids.
const streamed = await stream(mailer(model), 'Mail Ada and Eve.').result;
assert.deepEqual(normalLog(streamed.log), normalLog(result.log));

// 5. Cut the log after each event, resume, compare: the run ends the same, or asks a person whether the mail went out. Never twice.
const report = await cutAnywhere(result.log, async (prefix) => {
  // What the cut run had done before it was cut, it has done.
  sent.length = prefix.events.some(({ type }) => type === 'tool.start') ? 1 : 0;
  const resumed = await resume(mailer(model), prefix, { input: 'Mail Ada and Eve.' });
  assert.ok(sent.length <= 1, 'a mail went out twice');
  return resumed;
});
console.log(`Cut at ${report.cuts} places: ${report.same} ended the same, ${report.asked} asked a person.`);
assert.deepEqual(report.differences, []);
