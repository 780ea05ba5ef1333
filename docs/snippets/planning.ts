import assert from 'node:assert/strict';
import { defineTool } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { z } from 'zod';

const findTrain = defineTool({
  name: 'find_train',
  description: 'Finds a train.',
  input: z.object({ to: z.string() }),
  flow: { effect: 'read' },
  execute: ({ to }) => `A train to ${to} leaves at 9.`,
});
const bookRoom = defineTool({
  name: 'book_room',
  description: 'Books a room.',
  input: z.object({ hotel: z.string() }),
  flow: { effect: 'write' },
  execute: ({ hotel }) => `Booked at the ${hotel}.`,
});
const steps = [
  { id: 'train', goal: 'Find a train to Lyon', needs: [] },
  { id: 'sum', goal: 'Sum it up', needs: ['train'] },
];
const big = scriptedModel([say(JSON.stringify({ steps }))]);
const small = scriptedModel(({ messages, turn }) =>
  JSON.stringify(messages[0]).includes('Sum')
    ? say('The train to Lyon leaves at 9.')
    : turn === 1
      ? callTool('find_train', { to: 'Lyon' })
      : say('At 9.'),
);

// #region plan
import { defineAgent, run } from '@guardloop/core';
import { planAndExecute, planSchema } from '@guardloop/reasoning';

const planner = defineAgent({ name: 'planner', instructions: 'Plan trips.', model: big, output: planSchema });
const executor = defineAgent({ name: 'executor', instructions: 'Do what you are told.', model: small, tools: [findTrain, bookRoom] });
const trip = planAndExecute({ name: 'trip', planner, executor, replan: { max: 2 } });
const result = await run(trip, 'Get me to Lyon.');
// #endregion
assert.equal(result.status === 'completed' && result.output, 'The train to Lyon leaves at 9.');

// #region compare
import { comparePlan, planOf } from '@guardloop/reasoning';

const plan = planOf(result.log); // { steps: [{ id, goal, needs }, …] }
const what = comparePlan(result.log);
for (const { plan: number, id, status, calls } of what?.steps ?? []) console.log(`plan ${number}, ${id}: ${status}, ${calls} calls`);
// #endregion
assert.deepEqual(plan, { steps });
assert.equal(what?.isAsPlanned, true);

const clerkModel = scriptedModel(({ messages, turn }) =>
  turn === 1
    ? callTool('book_room', { hotel: 'Rose' })
    : say(JSON.stringify(messages[0]).includes('price') ? 'Booked, for 90 euro.' : 'Booked.'),
);
const clerk = defineAgent({ name: 'clerk', instructions: 'Book rooms.', model: clerkModel, tools: [bookRoom] });

// #region reflection
import { withReflection } from '@guardloop/reasoning';

const careful = withReflection({
  name: 'careful',
  agent: clerk,
  attempts: 3,
  judge: ({ status, output, steps }) => {
    if (status !== 'completed') return undefined; // it has failed: how is told to the next attempt anyway
    if (!steps.some(({ action }) => action.kind === 'call')) return 'Nothing was looked up or booked. Use the tools.';
    return output?.includes('euro') ? undefined : 'The price is missing. Say what it costs.';
  },
});
const booked = await run(careful, 'A room at the Rose, please.');
// #endregion
assert.equal(booked.status === 'completed' && booked.output, 'Booked, for 90 euro.');

const judgeModel = scriptedModel([say('{"isGood":true,"critique":""}')]);

// #region judge
import { verdictSchema } from '@guardloop/reasoning';

const judge = defineAgent({ name: 'judge', instructions: 'Was the guest told all?', model: judgeModel, output: verdictSchema });
const judged = withReflection({ name: 'judged', agent: clerk, judge });
// #endregion
assert.equal((await run(judged, 'A room at the Rose, please.')).status, 'completed');

const readerModel = scriptedModel([say('{"hotel":"Rose","nights":2}')]);
const writerModel = scriptedModel([say('Two nights are 180 euro.')]);

// #region pipeline
import { pipeline } from '@guardloop/reasoning';

const request = z.object({ hotel: z.string(), nights: z.number() });
const reader = defineAgent({ name: 'reader', instructions: 'Read letters.', model: readerModel, output: request });
const writer = defineAgent({ name: 'writer', instructions: 'Answer letters.', model: writerModel });
const letters = pipeline({
  name: 'letters',
  stages: [
    (letter) => letter.trim(), // the first stage is given the task
    reader, // a run of its own
    ({ hotel, nights }) => `Say that ${nights} nights at the ${hotel} cost ${nights * 90} euro.`, // typed by the reader's answer
    writer,
  ],
});
const answer = await run(letters, ' What are two nights at the Rose? ');
// #endregion
assert.equal(answer.status === 'completed' && answer.output, 'Two nights are 180 euro.');
