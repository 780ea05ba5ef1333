import assert from 'node:assert/strict';
import { defineTool } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order.',
  input: z.object({ orderId: z.string() }),
  flow: { effect: 'read' },
  execute: ({ orderId }) => ({ orderId, status: 'shipped' }),
});
const model = scriptedModel([
  [say('I must see the order first.'), callTool('find_order', { orderId: 'o1' })],
  [say('It is shipped: that is the answer.'), callTool('final_answer', { answer: 'Order o1 is on its way.' })],
]);

// #region react
import { defineAgent, run } from '@guardloop/core';
import { react } from '@guardloop/reasoning';

const clerk = defineAgent({ name: 'clerk', instructions: 'Answer about orders.', model, tools: [findOrder], mode: react() });
const result = await run(clerk, 'Where is order o1?');
// #endregion
assert.equal(result.status === 'completed' && result.output, 'Order o1 is on its way.');

const jumpy = scriptedModel([
  callTool('find_order', { thought: 'I must see the order first.', orderId: 'o1' }),
  callTool('final_answer', { thought: 'It is shipped.', answer: 'Order o1 is on its way.' }),
]);
// #region argument
const caller = defineAgent({
  name: 'caller',
  instructions: 'Answer about orders.',
  model: jumpy, // calls at once, without a word
  tools: [findOrder],
  mode: react({ thought: 'argument' }),
});
// #endregion
assert.equal((await run(caller, 'Where is order o1?')).status, 'completed');

const plain = scriptedModel([
  say('Thought: I must see the order first.\nAction: find_order[o1]'),
  say('Thought: It is shipped.\nAction: Finish[Order o1 is on its way.]'),
]);

// #region text
import { textContract, textReact } from '@guardloop/reasoning';

const contract = (info: Parameters<typeof textContract>[0]) => `${textContract(info)}\nWrite thoughts in English.`;
const writer = defineAgent({
  name: 'writer',
  instructions: 'Answer about orders.',
  model: plain, // has no calls: it writes lines, and is read strictly
  tools: [findOrder],
  mode: textReact({ contract }),
});
const written = await run(writer, 'Where is order o1?', { limits: { repairs: 3 } });
// #endregion
assert.equal(written.status, 'completed');

// #region steps
import { checkInvariant, printSteps, steps } from '@guardloop/reasoning';

console.log(printSteps(result.log));
const faults = steps(result.log).filter(({ fault }) => fault !== undefined);
const thoughtless = checkInvariant(result.log);
// #endregion
assert.deepEqual([faults, thoughtless], [[], []]);

const hasty = scriptedModel([say('It has surely arrived.'), callTool('find_order', { orderId: 'o1' }), say('It is shipped.')]);

// #region evidence
import { evidence } from '@guardloop/reasoning';

const careful = defineAgent({
  name: 'careful',
  instructions: 'Answer about orders.',
  model: hasty,
  tools: [findOrder],
  guardrails: [
    evidence([
      'find_order', // a result of this tool
      {
        what: 'the status that was found',
        holds: ({ answer, results }) => results.some(({ content }) => answer.includes(statusIn(content))),
      },
    ]),
  ],
});
// #endregion
function statusIn(content: unknown): string {
  return (JSON.parse(String(content)) as { status: string }).status;
}
const sure = await run(careful, 'Where is order o1?');
assert.equal(sure.status === 'completed' && sure.output, 'It is shipped.');
