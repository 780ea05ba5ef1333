import type { RunEvent } from '@guardloop/core';
import { defineAgent, defineGuardrail, rewrite, run } from '@guardloop/core';
import { say, scriptedModel } from '@guardloop/testing';
import { expect, it } from 'vitest';

it.each([false, true])('a rewrite that does not fit counts for the breaker as it does for the verdict (in shadow: %s)', async (shadow) => {
  let asked = 0;
  const far = defineGuardrail({
    name: 'far',
    on: ['input'],
    shadow,
    breaker: { failures: 1 },
    rewrite: () => {
      asked += 1;
      return rewrite([{ start: 0, end: 9_999, with: '' }], 'too far');
    },
  });
  const states: string[] = [];
  const observers = [(event: RunEvent) => (event.type === 'guard.breaker' ? states.push(event.state) : undefined)];
  for (let runs = 0; runs < 3; runs += 1) {
    const agent = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([say('done')]), guardrails: [far] });
    const result = await run(agent, 'hi', { observers });
    expect(result).toMatchObject(shadow ? { status: 'completed' } : { status: 'blocked', failed: true });
  }
  expect([asked, states]).toEqual([1, ['open']]);
});
