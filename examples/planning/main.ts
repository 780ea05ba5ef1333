// Three ways to give work a form beforehand: a plan that is made and mended, attempts that are judged, and stages that are known.
import assert from 'node:assert/strict';
import { assertCompleted, defineAgent, defineTool, run } from '@guardloop/core';
import { comparePlan, pipeline, planAndExecute, planOf, planSchema, verdictSchema, withReflection } from '@guardloop/reasoning';
import { auditLog, callTool, refuse, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const book = (() => {
  const booked: string[] = [];
  const tool = defineTool({
    name: 'book_room',
    description: 'Books a room.',
    input: z.object({ hotel: z.string() }),
    flow: { effect: 'write' },
    execute: ({ hotel }) => {
      booked.push(hotel);
      return `Booked at ${hotel}.`;
    },
  });
  return { booked, tool };
})();
const textOf = (message: unknown): string => JSON.stringify(message);

// ---------------------------------------------------------------------------------------------- a plan
const plans = {
  first: {
    steps: [
      { id: 'room', goal: 'Book a room at the Rose', needs: [] },
      { id: 'train', goal: 'Find a train', needs: [] },
    ],
  },
  // The train failed. The room is booked: it stands in the new plan as it was, and is not booked again.
  second: {
    steps: [
      { id: 'room', goal: 'Book a room at the Rose', needs: [] },
      { id: 'bus', goal: 'Find a bus', needs: [] },
      { id: 'note', goal: 'Sum it up', needs: ['room', 'bus'] },
    ],
  },
};
const planner = defineAgent({
  name: 'planner',
  instructions: 'Plan trips.',
  model: scriptedModel(({ messages }) => say(JSON.stringify(textOf(messages[0]).includes('Failed:') ? plans.second : plans.first))),
  output: planSchema,
});
const executor = defineAgent({
  name: 'executor',
  instructions: 'Do what you are told, and say what came of it.',
  model: scriptedModel(({ messages, turn }) => {
    const goal = textOf(messages[0]);
    if (goal.includes('Book a room') && turn === 1) return callTool('book_room', { hotel: 'Rose' });
    if (goal.includes('train')) return refuse(); // there is none
    return say(goal.includes('Sum it up') ? 'A room at the Rose, and the bus at 9.' : goal.includes('bus') ? 'The bus at 9.' : 'Booked.');
  }),
  tools: [book.tool],
});
const trip = planAndExecute({ name: 'trip', planner, executor, replan: { max: 1 } });
const planned = await run(trip, 'Get me to Lyon for a night.');
assertCompleted(planned);
console.log(planned.text);
for (const { plan, id, goal, status } of comparePlan(planned.log)?.steps ?? []) console.log(`  plan ${plan} ${id}: ${goal} (${status})`);
assert.deepEqual(planOf(planned.log), plans.second);
assert.deepEqual(
  comparePlan(planned.log)?.steps.map(({ status }) => status),
  ['done', 'failed', 'kept', 'done', 'done'],
);
assert.deepEqual(book.booked, ['Rose']);

// ---------------------------------------------------------------------------------------------- attempts
const judge = defineAgent({
  name: 'judge',
  instructions: 'Is the guest told what it costs?',
  model: scriptedModel(({ messages }) => {
    const isGood = textOf(messages[0]).includes('90 euro');
    return say(JSON.stringify({ isGood, critique: isGood ? '' : 'The price is missing. Say what the room costs.' }));
  }),
  output: verdictSchema,
});
const clerk = defineAgent({
  name: 'clerk',
  instructions: 'Book rooms, and tell the guest.',
  model: scriptedModel(({ messages, turn }) => {
    if (turn === 1) return callTool('book_room', { hotel: 'Lily' }); // in each attempt; it happens once
    return say(textOf(messages[0]).includes('The price is missing') ? 'Booked at the Lily, for 90 euro.' : 'Booked at the Lily.');
  }),
  tools: [book.tool],
});
const careful = withReflection({ name: 'careful', agent: clerk, judge, attempts: 2 });
const reflected = await run(careful, 'A room at the Lily, please.');
assertCompleted(reflected);
console.log(reflected.text);
assert.equal(reflected.text, 'Booked at the Lily, for 90 euro.');
assert.deepEqual(book.booked, ['Rose', 'Lily']);
const shared = reflected.events.flatMap((event) => (event.type === 'tool.end' && event.copyOf ? [`${event.tool}: ${event.note}`] : []));
console.log(`  ${shared.join('\n  ')}`);
assert.equal(shared.length, 1);

// ---------------------------------------------------------------------------------------------- stages
const reader = defineAgent({
  name: 'reader',
  instructions: 'Say which hotel a letter is about, and how many nights.',
  model: scriptedModel([say('{"hotel":"Rose","nights":2}')]),
  output: z.object({ hotel: z.string(), nights: z.number() }),
});
const writer = defineAgent({ name: 'writer', instructions: 'Answer letters.', model: scriptedModel([say('Two nights are 180 euro.')]) });
const letters = pipeline({
  name: 'letters',
  stages: [
    (letter) => letter.trim(), // a text, as the task is
    reader,
    ({ hotel, nights }) => `Tell the guest that ${nights} nights at the ${hotel} cost ${nights * 90} euro.`, // typed by the reader's answer
    writer,
  ],
});
const answered = await run(letters, '  What are two nights at the Rose?  ');
assertCompleted(answered);
console.log(answered.text);
assert.equal(answered.text, 'Two nights are 180 euro.');

for (const { log } of [planned, reflected, answered]) assert.deepEqual(auditLog(log), []);
