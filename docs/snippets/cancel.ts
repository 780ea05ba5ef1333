import assert from 'node:assert/strict';

// #region cancel

import { setTimeout as delay } from 'node:timers/promises';
import { defineAgent, defineTool, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const slow = defineTool({
  name: 'slow_report',
  description: 'Takes long.',
  input: z.object({}),
  flow: { effect: 'read' },
  execute: async (_input, { signal }) => {
    await delay(60_000, undefined, { signal });
    return 'done';
  },
});
const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([callTool('slow_report'), say('There.')]), tools: [slow] });
const controller = new AbortController();
setTimeout(() => controller.abort(new Error('the user left')), 20);
const result = await run(agent, 'Report.', { signal: controller.signal });
// #endregion
assert.equal(result.status, 'cancelled');

// #region limits
const bounded = await run(agent, 'Report.', { limits: { turns: 4, toolCalls: 10, tokens: 50_000, ms: 30 } });
// #endregion
assert.equal(bounded.status === 'exhausted' && bounded.limit, 'ms');

// #region finalize
const model = scriptedModel((request) =>
  request.toolChoice === 'none' ? say('I found nothing in time.') : callTool('look', { page: request.turn }),
);
const look = defineTool({
  name: 'look',
  description: 'Look.',
  input: z.object({ page: z.number() }),
  flow: { effect: 'read' },
  execute: () => 'nothing',
});
const searcher = defineAgent({ name: 'searcher', instructions: '', model, tools: [look] });
const finalized = await run(searcher, 'Find it.', { limits: { turns: 3 }, onLimit: 'finalize' });
// #endregion
assert.deepEqual(finalized.status === 'exhausted' && [finalized.limit, finalized.output], ['turns', 'I found nothing in time.']);
assert.equal(model.requests.length, 4);
