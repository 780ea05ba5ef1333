import { defineAgent, defineTool, run, withContext } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { evaluate, evaluateLogs } from './evaluate.js';

const tasks = [
  { id: 'one', input: 'Say one.', answer: { contains: ['one'] }, tags: ['words'] },
  { id: 'two', input: 'Say two.', answer: { contains: ['two'] } },
];
const echo = () =>
  defineAgent({
    name: 'echo',
    instructions: '',
    model: scriptedModel((request) => {
      const [first] = request.messages;
      const text = first?.role === 'user' && first.parts[0]?.type === 'text' ? first.parts[0].text : '';
      return say(`${text} Seed ${request.settings.seed ?? 'none'}.`);
    }),
  });

it('runs each task as often as it is told, with a seed for each trial, and gives plain JSON', async () => {
  const seen: string[] = [];
  const result = await evaluate({
    name: 'echo',
    tasks,
    agent: echo(),
    trials: 2,
    seed: 7,
    onTrial: ({ task, trial, scored, log }) => seen.push(`${task.id} ${trial} ${scored.answer} ${log.events.at(-1)?.type}`),
  });
  expect(seen.sort()).toEqual([
    'one 1 Say one. Seed 7. run.end',
    'one 2 Say one. Seed 8. run.end',
    'two 1 Say two. Seed 7. run.end',
    'two 2 Say two. Seed 8. run.end',
  ]);
  expect(result.tasks.map(({ id, tags, trials }) => [id, tags, trials.map(({ trial, seed }) => [trial, seed])])).toEqual([
    [
      'one',
      ['words'],
      [
        [1, 7],
        [2, 8],
      ],
    ],
    [
      'two',
      [],
      [
        [1, 7],
        [2, 8],
      ],
    ],
  ]);
  expect(result.scores.success).toBe(1);
  expect(JSON.parse(JSON.stringify(result))).toEqual(result);
});

it('sends no seed that nobody gave', async () => {
  const result = await evaluate({ tasks, agent: echo() });
  expect(result.tasks[0]?.trials[0]?.answer).toBe('Say one. Seed none.');
});

it('holds a task to its own check too, which may wait and may throw', async () => {
  const checks = {
    one: async () => false,
    two: () => {
      throw new Error('no');
    },
  };
  const { tasks: results, scores } = await evaluate({ tasks, agent: echo(), checks });
  expect(scores.success).toBe(0);
  expect(results.map(({ trials }) => trials[0]?.why)).toEqual(['its check does not hold', 'its check does not hold']);
  const held = await evaluate({ tasks, agent: echo(), checks: { one: ({ result }) => result.status === 'completed' } });
  expect(held.scores.success).toBe(1);
  // Who forgot to return, or gave what cannot be one, has checked nothing.
  for (const said of [undefined, null, false, 0, ''])
    for (const answer of [said, Promise.resolve(said)]) {
      const silent = await evaluate({ tasks, agent: echo(), checks: { one: () => answer as never } });
      expect(silent.tasks.flatMap(({ trials }) => trials.map(({ why }) => why))).toContain('its check does not hold');
    }
});

it('makes an agent for each trial, and runs no more at a time than it may', async () => {
  let [made, running, most] = [0, 0, 0];
  const slow = defineTool({
    name: 'slow',
    description: 'Waits.',
    input: z.object({}),
    flow: { effect: 'read' },
    execute: async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running -= 1;
      return 'done';
    },
  });
  const agent = () => {
    made += 1;
    return defineAgent({ name: 'a', instructions: '', model: scriptedModel([callTool('slow', {}), say('one two')]), tools: [slow] });
  };
  await evaluate({ tasks, agent, trials: 3, concurrency: 2 });
  expect([made, most]).toEqual([6, 2]);
});

it('gives the context to an agent that needs one', async () => {
  const app = withContext<{ readonly word: string }>();
  const tool = app.defineTool({
    name: 'word',
    description: 'Tells the word.',
    input: z.object({}),
    flow: { effect: 'read' },
    execute: (_input, { context }) => context.word,
  });
  const agent = app.defineAgent({ name: 'a', instructions: '', model: scriptedModel([callTool('word', {}), say('one')]), tools: [tool] });
  const result = await evaluate({ tasks: tasks.slice(0, 1), agent, context: { word: 'four' } });
  expect(result.scores).toMatchObject({ success: 1, largest: 4 });
});

it('scores logs that are there already', async () => {
  const [task] = tasks;
  if (task === undefined) throw new Error('no task');
  const { log } = await run(echo(), task.input);
  const result = evaluateLogs('recorded', [
    { task, log },
    { task, log },
  ]);
  expect(result).toMatchObject({ name: 'recorded', scores: { success: 1 }, tasks: [{ id: 'one', trials: [{ trial: 1 }, { trial: 2 }] }] });
});

it('refuses what cannot be, and passes on what a maker throws', async () => {
  await expect(evaluate({ tasks, agent: echo(), trial: 2 } as never)).rejects.toThrow(
    'evaluate(…): there is no option trial. Did you mean trials?',
  );
  await expect(evaluate({ tasks, agent: echo(), trials: 0 })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  await expect(evaluate({ tasks, agent: echo(), checks: { three: () => true } })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  await expect(evaluate({ tasks: [{ id: '', input: 'x' }], agent: echo() })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  const agent = () => {
    throw new Error('no agent');
  };
  await expect(evaluate({ tasks, agent })).rejects.toThrow('no agent');
});
