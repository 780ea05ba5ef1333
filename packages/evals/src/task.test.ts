import { expect, it } from 'vitest';
import { hopTasks } from './hops/hop-tasks.js';
import { readTasks } from './task.js';

it('reads tasks from JSON as they were written', () => {
  expect(readTasks(JSON.parse(JSON.stringify(hopTasks)))).toEqual(hopTasks);
});

it.each([
  [[{ id: 'a' }], /^Task 1, field input is not as it must be/],
  [
    [
      { id: 'a', input: 'x' },
      { id: 'b', input: 'y', answers: {} },
    ],
    /^Task 2 is not as it must be: .*answers/,
  ],
  [[{ id: 'a', input: 'x', answer: { matches: '(' } }], /^Task 1, field answer\.matches .*regular expression/],
  [
    [
      { id: 'a', input: 'x' },
      { id: 'a', input: 'y' },
    ],
    /^Two tasks have the id a/,
  ],
  [{ id: 'a' }, /^The task set is not as it must be/],
])('says which task and field is wrong in %j', (given, words) => {
  expect(() => readTasks(given)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(words) }));
});
