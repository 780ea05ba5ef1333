// Guardrails of your own: a name, the surfaces where it stands, and `rewrite`, `check`, or both. Without an answer, nothing crosses.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Guardrail } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, deny, rewrite, run } from '@guardloop/core';
import { say, scriptedModel } from '@guardloop/testing';

// A family of guardrails is a function that gives one. `rewrite` changes what crosses; `check` then sees exactly what will.
const maskMails = (options: { readonly keepDomain: boolean }) =>
  defineGuardrail({
    name: 'mask-mails',
    version: options.keepDomain ? '1-domain' : '1', // stands in the log; a new version asks again what an old one has answered
    on: ['input', 'output'],
    rewrite: ({ content }) => {
      const masked = content.replace(/[\w.]+@([\w.]+\w)/g, options.keepDomain ? '***@$1' : '***');
      return masked === content ? allow() : rewrite(masked, 'a mail address');
    },
    check: ({ content }) =>
      /password/i.test(content) ? deny('passwords do not belong here', { reply: 'Please keep your password.' }) : allow(),
  });

// A judge that is asked over the network: async, with a deadline. `signal` is aborted when nobody waits for the answer any more.
const slowJudge = defineGuardrail({
  name: 'slow-judge',
  on: ['input'],
  timeoutMs: 50,
  check: async (_subject, { signal }) => {
    await sleep(60_000, undefined, { signal });
    return allow();
  },
});

// A rule on trial: its answers stand in the log, and nobody obeys them.
const onTrial = defineGuardrail({ name: 'on-trial', on: ['input'], shadow: true, check: () => deny('I would refuse everything') });

async function ask(text: string, guardrails: readonly Guardrail<unknown>[]) {
  const model = scriptedModel(({ messages: [message] }) => {
    const part = message?.role === 'user' ? message.parts[0] : undefined;
    return say(`You wrote: ${part?.type === 'text' ? part.text : ''}`);
  });
  const agent = defineAgent({ name: 'echo', instructions: 'Repeat.', model, refusal: 'I cannot help with that.' });
  const result = await run(agent, text, { guardrails });
  const answers = result.events.flatMap((event) =>
    event.type === 'guard.verdict' ? [`${event.guardrail} ${event.phase} ${event.action}`] : [],
  );
  console.log(
    `> ${text}\n  ${answers.join(', ')}\n  ${result.status}: ${result.status === 'completed' ? result.text : result.status === 'blocked' ? `${result.reason}; the person reads: ${result.reply}` : ''}`,
  );
  return result;
}

const masked = await ask('I am ada@example.org.', [maskMails({ keepDomain: true }), onTrial]);
assert.equal(masked.status === 'completed' && masked.text, 'You wrote: I am ***@example.org.');
assert.ok(!JSON.stringify(masked.log).includes('ada@'));

const refused = await ask('My password is 1234.', [maskMails({ keepDomain: false })]);
assert.equal(refused.status === 'blocked' && refused.reply, 'Please keep your password.');

// A guardrail that hangs, throws, or answers nonsense refuses. `failed` tells it from one that refused; `resume` asks it again.
const failed = await ask('Hello?', [slowJudge]);
assert.ok(failed.status === 'blocked' && failed.failed);
assert.equal(failed.reason, 'guardrail slow-judge failed');
assert.equal(failed.reply, 'I cannot help with that.');
