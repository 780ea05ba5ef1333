import { defineAgent, defineTool, GuardloopError } from '@guardloop/core';
import { durable, durableAgent } from '@guardloop/durable';
import type { Store } from '@guardloop/store';
import { exportSession, importSession, memoryStore } from '@guardloop/store';
import { sqliteStore } from '@guardloop/store-sqlite';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { gate, ofType } from '../scenarios/sound.js';
import { mortalStore } from './mortal-store.js';
import { processOf, quick, sound } from './process-of.js';

const waitMs = 30_000;

const cashier = (paid: unknown[] = []) => {
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ cents: z.number() }),
    approval: true,
    execute: ({ cents }) => {
      paid.push(cents);
      return 'paid';
    },
  });
  const model = scriptedModel((request) => (request.messages.at(-1)?.role === 'tool' ? say('Done.') : callTool('pay', { cents: 1 })));
  return defineAgent({ name: 'cashier', instructions: '', model, tools: [pay] });
};
const desk = () => defineAgent({ name: 'desk', instructions: '', model: scriptedModel(() => say('Well.')) });

describe('K11, K16, K17 at odd moments', () => {
  it('S052: what a tool answers to a worker that is dead is nowhere', async () => {
    const store = memoryStore();
    const answering = gate();
    const ran: string[] = [];
    const make = (who: string) => {
      const slow = defineTool({
        name: 'slow',
        description: 'slow',
        input: z.object({}),
        repeatable: true,
        execute: async () => {
          ran.push(who);
          if (who === 'first') await answering.opened;
          return `the ${who} one answers`;
        },
      });
      return { a: defineAgent({ name: 'a', instructions: '', model: scriptedModel([callTool('slow'), say('ok')]), tools: [slow] }) };
    };
    const mortal = mortalStore(store, Number.POSITIVE_INFINITY);
    const first = durable({ ...quick, store: mortal.store, agents: make('first') });
    await first.submit('a', 'go', { id: 'r1' });
    await first.worker({ leaseMs: 300 });
    await expect.poll(() => ran, { timeout: waitMs }).toEqual(['first']);
    mortal.bury();
    const second = processOf(store, make('second'));
    await second.worker();
    const result = await second.result('r1', { waitMs });
    answering.open();
    await first.close({ graceMs: 0 });
    expect(ofType(sound(result), 'tool.end')).toMatchObject([{ content: 'the second one answers' }]);
    expect(await store.load('r1')).toEqual(sound(result));
  });

  it.each(['refused', 'stored, and its answer lost'])('S115: a handoff whose append is %s stands in the log once', async (how) => {
    const inner = memoryStore();
    let left = 2;
    const append: Store['append'] = async (id, events, afterSeq) => {
      const isMeant = left > 0 && events.some(({ type }) => type === 'handoff');
      if (!isMeant || how !== 'refused') await inner.append(id, events, afterSeq);
      if (!isMeant) return;
      left -= 1;
      throw new GuardloopError('STORE_FAILED', 'The connection is gone.', { isRetryable: true });
    };
    const model = scriptedModel((request) => (request.agent === 'a' ? callTool('transfer_to_b', { brief: 'do it' }) : say('b is done')));
    const b = defineAgent({ name: 'b', instructions: '', model });
    const runs = processOf({ ...inner, append }, { a: defineAgent({ name: 'a', instructions: '', model, handoffs: [b] }) });
    await runs.worker();
    await runs.submit('a', 'go', { id: 'r1' });
    const result = await runs.result('r1', { waitMs });
    expect(result).toMatchObject({ status: 'completed', agent: 'b', text: 'b is done' });
    expect(ofType(sound(result), 'handoff')).toHaveLength(1);
    expect(left).toBeLessThan(2);
  });

  it('S151: of a decision and a run that abandons at the same time each is whole, and the session goes on', {
    timeout: 60_000,
  }, async () => {
    const store = memoryStore();
    const runs = processOf(store, { cashier: cashier(), desk: desk() });
    await runs.worker();
    await runs.worker();
    for (let round = 0; round < 8; round += 1) {
      const [session, first, second] = [`s${round}`, `a${round}`, `b${round}`];
      await runs.submit('cashier', 'go', { id: first, session });
      const asked = await runs.result(first, { waitMs });
      if (asked.status !== 'interrupted') throw new Error(asked.status);
      await Promise.all([
        runs.approvals.decide(asked.approvals[0]?.id ?? '', 'approve'),
        runs.submit('desk', 'next', { id: second, session, unfinished: 'abandon' }),
      ]);
      expect(['completed', 'cancelled']).toContain((await runs.result(first, { until: 'end', waitMs })).status);
      const next = await runs.result(second, { waitMs });
      sound(next);
      expect(next.status).toBe('completed');
      expect((await runs.approvals.list({ session, state: 'decided' })).items).toEqual([]);
    }
  });

  it('S214: limits and `onLimit` are those of the submission after a takeover too, over those of the agent', async () => {
    const store = memoryStore();
    let calls = 0;
    const look = defineTool({
      name: 'look',
      description: 'look',
      input: z.object({ page: z.number() }),
      repeatable: true,
      execute: async () => {
        calls += 1;
        if (calls === 1) await new Promise(() => undefined);
        return 'nothing there';
      },
    });
    const make = () => {
      const model = scriptedModel((request) =>
        request.toolChoice === 'none' || request.tools.length === 0 ? say('I found nothing.') : callTool('look', { page: request.turn }),
      );
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [look] });
      return { a: durableAgent(agent, { options: { limits: { turns: 50 } } }) };
    };
    const mortal = mortalStore(store, Number.POSITIVE_INFINITY);
    const first = durable({ ...quick, store: mortal.store, agents: make() });
    await first.submit('a', 'go', { id: 'r1', limits: { turns: 3 }, onLimit: 'finalize' });
    await first.worker({ leaseMs: 300 });
    await expect.poll(() => calls, { timeout: waitMs }).toBe(1);
    mortal.bury();
    const second = processOf(store, make());
    await second.worker();
    const result = await second.result('r1', { waitMs });
    await first.close({ graceMs: 0 });
    sound(result);
    expect(result).toMatchObject({ status: 'exhausted', limit: 'turns', text: 'I found nothing.' });
  });

  it('S218: a session that is deleted under its run, its readers and its queue is gone, and may be begun anew', async () => {
    const store = memoryStore();
    const inCall = gate();
    const letGo = gate();
    const model = scriptedModel(async () => {
      inCall.open();
      await letGo.opened;
      return say('late words');
    });
    const runs = processOf(store, { slow: defineAgent({ name: 'slow', instructions: '', model }), desk: desk() });
    const worker = await runs.worker({ leaseMs: 300 });
    await runs.submit('slow', 'go', { id: 'r1', session: 's' });
    await runs.submit('desk', 'go', { id: 'r2', session: 's' });
    await inCall.opened;
    const read = async (): Promise<string> => {
      for await (const { event } of runs.events('r1')) expect(event.type).not.toBe('run.end');
      return 'over';
    };
    const waiting = [runs.result('r2', { waitMs }), read()];
    await store.sessions.delete('s');
    expect(await Promise.all(waiting)).toEqual([{ status: 'unknown' }, 'over']);
    letGo.open();
    await expect.poll(() => worker.runs, { timeout: waitMs }).toEqual([]);
    expect(await store.load('s')).toEqual([]);
    await runs.submit('desk', 'anew', { id: 'r1', session: 's' });
    const result = await runs.result('r1', { waitMs });
    sound(result);
    expect(result).toMatchObject({ status: 'completed', text: 'Well.' });
  });

  it('S129: a waiting session that was moved to another store goes on there, once its run is submitted there', async () => {
    const first = memoryStore();
    const before = processOf(first, { cashier: cashier() });
    const worker = await before.worker();
    await before.submit('cashier', 'go', { id: 'r1', session: 's', owner: 'ann' });
    const asked = await before.result('r1', { waitMs });
    if (asked.status !== 'interrupted') throw new Error(asked.status);
    await worker.stop();
    await before.approvals.decide(asked.approvals[0]?.id ?? '', { edit: { cents: 3 } }, { by: 'bob' });
    const moved = await exportSession(first, 's');
    if (moved === undefined) throw new Error('there is no session');
    const second = sqliteStore({ file: ':memory:', encryption: { keys: [{ id: 'k', key: new Uint8Array(32).fill(3) }] } });
    onTestFinished(() => second.close());
    await importSession(second, JSON.parse(JSON.stringify(moved)));
    const paid: unknown[] = [];
    const after = processOf(second, { cashier: cashier(paid) });
    await after.worker();
    await after.submit('cashier', 'go', { id: 'r1', session: 's', owner: 'ann' });
    const result = await after.result('r1', { until: 'end', waitMs });
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(ofType(sound(result), 'approval.resolve')).toMatchObject([{ decidedBy: 'bob' }]);
    expect(paid).toEqual([3]);
  });
});
