import assert from 'node:assert/strict';
import { defineAgent, defineGuardrail, defineTool, deny, run } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order.',
  input: z.object({ orderId: z.string() }),
  flow: { effect: 'read' },
  execute: ({ orderId }) => ({ orderId, status: 'shipped' }),
});
const tools = [findOrder];
const model = scriptedModel([
  [say('The order first.'), callTool('find_order', { orderId: '' })],
  callTool('find_order', { orderId: 'o1' }),
  say('It is lost.'),
]);
const better = scriptedModel([say(''), callTool('find_order', { orderId: 'o1' }), say('It is shipped.')]);
const agent = defineAgent({ name: 'clerk', instructions: 'Answer about orders.', model, tools });
const { log } = await run(agent, 'Where is order o1?');

// #region steps
import { checkInvariant, printSteps, steps } from '@guardloop/reasoning';

console.log(printSteps(log)); // turn by turn; the slot in which a fault lies begins with !
const failed = steps(log).filter(({ fault }) => fault !== undefined);
const thoughtless = checkInvariant(log);
// #endregion
assert.equal(failed.length, 0);
assert.equal(thoughtless.length, 2);

// #region replay
import { replay } from '@guardloop/core';

for (const { event, run: state } of replay(log)) {
  const { status, turn, calls, left, usage } = state;
  console.log(
    event.seq,
    event.type,
    status,
    turn,
    calls.map(({ tool, phase }) => `${tool} ${phase}`),
    left.turns,
    usage.inputTokens,
  );
}

// #endregion

// #region fork
import { fork } from '@guardloop/core';

const strict = defineAgent({ name: 'clerk', instructions: 'Say nothing that you have not read.', model: better, tools });
const forked = await fork(strict, log, { at: { turn: 2 } }); // or at: the `seq` of an event
// #endregion
assert.equal(forked.status === 'completed' && forked.output, 'It is shipped.');

// #region guardrails
const noFinds = defineGuardrail({ name: 'no-finds', on: ['toolInput'], check: () => deny('not today') });
const refused = await fork(agent, log, { at: { turn: 2 }, guardrails: [noFinds], model: better, limits: { turns: 4 } });
// #endregion
assert.ok(refused.events.some((event) => event.type === 'guard.verdict' && event.action === 'deny'));

// #region log
import { forkLog, resume } from '@guardloop/core';

const branch = forkLog(log, { turn: 2 }, { runId: 'branch-1' }); // plain JSON: keep it, and go on elsewhere
const later = await resume(strict, branch, { accept: 'changed' });
// #endregion
assert.equal(later.runId, 'branch-1');

// #region diff
import { diffRuns, printDiff } from '@guardloop/evals';

const diff = diffRuns(log, forked.log);
console.log(diff.first); // { run: 'r1', turn: 3, slot: 'action', a: 'answer: It is lost.', b: 'answer: It is shipped.' }
console.log(printDiff(diff));
// #endregion
assert.equal(diff.first?.turn, 3);
assert.deepEqual(diff.first?.b, 'answer: It is shipped.');
