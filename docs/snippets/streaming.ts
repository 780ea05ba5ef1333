import assert from 'node:assert/strict';
import { auditLog } from '@guardloop/testing';

// #region watch

import { allow, defineAgent, defineGuardrail, deny, stream } from '@guardloop/core';
import { say, scriptedModel, think } from '@guardloop/testing';

const polite = defineGuardrail({
  name: 'polite',
  on: ['output'],
  check: ({ content }) => (/stupid/i.test(content) ? deny('be polite') : allow()),
});
const model = scriptedModel([say(['That is a ', 'stupid question.']), say(['Gladly: ', 'it is o1.'])]);
const desk = defineAgent({ name: 'desk', instructions: '', model, guardrails: [polite] });

let shown = '';
const events = stream(desk, 'Which one is it?');
for await (const event of events) {
  switch (event.type) {
    case 'text.delta':
      shown += event.text;
      break;
    case 'text.retract': // only with `release: 'live'`, a failed window, a cancel …: take `chars` characters back
      shown = shown.slice(0, shown.length - event.chars);
      break;
    case 'tool.start':
      console.log(`calling ${event.tool}`);
      break;
  }
}
const result = await events.result; // never rejects once the run was entered
// #endregion
assert.equal(shown, 'Gladly: it is o1.');
assert.equal(result.status, 'completed');
assert.deepEqual(auditLog(result.log), []);

// #region live
const seen: string[] = [];
const live = stream(desk, 'Which one is it?', { release: 'live' });
for await (const event of live) {
  if (event.type === 'text.delta') seen.push(event.text);
  if (event.type === 'text.retract') seen.push(`(taken back: ${event.chars} characters, ${event.reason})`);
}
// #endregion
assert.deepEqual(seen, ['That is a ', 'stupid question.', '(taken back: 26 characters, be polite)', 'Gladly: ', 'it is o1.']);

// #region leave
const endless = stream(desk, 'Which one is it?');
for await (const event of endless) {
  if (event.type === 'model.start') break; // leaving the iterator cancels the run
}
const left = await endless.result;
// #endregion
assert.equal(left.status, 'cancelled');

// #region observers
const times: number[] = [];
const watched = await stream(desk, 'Which one is it?', {
  observers: [{ 'guard.verdict': (event) => times.push(event.ms) }, (event) => console.log(event.type)],
}); // a stream can be awaited for its result
// #endregion
assert.equal(watched.status, 'completed');
assert.equal(times.length, 2);

// #region reasoning
const thoughtful = defineAgent({ name: 'thoughtful', instructions: '', model: scriptedModel([[think('Carry the one.'), say('12')]]) });
const thoughts: string[] = [];
for await (const event of stream(thoughtful, '5 + 7?', { reasoning: 'show' })) {
  if (event.type === 'reasoning.delta') thoughts.push(event.text);
}
// #endregion
assert.deepEqual(thoughts, ['Carry the one.']);
