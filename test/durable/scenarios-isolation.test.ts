import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { View } from '@guardloop/core';
import { defineAgent, defineTool, withContext } from '@guardloop/core';
import { durable, durableAgent } from '@guardloop/durable';
import type { Store } from '@guardloop/store';
import { memoryStore } from '@guardloop/store';
import { sqliteStore } from '@guardloop/store-sqlite';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { ends, ofType, sleep, unhandled } from '../scenarios/sound.js';
import { mortalStore } from './mortal-store.js';
import { processOf, quick, sound } from './process-of.js';

/** Counts who watches. */
function watched(inner: Store): { readonly store: Store; watchers(): number } {
  let count = 0;
  const store: Store = Object.assign(Object.create(inner) as Store, {
    watch(...given: Parameters<Store['watch']>) {
      count += 1;
      const off = inner.watch(...given);
      let isOn = true;
      return () => {
        if (isOn) count -= 1;
        isOn = false;
        off();
      };
    },
  });
  return { store, watchers: () => count };
}
const f = defineTool({ name: 'f', description: 'f', input: z.object({}), execute: () => 'f gave' });

describe('K16 through workers', () => {
  it('S052: what a tool gives after its deadline is nowhere, and the run ends', async () => {
    const late: string[] = [];
    const slow = defineTool({
      name: 'slow',
      description: 'slow',
      input: z.object({}),
      timeoutMs: 20,
      execute: async () => {
        await sleep(150);
        late.push('late');
        return 'late';
      },
    });
    const model = scriptedModel([[callTool('slow', {}, 'c1'), callTool('f', {}, 'c2')], say('ok')]);
    const runs = processOf(memoryStore(), { a: defineAgent({ name: 'a', instructions: '', model, tools: [slow, f] }) });
    const seen = unhandled();
    await runs.worker();
    await runs.submit('a', 'go', { id: 'r1' });
    const result = await runs.result('r1');
    expect(result).toMatchObject({ status: 'completed', text: 'ok' });
    await sleep(250);
    expect(late).toEqual(['late']);
    expect(await runs.store.load('r1')).toEqual(sound(result));
    expect([...ends(sound(result))].sort()).toEqual(['1.0 unknown', '1.1 ok']);
    expect(seen).toEqual([]);
  });

  it('S151: a run that is cancelled by who is told of its question ends, and the session goes on', async () => {
    const pay = defineTool({ name: 'pay', description: 'pay', input: z.object({}), approval: true, execute: () => 'paid' });
    const model = scriptedModel((request) => (request.turn === 1 && request.tools.length > 0 ? callTool('pay', {}, 'c1') : say('hello')));
    const agents = {
      a: defineAgent({ name: 'a', instructions: '', model, tools: [pay] }),
      b: defineAgent({ name: 'b', instructions: '', model }),
    };
    const runs = processOf(memoryStore(), agents);
    await runs.worker();
    await runs.submit('a', 'go', { id: 'r1', session: 's' });
    let id = '';
    for await (const { event } of runs.events('r1'))
      if (event.type === 'approval.request') {
        id = event.approval.id;
        await runs.cancel('r1', { reason: 'stop' });
      }
    const result = await runs.result('r1', { until: 'end' });
    expect(result).toMatchObject({ status: 'cancelled', reason: 'stop' });
    expect(ends(sound(result))).toEqual(['1.0 aborted']);
    expect(await runs.approvals.decide(id, 'approve')).toMatchObject({ status: 'late' });
    await runs.submit('b', 'hello?', { id: 'r2', session: 's' });
    const next = await runs.result('r2');
    sound(next);
    expect(next).toMatchObject({ status: 'completed', text: 'hello' });
  });

  it('S155: after many runs nothing listens any more', async () => {
    const { store, watchers } = watched(memoryStore());
    const runs = processOf(store, {
      a: defineAgent({ name: 'a', instructions: '', model: scriptedModel([callTool('f'), say('ok')]), tools: [f] }),
    });
    const worker = await runs.worker();
    const before = watchers();
    const aborting = new AbortController();
    const warnings: string[] = [];
    const note = ({ name }: Error): void => void warnings.push(name);
    process.on('warning', note);
    onTestFinished(() => void process.off('warning', note));
    const ids = Array.from({ length: 60 }, (_, index) => `r${index}`);
    for (const id of ids) await runs.submit('a', 'go', { id });
    await Promise.all(
      ids.map(async (id) => {
        for await (const _ of runs.events(id, { signal: aborting.signal }));
        return runs.result(id, { signal: aborting.signal });
      }),
    );
    await expect.poll(() => worker.runs).toEqual([]);
    await expect.poll(watchers).toBe(before);
    await worker.stop();
    expect(watchers()).toBe(before - 1);
    expect(warnings).toEqual([]);
  });

  it('S156: a reader who leaves changes nothing, and may leave twice', async () => {
    const seen = unhandled();
    const model = scriptedModel([say(['a', 'b', 'c'])], { delayMs: 30 });
    const runs = processOf(memoryStore(), { a: defineAgent({ name: 'a', instructions: '', model }) });
    await runs.worker();
    await runs.submit('a', 'go', { id: 'r1' });
    const reader = runs.events('r1');
    expect((await reader.next()).value?.event.type).toBe('run.start');
    const other = runs.events('r1');
    await reader.return?.();
    await reader.return?.();
    let text = '';
    for await (const { event } of other) if (event.type === 'text.delta') text += event.text;
    expect(text).toBe('abc');
    expect(await runs.result('r1')).toMatchObject({ status: 'completed', text: 'abc' });
    expect(seen).toEqual([]);
  });
});

describe('K17 through workers', () => {
  it('S115: a handoff stands in the session once, though its worker is killed in the turn after it', async () => {
    const store = memoryStore();
    const agentsFor = (hangs: boolean) => {
      const model = scriptedModel(async (request) => {
        if (request.agent === 'triage') return callTool('transfer_to_a', { brief: 'help' });
        if (hangs) {
          inTurn2 = true;
          await new Promise(() => undefined);
        }
        return say('a is done');
      });
      const a = defineAgent({ name: 'a', instructions: '', model });
      return { triage: defineAgent({ name: 'triage', instructions: '', model, handoffs: [a] }) };
    };
    let inTurn2 = false;
    const mortal = mortalStore(store, Number.POSITIVE_INFINITY);
    const first = durable({ ...quick, store: mortal.store, agents: agentsFor(true) });
    await first.submit('triage', 'go', { id: 'r1', session: 's' });
    await first.worker({ leaseMs: 300 });
    await expect.poll(() => inTurn2, { timeout: 10_000 }).toBe(true);
    mortal.bury();
    const second = processOf(store, agentsFor(false));
    await second.worker();
    const result = await second.result('r1');
    const events = sound(result);
    expect(result).toMatchObject({ status: 'completed', agent: 'a', text: 'a is done' });
    for (const type of ['input.accept', 'handoff', 'run.end'] as const) expect(ofType(events, type)).toHaveLength(1);
    await first.close({ graceMs: 0 });
  });

  it('S124: the next run of a session starts where the last one ended, or at the entry where that agent is gone', async () => {
    const store = memoryStore();
    const model = scriptedModel((request) =>
      request.agent === 'triage' && request.messages.length === 1
        ? callTool('transfer_to_billing', { brief: 'b' })
        : say(`${request.agent} says`),
    );
    const billing = defineAgent({ name: 'billing', instructions: 'Bill.', model });
    const before = processOf(store, { triage: defineAgent({ name: 'triage', instructions: '', model, handoffs: [billing] }) });
    const worker = await before.worker();
    for (const id of ['r1', 'r2']) {
      await before.submit('triage', 'go', { id, session: 's' });
      expect(await before.result(id)).toMatchObject({ status: 'completed', agent: 'billing', text: 'billing says' });
    }
    await worker.stop();
    const after = processOf(store, { triage: defineAgent({ name: 'triage', instructions: '', model }) });
    await after.worker();
    await after.submit('triage', 'go', { id: 'r3', session: 's' });
    const last = await after.result('r3');
    sound(last);
    expect(last).toMatchObject({ status: 'completed', agent: 'triage', text: 'triage says' });
  });

  it('S125: two runs at once on one session, over two workers, lose nothing and mix nothing', async () => {
    const store = memoryStore();
    const make = () => ({
      a: defineAgent({ name: 'a', instructions: '', model: scriptedModel([callTool('f'), say('done')]), tools: [f] }),
    });
    const processes = [processOf(store, make()), processOf(store, make())];
    for (const runs of processes) await runs.worker();
    await Promise.all(processes.map((runs, index) => runs.submit('a', `from ${index}`, { id: `r${index}`, session: 's' })));
    for (const [index, runs] of processes.entries()) expect(await runs.result(`r${index}`)).toMatchObject({ status: 'completed' });
    const log = await store.load('s');
    expect(auditLog({ version: 1, events: log })).toEqual([]);
    const order = log.map(({ run }) => run);
    // One block for each run.
    expect(order.filter((run, index) => run !== order[index - 1])).toHaveLength(2);
    expect(ofType(log, 'tool.end')).toHaveLength(2);
  });

  it('S126: twenty runs over four processes on a file that is just being made', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'guardloop-fleet-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const stores = Array.from({ length: 4 }, () => sqliteStore({ file: join(folder, 'runs.db'), pollMs: 20 }));
    onTestFinished(async () => void (await Promise.all(stores.map((store) => store.close()))));
    const make = () => ({ a: defineAgent({ name: 'a', instructions: '', model: scriptedModel([callTool('f'), say('ok')]), tools: [f] }) });
    const processes = stores.map((store) => processOf(store, make()));
    await Promise.all(
      processes.map(async (runs, index) => {
        await runs.worker();
        for (let each = 0; each < 5; each += 1) await runs.submit('a', 'go', { id: `r${index}-${each}` });
      }),
    );
    for (const [index, runs] of processes.entries())
      for (let each = 0; each < 5; each += 1) {
        const result = await processes[(index + 1) % 4]?.result(`r${index}-${each}`);
        if (result === undefined) throw new Error('no process');
        sound(result);
        expect(result).toMatchObject({ status: 'completed', text: 'ok' });
        expect((await runs.status(`r${index}-${each}`))?.trouble).toBeUndefined();
      }
  });

  it('S136: a view that fails loses nothing of the session', async () => {
    let fails = false;
    const model = scriptedModel((request) => say(`I have seen ${request.messages.length}.`));
    const agent = defineAgent({ name: 'a', instructions: '', model });
    const view: View = (messages) => {
      if (fails) throw new Error('no summary');
      return messages;
    };
    const runs = processOf(memoryStore(), { a: durableAgent(agent, { options: { view } }) });
    await runs.worker();
    await runs.submit('a', 'one', { id: 'r1', session: 's' });
    expect(await runs.result('r1')).toMatchObject({ text: 'I have seen 1.' });
    fails = true;
    await runs.submit('a', 'two', { id: 'r2', session: 's' });
    const failed = await runs.result('r2');
    sound(failed);
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'CONFIG_INVALID' } });
    fails = false;
    await runs.submit('a', 'three', { id: 'r3', session: 's' });
    const last = await runs.result('r3');
    sound(last);
    expect(last).toMatchObject({ status: 'completed', text: 'I have seen 4.' });
  });

  it('S199, S200: a hundred runs at once of one agent see their own context alone, and leave nothing in their worker', async () => {
    const own = withContext<{ user: string }>();
    const whoami = own.defineTool({
      name: 'whoami',
      description: 'who',
      input: z.object({}),
      execute: async (_, { context }) => {
        await sleep(5);
        return context.user;
      },
    });
    const model = scriptedModel([callTool('whoami'), say('ok')]);
    const agent = own.defineAgent({ name: 'a', instructions: ({ context }) => `You help ${context.user}.`, model, tools: [whoami] });
    const runs = processOf(memoryStore(), {
      a: durableAgent(agent, { data: z.object({ user: z.string() }), context: ({ data }) => ({ user: data.user }) }),
    });
    const worker = await runs.worker({ concurrency: 50 });
    const users = Array.from({ length: 100 }, (_, index) => `user-${index}`);
    await Promise.all(users.map((user) => runs.submit('a', 'who?', { id: user, data: { user } })));
    for (const user of users) {
      const events = sound(await runs.result(user));
      expect(ofType(events, 'tool.end')).toMatchObject([{ content: user }]);
      expect(JSON.stringify(events)).not.toMatch(new RegExp(`user-(?!${user.slice(5)}\\b)`));
    }
    await expect.poll(() => worker.runs).toEqual([]);
  });
});
