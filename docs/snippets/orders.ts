import assert from 'node:assert/strict';

// #region orders

import { defineAgent, defineTool, run } from '@guardloop/core';
import type { Scheduler } from '@guardloop/testing';
import { auditLog, callTool, exploreOrders, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

/** Two reads of a run may end in either order. */
const deskOf = (scheduler: Scheduler) =>
  defineAgent({
    name: 'desk',
    instructions: '',
    model: scriptedModel([[callTool('find', { id: 'o1' }), callTool('find', { id: 'o2' })], say('Both are shipped.')]),
    tools: [
      defineTool({
        name: 'find',
        description: 'Find an order.',
        input: z.object({ id: z.string() }),
        flow: { effect: 'read' },
        execute: ({ id }) => scheduler.settle(`${id} is shipped`, id),
      }),
    ],
  });

const tried = await exploreOrders({ orders: 20 }, async (scheduler) => {
  const found = await scheduler.run(() => run(deskOf(scheduler), 'Where are they?', { clock: scheduler.clock }));
  assert.deepEqual(
    found.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : [])),
    ['o1 is shipped', 'o2 is shipped'], // in the order of the calls, whichever ended first
  );
  assert.deepEqual(auditLog(found.log), []);
});
// #endregion
assert.deepEqual(tried, { orders: 20, different: 2 });
