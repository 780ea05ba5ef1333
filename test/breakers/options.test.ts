import { defineAgent, memorySession, resume, run, stream } from '@guardloop/core';
import { say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';

const trap = new Proxy(
  {},
  {
    get: () => {
      throw new Error('trap');
    },
  },
);
const agent = defineAgent({ name: 'desk', instructions: 'Help.', model: scriptedModel([say('hi')]) });
const doors = {
  run: (options: never) => run(agent, 'hello', options),
  stream: async (options: never) => stream(agent, 'hello', options).result,
  resume: async (options: never) => resume(agent, (await run(agent, 'hello')).log, options).result,
};

describe.each(Object.keys(doors) as (keyof typeof doors)[])('%s', (door) => {
  it.each([
    ['signal', null],
    ['signal', trap],
    ['quarantine', trap],
    ['clock', trap],
    ['model', trap],
    ['observers', [null]],
    ['observers', [5]],
  ])('refuses an option %s that is none with CONFIG_INVALID', async (name, value) => {
    await expect((async () => doors[door]({ [name]: value } as never))()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});

it('refuses a session that cannot be read with CONFIG_INVALID', async () => {
  await expect(run(agent, 'hello', { session: trap as never })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});

it.each([
  ['a store alone', memorySession()],
  ['a text', 'chat-1'],
])('says what a session is made of where it is %s', async (_, session) => {
  await expect(run(agent, 'hello', { session: session as never })).rejects.toThrow('Give { store, id }');
});
