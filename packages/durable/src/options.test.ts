import { defineAgent } from '@guardloop/core';
import { memoryStore } from '@guardloop/store';
import { say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { RunInfo } from './index.js';
import { durable, durableAgent, durableClient, embeddedEngine } from './index.js';

const desk = defineAgent({ name: 'desk', instructions: '', model: scriptedModel([say('Hi.')]) });
const open = (options: object = {}) => {
  const runs = durable({
    store: memoryStore(),
    agents: { desk, strict: durableAgent(desk, { data: z.object({ secret: z.string() }) }) },
    ...options,
  });
  onTestFinished(() => runs.close({ graceMs: 0 }));
  return runs as unknown as {
    submit(...given: unknown[]): Promise<unknown>;
    worker(given?: unknown): Promise<unknown>;
    cancel(...given: unknown[]): Promise<unknown>;
    result(...given: unknown[]): Promise<unknown>;
    events(...given: unknown[]): unknown;
    list(): Promise<{ items: readonly unknown[] }>;
  };
};

describe('options', () => {
  it.each([
    [{ agnets: {} }, 'Did you mean agents?'],
    [{ agents: 'desk' }, '`agents` is "desk"'],
    [{ agents: { desk: {} } }, 'Give durableAgent(agent'],
    [{ store: {} }, '`store` is an object'],
    [{ engine: 'dbos' }, '`engine` is "dbos"'],
    [{ queues: { mail: { concurency: 1 } } }, 'Did you mean concurrency?'],
    [{ queues: { mail: { concurrency: 0 } } }, '`concurrency` is 0'],
    [{ queues: ['mail'] }, '`queues` is a list'],
    [{ maxAttempts: 0 }, '`maxAttempts` is 0'],
    [{ retry: { firstMs: 100, mostMs: 50 } }, '`mostMs` is 50'],
    [{ approvals: { remindAfter: 1 } }, 'Did you mean remindAfterMs?'],
    [{ approvals: { remindAfterMs: 1 } }, 'go together'],
    [{ approvals: { atExpiry: 'approve' } }, "'cancel'"],
    [{ upkeepMs: 'often' }, '`upkeepMs` is "often"'],
    [{ onError: 'log' }, '`onError` is "log"'],
    [{ upkeepMs: Number.POSITIVE_INFINITY }, '`upkeepMs` is Infinity'],
    [{ retry: { firstMs: Number.POSITIVE_INFINITY } }, '`firstMs` is Infinity'],
    [{ retry: { mostMs: Number.POSITIVE_INFINITY } }, '`mostMs` is Infinity'],
    [{ approvals: { expireAfterMs: Number.POSITIVE_INFINITY } }, '`expireAfterMs` is Infinity'],
    [{ approvals: { remindAfterMs: 1e300, onReminder: () => 1 } }, '`remindAfterMs` is 1e+300'],
  ])('of durable that are wrong are told when it is made: %j', (options, words) => {
    expect(() => durable({ store: memoryStore(), agents: { desk }, ...options } as never)).toThrow(words);
  });

  it('of agents, engines and clients too', () => {
    expect(() => durableAgent({} as never)).toThrow(/first argument of durableAgent is an object/);
    expect(() => durableAgent(desk, { contxt: () => 1 } as never)).toThrow(/Did you mean context\?/);
    expect(() => durableAgent(desk, { accept: 'all' } as never)).toThrow(/`accept` is "all"/);
    expect(() => durableAgent(desk, { data: z.string } as never)).toThrow(/`data` is a function/);
    expect(() => durableAgent(desk, { options: 5 } as never)).toThrow(/`options` is 5/);
    expect(() => embeddedEngine({ pollMs: 1 })).toThrow(/`pollMs` is 1/);
    // A timer of so long would be one of a millisecond.
    expect(() => embeddedEngine({ pollMs: 2 ** 31 })).toThrow(/`pollMs` is 2147483648/);
    expect(() => durableClient({ agents: {} } as never)).toThrow(/no option `agents`/);
  });

  it.each([
    [{ runId: 'r1' }, /has `runId`.*A worker gives it/],
    [{ signal: new AbortController().signal }, /has `signal`.*runs\.cancel/],
    [{ history: [] }, /has `history`/],
    [{ accept: 'changed' }, /Give `accept` beside `options`/],
    [{ decisions: {} }, /runs\.approvals\.decide/],
    [{ approvals: { key: 'a key of which nobody may be told anything' } }, /are not signed.*`digest`.*`encryption`/],
  ])("of an agent's runs that its workers do not take are told when it is made: %j", (options, words) => {
    expect(() => durableAgent(desk, { options } as never)).toThrow(words);
    expect(() => durableAgent(desk, { options } as never)).not.toThrow(/nobody may be told/);
    const [name = ''] = Object.keys(options);
    expect(() => durableAgent(desk, { options: { [name]: undefined } as never })).not.toThrow();
  });

  it.each([
    [{ approvals: { key: 'a key of which nobody may be told anything' } }, 'are not signed'],
    ['all', 'has made "all"'],
  ])("of a run that its agent's function should not have made are its trouble, before anything begins: %j", async (made, words) => {
    const told: RunInfo[] = [];
    const runs = durable({
      store: memoryStore(),
      agents: { desk: durableAgent(desk, { options: () => made as never }) },
      onTrouble: (run) => told.push(run),
    });
    onTestFinished(() => runs.close({ graceMs: 0 }));
    await runs.worker();
    await runs.submit('desk', 'Hi', { id: 'r1' });
    await expect.poll(() => told.length, { timeout: 20_000 }).toBe(1);
    expect(told).toMatchObject([{ id: 'r1', trouble: { code: 'CONFIG_INVALID', message: expect.stringContaining(words) } }]);
    expect(JSON.stringify(told)).not.toMatch(/nobody may be told/);
    expect(await runs.store.load('r1')).toEqual([]);
  });

  it.each([
    [['dask', 'Hi'], 'Did you mean desk?'],
    [['desk', { role: 'user' }], 'input of the run is an object'],
    [['desk', []], 'an empty list'],
    [['desk', [{ type: 'text', text: 'x', role: 'system' }]], 'has a role'],
    [['desk', [{ type: 'video' }]], 'the type "video"'],
    [['desk', [new Date()]], 'no plain JSON'],
    [['desk', 'Hi', { id: 'a/b' }], '`id` is "a/b"'],
    [['desk', 'Hi', { queue: 'mail' }], '`queue` is "mail"'],
    [['desk', 'Hi', { priority: -1 }], '`priority` is -1'],
    [['desk', 'Hi', { delayMs: 1, at: 5 }], 'not both'],
    [['desk', 'Hi', { at: 'tomorrow' }], '`at` is "tomorrow"'],
    [['desk', 'Hi', { limits: { turn: 1 } }], 'Did you mean turns?'],
    [['desk', 'Hi', { limits: { turns: 'many' } }], 'The limit turns is a string'],
    [['desk', 'Hi', { limits: { turns: 0 } }], 'The limit turns is 0. Give a whole number from 1'],
    [['desk', 'Hi', { limits: { tokens: 0 } }], 'The limit tokens is 0. Give a number above 0'],
    [['desk', 'Hi', { onLimit: 'end' }], "'stop' or 'finalize'"],
    [['desk', 'Hi', { unfinished: 'keep' }], "Give 'abandon'"],
    [['desk', 'Hi', { data: { when: new Date() } }], 'no plain JSON'],
    [['desk', 'Hi', { sesion: 'x' }], 'Did you mean session?'],
  ])('of submit that are wrong are told before anything is written: %j', async (given, words) => {
    const runs = open();
    await expect(runs.submit(...given)).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(words) });
    expect((await runs.list()).items).toEqual([]);
  });

  it('data that does not fit is told by its place, never by its value', async () => {
    const runs = open();
    const failure = await runs.submit('strict', 'Hi', { data: { secret: 471_147_114_711 } }).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('data.secret') });
    expect(String(failure)).not.toContain('471147114711');
  });

  it('data is told by names of its schema and places in lists, never by keys that were chosen with it', async () => {
    const data = z.object({
      'postal code': z.number(),
      list: z.array(z.object({ line1: z.string() })),
      notes: z.record(z.string(), z.number()),
    });
    const runs = open({ agents: { desk: durableAgent(desk, { data }) } });
    const given = { 'postal code': 'x', list: [{ line1: 'fine' }, { line1: 5 }], notes: { annasmith: 'x', '7': 'x' } };
    await expect(runs.submit('desk', 'Hi', { data: given })).rejects.toThrow(
      'does not fit its schema at data["postal code"], data.list[1].line1, data.notes[*]. Give data that fits.',
    );
    const dates = open({ agents: { desk: durableAgent(desk, { data: z.object({ when: z.coerce.date() }) }) } });
    await expect(dates.submit('desk', 'Hi', { data: { when: 'never' } })).rejects.toThrow('at data[*].');
  });

  it.each([
    [{ leaseMs: 10 }, '`leaseMs` is 10'],
    [{ leaseMs: 1_000.5 }, '`leaseMs` is 1000.5'],
    [{ queues: ['mail'] }, 'Give a list of default'],
    [{ concurrency: 1.5 }, '`concurrency` is 1.5'],
    [{ nam: 'x' }, 'Did you mean name?'],
  ])('of worker that are wrong: %j', async (given, words) => {
    await expect(open().worker(given)).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(words) });
  });

  it('of the rest', async () => {
    const runs = open();
    await runs.submit('desk', 'Hi', { id: 'r1' });
    await expect(runs.cancel('r1', { reason: '' })).rejects.toThrow(/`reason` is ""/);
    await expect(runs.result('r1', { waitMs: -1 })).rejects.toThrow(/`waitMs` is -1/);
    await expect(runs.result('r1', { until: 'now' })).rejects.toThrow(/'end' or 'wait'/);
    expect(() => runs.events('r1', { from: 1 })).toThrow(/no option `from`/);
    await expect(runs.result('r1', { signal: {} })).rejects.toThrow(/`signal` is an object\. Give an AbortSignal/);
    expect(() => runs.events('r1', { signal: 'stop' })).toThrow(/`signal` is "stop"\. Give an AbortSignal/);
  });

  it('parts, limits without end and times are kept', async () => {
    const store = memoryStore();
    const runs = durable({ store, agents: { desk } });
    onTestFinished(() => runs.close());
    const at = new Date('2030-01-01T00:00:00Z');
    const parts = [
      { type: 'text' as const, text: 'Hi' },
      { type: 'image' as const, mediaType: 'image/png', data: 'AAAA' },
    ];
    const { run } = await runs.submit('desk', parts, { limits: { turns: Number.POSITIVE_INFINITY, tokens: 5 }, at });
    expect(run).toMatchObject({ dueAt: at.getTime(), state: 'queued' });
    expect((await store.runs.get(run.id))?.submission).toEqual({ version: 1, input: parts, limits: { turns: null, tokens: 5 } });
  });
});
