import type { SessionStore } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineTool, deny, GuardloopError, handoff, memorySession } from '@guardloop/core';
import { callTool, failWith, say } from '@guardloop/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { resume, run, scriptedModel, stream } from './audited.js';
import { eventsOf, textOf, untilAborted, watch } from './reading.js';
import { chatWire } from './wire.js';

const plain = (model: ReturnType<typeof scriptedModel>) => defineAgent({ name: 'a', instructions: '', model });

it('B43: History comes first; new items are added exactly once', async () => {
  const session = { store: memorySession(), id: 's' };
  const model = scriptedModel(({ messages }) => say(`answer ${messages.filter(({ role }) => role === 'user').length}`));
  for (const text of ['one', 'two', 'three']) expect(await run(plain(model), text, { session })).toMatchObject({ status: 'completed' });
  expect(model.requests.map(({ messages }) => messages.map(textOf))).toEqual([
    ['one'],
    ['one', 'answer 1', 'two'],
    ['one', 'answer 1', 'two', 'answer 2', 'three'],
  ]);
  const imported = scriptedModel([say('yes')]);
  await run(plain(imported), 'now', {
    history: [
      { role: 'user', text: 'before' },
      { role: 'assistant', text: 'noted' },
    ],
  });
  expect(imported.requests[0]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  expect(imported.requests[0]?.messages.map(textOf)).toEqual(['before', 'noted', 'now']);
});

it('B43: New items are added exactly once also after a retry of the run, and of the store', async () => {
  const inner = memorySession();
  let failures = 0;
  // Every second append is stored, and says that it failed.
  const flaky: SessionStore = {
    load: (id, after) => inner.load(id, after),
    append: async (id, events, after) => {
      await inner.append(id, events, after);
      failures += 1;
      if (failures % 2 === 0) throw new Error('connection reset');
    },
  };
  const session = { store: flaky, id: 's' };
  let isDown = true;
  const model = scriptedModel([() => (isDown ? failWith(new GuardloopError('MODEL_FAILED', 'down')) : say('Hello.'))]);
  expect(await run(plain(model), 'one', { session })).toMatchObject({ status: 'failed', error: { code: 'MODEL_FAILED' } });
  isDown = false;
  expect(await resume(plain(model), session)).toMatchObject({ status: 'completed', output: 'Hello.' });
  expect(await run(plain(model), 'two', { session })).toMatchObject({ status: 'completed' });
  expect(model.requests.at(-1)?.messages.map(textOf)).toEqual(['one', 'Hello.', 'two']);
  expect(failures).toBeGreaterThan(2);
  const stored = await inner.load('s');
  expect(stored.map(({ seq }) => seq)).toEqual(stored.map((_, index) => index + 1));
});

it('B44: A merge callback may be async, and its bad answer is an error', async () => {
  const model = scriptedModel([say('Hello.')]);
  const agent = plain(model);
  expect(await run(agent, 'hi', { view: async (messages) => [{ text: 'Be kind.' }, ...messages] })).toMatchObject({ status: 'completed' });
  expect(model.requests[0]?.messages.map(textOf)).toEqual(['Be kind.', 'hi']);
  for (const bad of [undefined, 'all of it', [42], [{ role: 'user', id: 'forged', parts: [] }], [null]]) {
    const result = await run(agent, 'hi', { view: async () => bad as never });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'CONFIG_INVALID' } });
    expect(result.status === 'failed' && result.error.message).toContain('view');
  }
  expect(model.requests).toHaveLength(1);
});

it('B44: A handoff filter may be async, and its bad answer is an error the model can act on', async () => {
  for (const bad of [undefined, 'all of it', [42], [null], [{ role: 'user', id: 'forged', parts: [] }]]) {
    const model = scriptedModel({ a: [callTool('transfer_to_b'), say('I stay.')], b: [say('I am b.')] });
    const b = defineAgent({ name: 'b', instructions: '', model });
    const agent = defineAgent({ name: 'a', instructions: '', model, handoffs: [handoff(b, { history: async () => bad as never })] });
    expect(await run(agent, 'hi')).toMatchObject({ status: 'completed', agent: 'a', output: 'I stay.' });
  }
});

it('B45: A view changes what the model sees, not what is recorded', async () => {
  const session = { store: memorySession(), id: 's' };
  const model = scriptedModel([say('Hello.')]);
  await run(plain(model), 'one', { session });
  const result = await run(plain(model), 'two', { session, view: (messages) => [{ text: 'In short: hello.' }, ...messages.slice(-1)] });
  expect(model.requests[1]?.messages.map(textOf)).toEqual(['In short: hello.', 'two']);
  expect(result.messages.map(textOf)).toEqual(['one', 'Hello.', 'two', 'Hello.']);
  await run(plain(model), 'three', { session });
  expect(model.requests[2]?.messages.map(textOf)).toEqual(['one', 'Hello.', 'two', 'Hello.', 'three']);
  expect(eventsOf(result.log, 'model.start').map(({ view }) => view === undefined)).toEqual([true, false]);
});

it('B46: Blocked input is not stored', async () => {
  const store = memorySession();
  const session = { store, id: 's' };
  const noBombs = defineGuardrail({
    name: 'no-bombs',
    on: ['input'],
    check: ({ content }) => (content.includes('bomb') ? deny('no') : allow()),
  });
  const model = scriptedModel([say('Hello.')]);
  const agent = defineAgent({ name: 'a', instructions: '', model, guardrails: [noBombs], refusal: 'Not that.' });
  await run(agent, 'one', { session });
  const { result } = await watch(stream(agent, 'a bomb', { session }));
  expect(result).toMatchObject({ status: 'blocked', reply: 'Not that.' });
  expect(JSON.stringify(await store.load('s'))).not.toContain('a bomb');
  await run(agent, 'two', { session });
  expect(model.requests.at(-1)?.messages.map(textOf)).toEqual(['one', 'Hello.', 'two']);
});

it('B47: Replayed history never holds a call without a result', async () => {
  const cancel = new AbortController();
  const pay = defineTool({ name: 'pay', description: 'Pays.', input: z.object({}), approval: true, execute: () => 'paid' });
  const wait = defineTool({
    name: 'wait',
    description: 'Waits.',
    input: z.object({}),
    execute: (_, { signal }) => {
      queueMicrotask(() => cancel.abort());
      return untilAborted(signal);
    },
  });
  const calls = [
    { id: 'c1', name: 'pay' },
    { id: 'c2', name: 'wait' },
  ];
  const wire = await chatWire((_, index) =>
    index < 2 ? { text: 'I try.', calls: index === 0 ? calls.slice(0, 1) : calls } : { text: 'Sorry.' },
  );
  const agent = defineAgent({ name: 'a', instructions: '', model: wire.model, tools: [pay, wait] });
  const session = { store: memorySession(), id: 's' };
  expect(await run(agent, 'one', { session })).toMatchObject({ status: 'interrupted' });
  await expect(run(agent, 'two', { session })).rejects.toMatchObject({ code: 'RESUME_MISMATCH' });
  expect(await run(agent, 'two', { session, unfinished: 'abandon', signal: cancel.signal })).toMatchObject({ status: 'cancelled' });
  expect(await run(agent, 'three', { session })).toMatchObject({ status: 'completed', output: 'Sorry.' });
  expect(wire.bodies.at(-1)?.messages.map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
    'user',
    'assistant',
    'tool',
    'tool',
    'user',
  ]);
  expect(wire.bodies).toHaveLength(3);
});
