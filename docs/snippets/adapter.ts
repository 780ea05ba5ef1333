import assert from 'node:assert/strict';
import { defineAgent, run } from '@guardloop/core';

// #region wrap

import type { Model } from '@guardloop/core';

/** New behaviour of a model goes in as a function from model to model: here, how long its first words take. */
export function withTiming(model: Model, note: (ms: number) => void): Model {
  return {
    ...model,
    async *stream(request, options) {
      const from = performance.now();
      let isFirst = true;
      for await (const event of model.stream(request, options)) {
        if (isFirst && event.type === 'text.delta') {
          isFirst = false;
          note(performance.now() - from);
        }
        yield event;
      }
    },
  };
}
// #endregion
const { say, scriptedModel } = await import('@guardloop/testing');
const helper = defineAgent({ name: 'helper', instructions: 'Be brief.', model: scriptedModel([]) });
const times: number[] = [];
const timed = await run(helper, 'Hi.', { model: withTiming(scriptedModel([say(['One', ' two.'])]), (ms) => times.push(ms)) });
assert.equal(timed.status === 'completed' && timed.text, 'One two.');
assert.equal(times.length, 1);
