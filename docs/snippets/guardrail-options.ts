import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { defineAgent, memorySession, run, stream } from '@guardloop/core';
import { auditLog, say, scriptedModel } from '@guardloop/testing';

const classify = async (text: string, signal: AbortSignal): Promise<number> => {
  await delay(5, undefined, { signal });
  return text.includes('poem') ? 0.9 : 0.1;
};

// #region failing

import { allow, defineGuardrail, deny, rewrite } from '@guardloop/core';

const judge = defineGuardrail({
  name: 'on-topic',
  version: '2', // change it when the rule changes: items that version 1 passed are asked again
  on: ['input'],
  timeoutMs: 800, // default 10,000; late is a failure, and `signal` is aborted
  onError: 'deny', // the default; 'halt', or 'allow' where a missed check is better than a refusal
  check: async ({ content }, { signal }) =>
    (await classify(content, signal)) > 0.5 ? deny('this desk answers about orders only') : allow(),
});
// #endregion
const model = scriptedModel([say('It is on its way.')]);
const desk = defineAgent({ name: 'desk', instructions: '', model, guardrails: [judge], refusal: 'I can help with orders.' });
assert.equal((await run(desk, 'Where is order o1?')).status, 'completed');
const offTopic = await run(desk, 'Write a poem.');
assert.equal(offTopic.status === 'blocked' && offTopic.reply, 'I can help with orders.');

const broken = defineGuardrail({
  name: 'broken',
  on: ['output'],
  check: () => {
    throw new Error('the classifier is down');
  },
});
const down = await run(defineAgent({ name: 'desk', instructions: '', model, guardrails: [broken] }), 'Hello.');
assert.deepEqual(down.status === 'blocked' && { by: down.by, reason: down.reason, failed: down.failed }, {
  by: 'broken',
  reason: 'guardrail broken failed',
  failed: true,
});

let answers = 0;
const service = (): Promise<boolean> => {
  answers += 1;
  return Promise.reject(new Error('the moderation service is down'));
};
// #region breaker
const moderated = defineGuardrail({
  name: 'moderation',
  on: ['input'],
  timeoutMs: 2_000,
  breaker: { failures: 5, coolDownMs: 10_000 },
  check: async () => ((await service()) ? allow() : deny('the message is not for this desk')),
});
// #endregion
const states: string[] = [];
for (let index = 0; index < 8; index += 1) {
  const refused = await run(defineAgent({ name: 'desk', instructions: '', model, guardrails: [moderated] }), 'Hello.', {
    observers: [{ 'guard.breaker': ({ guardrail, state }) => states.push(`${guardrail} ${state}`) }],
  });
  assert.equal(refused.status === 'blocked' && refused.failed, true);
}
assert.deepEqual([answers, states], [5, ['moderation open']]);

// #region beside
const beside = defineGuardrail({
  name: 'on-topic-beside',
  on: ['input'],
  beside: 'model',
  check: async ({ content }, { signal }) =>
    (await classify(content, signal)) > 0.5 ? deny('this desk answers about orders only') : allow(),
});
// #endregion
const hasty = scriptedModel([say('Roses are red')]);
const besides = await run(defineAgent({ name: 'desk', instructions: '', model: hasty, guardrails: [beside] }), 'Write a poem.');
assert.equal(besides.status, 'blocked');
assert.equal(hasty.requests.length, 1);
assert.ok(!JSON.stringify(besides).includes('Roses'));

// #region shadow
const candidate = defineGuardrail({
  name: 'no-promises',
  on: ['output'],
  shadow: true, // asked and logged, not obeyed
  check: ({ content }) => (/guarantee/i.test(content) ? deny('no promises about delivery') : allow()),
});
// #endregion
const eager = defineAgent({ name: 'eager', instructions: '', model: scriptedModel([say('I guarantee it.')]), guardrails: [candidate] });
const shadowed = await run(eager, 'Will it come?');
assert.equal(shadowed.status === 'completed' && shadowed.text, 'I guarantee it.');
// #region shadow-count
const wouldHaveRefused = shadowed.events.filter((event) => event.type === 'guard.verdict' && event.shadow && event.action !== 'allow');
// #endregion
assert.equal(wouldHaveRefused.length, 1);

// #region window
const noCards = defineGuardrail({
  name: 'no-card-numbers',
  on: ['output'],
  window: 24, // no span is longer, and none depends on more than 24 characters on either side
  rewrite: ({ content }) => {
    const spans = [...content.matchAll(/\b\d(?:[ -]?\d){12,18}\b/g)].map((found) => ({
      start: found.index,
      end: found.index + found[0].length,
      with: '[card number]',
    }));
    return spans.length > 0 ? rewrite(spans, 'a card number was masked') : allow();
  },
});
// #endregion
const text = 'You paid with 4111 1111 1111 1111, and everything after the number flows on as it comes from the model.';
const talking = defineAgent({
  name: 'talking',
  instructions: '',
  model: scriptedModel([say(text)], { chunks: 20 }),
  guardrails: [noCards],
});
const pieces: string[] = [];
const events = stream(talking, 'How did I pay?');
for await (const event of events) if (event.type === 'text.delta') pieces.push(event.text);
assert.ok(pieces.length > 1);
assert.equal(pieces.join(''), text.replace('4111 1111 1111 1111', '[card number]'));
assert.ok(!JSON.stringify((await events.result).log).includes('4111 1111'));

// #region run-level
const sessions = memorySession();
const result = await run(desk, 'Where is order o1?', {
  guardrails: [noCards], // stands before every agent, child runs included
  session: { store: sessions, id: 'chat-1' },
});
// #endregion
assert.equal(result.status, 'completed');
for (const each of [offTopic, down, besides, shadowed, result]) assert.deepEqual(auditLog(each.log), []);
