// Streaming is a way to watch a run. Guardrails hold in it too: no character is shown before it was checked.
import assert from 'node:assert/strict';
import { allow, defineAgent, defineGuardrail, rewrite, stream } from '@guardloop/core';
import { say, scriptedModel } from '@guardloop/testing';

// `window: 24` promises: no span is longer than 24 characters, or depends on more than 24 around it. So text can flow a little behind the
// model. Without it, an output guardrail holds the answer back to its end.
const noCardNumbers = defineGuardrail({
  name: 'no-card-numbers',
  on: ['output'],
  window: 24,
  rewrite: ({ content }) => {
    const spans = [...content.matchAll(/(?<!\d)\d{4}(?: \d{4}){3}(?!\d)/g)].map(({ 0: found, index }) => ({
      start: index,
      end: index + found.length,
      with: '[card]',
    }));
    return spans.length > 0 ? rewrite(spans, 'card number') : allow();
  },
});

// The number comes in pieces, as from a real model.
const answer = 'You paid on Monday with the card 4111 1111 1111 1111, and the parcel left on Tuesday. It should arrive on Friday.';
const model = scriptedModel([say(answer)], { chunks: 25 });
const agent = defineAgent({ name: 'billing', instructions: 'Answer about payments.', model, guardrails: [noCardNumbers] });

const pieces: string[] = [];
const events = stream(agent, 'How did I pay?');
for await (const event of events) {
  // Events are those of the log (`guard.verdict`, `tool.start`, `handoff`, …), and some that are only watched, such as this one.
  if (event.type === 'text.delta') {
    pieces.push(event.text);
    process.stdout.write(event.text);
  }
  if (event.type === 'guard.verdict') console.log(`\n[${event.guardrail}: ${event.action}]`);
}
// Leaving the loop early would cancel the run. Its result:
const result = await events.result;

assert.equal(result.status, 'completed');
assert.equal(pieces.join(''), answer.replace(/\d{4}(?: \d{4}){3}/, '[card]'));
assert.ok(pieces.length > 2, 'the text flowed');
assert.ok(!JSON.stringify(result.log).includes('4111'), 'the number is nowhere');
