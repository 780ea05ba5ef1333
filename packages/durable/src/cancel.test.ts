import type { JsonObject } from '@guardloop/core';
import { allow, ask, defineAgent, defineGuardrail } from '@guardloop/core';
import type { Store } from '@guardloop/store';
import { memoryStore } from '@guardloop/store';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { expect, it, onTestFinished } from 'vitest';
import { durable, durableAgent } from './index.js';

/** The store as a process sees it whose first look at a session takes a while: until `go` settles. */
function slowStore(inner: Store, go: Promise<void>): { readonly store: Store; readonly looked: Promise<void> } {
  let tell = (): void => undefined;
  const looked = new Promise<void>((resolve) => {
    tell = resolve;
  });
  let isFirst = true;
  const get: Store['sessions']['get'] = async (id) => {
    const found = await inner.sessions.get(id);
    if (isFirst) {
      isFirst = false;
      tell();
      await go;
    }
    return found;
  };
  return { store: { ...inner, sessions: { ...inner.sessions, get } }, looked };
}

it('a run that is begun and handed back while somebody cancels it ends in the log too, and its session goes on', async () => {
  const inner = memoryStore();
  const model = scriptedModel(async (request) => {
    const isFirst = request.messages.every(({ role }) => role === 'user') && request.messages.length === 1;
    if (isFirst) await new Promise(() => undefined);
    return say('Well.');
  });
  const agents = { desk: defineAgent({ name: 'desk', instructions: '', model }) };
  let letGo = (): void => undefined;
  const { store, looked } = slowStore(inner, new Promise((resolve) => (letGo = resolve)));
  const client = durable({ store, agents });
  const runs = durable({ store: inner, agents, upkeepMs: 20 });
  onTestFinished(() => runs.close({ graceMs: 0 }));
  await client.submit('desk', 'One', { id: 'r1', session: 's' });
  const cancelling = client.cancel('r1', { reason: 'no more' });
  await looked;
  const worker = await runs.worker();
  await expect.poll(async () => (await inner.load('s')).map(({ type }) => type), { timeout: 20_000 }).toContain('model.start');
  await worker.stop({ graceMs: 0 });
  expect(await runs.status('r1')).toMatchObject({ state: 'queued' });
  letGo();
  expect(await cancelling).toMatchObject({ status: 'cancelling' });
  await runs.worker();
  await runs.submit('desk', 'Two', { id: 'r2', session: 's' });
  expect(await runs.result('r2', { waitMs: 20_000 })).toMatchObject({ status: 'completed', text: 'Well.' });
  expect(await runs.result('r1')).toMatchObject({ status: 'cancelled', reason: 'no more' });
  expect(auditLog({ version: 1, events: await inner.load('s') })).toEqual([]);
});

it('an answer that waits in quarantine is deleted with the run that is cancelled', async () => {
  const kept = new Map<string, JsonObject>();
  const quarantine = {
    put: async (key: string, answer: JsonObject) => void kept.set(key, answer),
    get: async (key: string) => kept.get(key),
    delete: async (key: string) => void kept.delete(key),
  };
  const looks = defineGuardrail({
    name: 'looks',
    on: ['output'],
    check: ({ content }) => (content.includes('promise') ? ask('a person looks') : allow()),
  });
  const model = scriptedModel(() => say('I promise it.'));
  const desk = defineAgent({ name: 'desk', instructions: '', model, guardrails: [looks] });
  const agents = { desk: durableAgent(desk, { options: { quarantine } }) };
  const runs = durable({ store: memoryStore(), agents, upkeepMs: 20 });
  onTestFinished(() => runs.close({ graceMs: 0 }));
  await runs.worker();
  await runs.submit('desk', 'When?', { id: 'r1' });
  expect(await runs.result('r1', { waitMs: 20_000 })).toMatchObject({ status: 'interrupted' });
  expect(kept.size).toBe(1);
  await runs.cancel('r1');
  const result = await runs.result('r1', { until: 'end', waitMs: 20_000 });
  if (result.status !== 'cancelled') throw new Error(result.status);
  expect(auditLog(result.log)).toEqual([]);
  expect(kept.size).toBe(0);
});

it('an answer that waits in quarantine is deleted where its agent cannot go on with the run any more', async () => {
  const kept = new Map<string, JsonObject>();
  const quarantine = {
    put: async (key: string, answer: JsonObject) => void kept.set(key, answer),
    get: async (key: string) => kept.get(key),
    delete: async (key: string) => void kept.delete(key),
  };
  const looks = defineGuardrail({ name: 'looks', on: ['output'], check: () => ask('a person looks') });
  const target = defineAgent({ name: 'target', instructions: '', model: scriptedModel(() => say('I promise it.')), guardrails: [looks] });
  const deskOf = (handoffs: readonly (typeof target)[]) => {
    const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([callTool('transfer_to_target')]), handoffs });
    return durableAgent(desk, { options: { quarantine } });
  };
  const store = memoryStore();
  const first = durable({ store, agents: { desk: deskOf([target]) }, upkeepMs: 20 });
  await first.worker();
  await first.submit('desk', 'When?', { id: 'r1' });
  expect(await first.result('r1', { waitMs: 20_000 })).toMatchObject({ status: 'interrupted' });
  await first.close();
  expect(kept.size).toBe(1);
  const runs = durable({ store, agents: { desk: deskOf([]) }, upkeepMs: 20 });
  onTestFinished(() => runs.close({ graceMs: 0 }));
  await runs.worker();
  await runs.cancel('r1');
  const result = await runs.result('r1', { until: 'end', waitMs: 20_000 });
  if (result.status !== 'cancelled') throw new Error(result.status);
  expect(auditLog(result.log)).toEqual([]);
  expect(kept.size).toBe(0);
});
