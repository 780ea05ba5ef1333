import { defineAgent, stream } from '@guardloop/core';
import { say, scriptedModel, wait } from '@guardloop/testing';
import { expect, it } from 'vitest';

it('answers every read of a stream, in order, when several are asked for at once', async () => {
  const agent = defineAgent({ name: 'desk', instructions: 'Help.', model: scriptedModel([[wait(5), say('hi')]]) });
  const iterator = stream(agent, 'hello')[Symbol.asyncIterator]();
  const reads = Array.from({ length: 9 }, () => iterator.next());
  const types = (await Promise.all(reads)).map(({ value }) => value?.type);
  expect(types).toEqual([
    'run.start',
    'input.accept',
    'model.start',
    'turn.start',
    'text.delta',
    'model.end',
    'run.end',
    undefined,
    undefined,
  ]);
});

it('answers every open read when the reader leaves', async () => {
  const agent = defineAgent({ name: 'desk', instructions: 'Help.', model: scriptedModel([[wait(1_000), say('hi')]]) });
  const iterator = stream(agent, 'hello')[Symbol.asyncIterator]();
  for (let count = 0; count < 4; count += 1) await iterator.next();
  const open = [iterator.next(), iterator.next()];
  await iterator.return?.();
  expect((await Promise.all(open)).map(({ done }) => done)).toEqual([true, true]);
});
