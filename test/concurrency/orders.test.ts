import type { RunEvent, RunResult, SessionStore } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineTool, GuardloopError, memorySession, resume, run } from '@guardloop/core';
import type { Scheduler } from '@guardloop/testing';
import { callTool, exploreOrders, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ofType, sound, unhandled } from '../scenarios/sound.js';

/** The sessions of a database that answers when the scheduler says so, as one process has them. */
const slow = (kept: SessionStore, scheduler: Scheduler): SessionStore => ({
  async load(id, afterSeq) {
    await scheduler.pause('load');
    return kept.load(id, afterSeq);
  },
  async append(id, events, afterSeq) {
    await scheduler.pause('append');
    await kept.append(id, events, afterSeq);
    await scheduler.pause('appended');
  },
});

type Outcome = RunResult | GuardloopError;
const outcome = (running: PromiseLike<RunResult>): Promise<Outcome> =>
  Promise.resolve(running).catch((error: unknown) => {
    if (GuardloopError.is(error)) return error;
    throw error;
  });
const isResult = (each: Outcome): each is RunResult => !GuardloopError.is(each);

/** Says how many people spoke before it, and notices when two speak at once. */
function speaker(scheduler: Scheduler) {
  const seen = { now: 0, most: 0 };
  const model = scriptedModel(async ({ messages }) => {
    seen.now += 1;
    seen.most = Math.max(seen.most, seen.now);
    await scheduler.pause('model');
    seen.now -= 1;
    return say(`${messages.filter(({ role }) => role === 'user').length}`);
  });
  return { seen, agent: defineAgent({ name: 'a', instructions: '', model }) };
}

describe('in every order that the scheduler finds', () => {
  it('runs that queue go one at a time, in this process as they came, and all come through', { timeout: 60_000 }, async () => {
    const lost = unhandled();
    const report = await exploreOrders({ orders: 120 }, async (scheduler) => {
      const kept = memorySession();
      const here = slow(kept, scheduler);
      const there = slow(kept, scheduler);
      const { agent, seen } = speaker(scheduler);
      const stop = new AbortController();
      const go = (store: SessionStore, signal?: AbortSignal) =>
        outcome(run(agent, 'x', { clock: scheduler.clock, signal, session: { store, id: 's', onConflict: 'queue' } }));
      const all = await scheduler.run(() => {
        const running = [go(here), go(here, stop.signal), go(here), go(there), go(here), go(there)];
        void scheduler.pause('abort').then(() => stop.abort());
        return Promise.all(running);
      });
      await scheduler.drain();
      expect(seen.most).toBe(1);
      const results = all.filter(isResult);
      expect(results).toHaveLength(6);
      const [first, stopped, second, , third] = results;
      expect(stopped && ['cancelled', 'completed']).toContain(stopped?.status);
      const said = (each: RunResult | undefined): number => (each?.status === 'completed' ? Number(each.text) : Number.NaN);
      expect([said(first) < said(second), said(second) < said(third)]).toEqual([true, true]);
      for (const each of results) {
        await sound(Promise.resolve(each));
        if (each !== stopped) expect(each.status).toBe('completed');
      }
      const events = await kept.load('s');
      const longest = results.reduce((left, right) => (right.log.events.length > left.log.events.length ? right : left));
      if (stopped?.status === 'completed' || longest !== stopped) expect(longest.log.events).toEqual(events);
      expect(scheduler.timers).toEqual([]);
    });
    expect(report.different).toBeGreaterThan(100);
    expect(lost).toEqual([]);
  });

  it('runs that do not queue, an abandoning one and two resumes leave one log, one writer at a time, and no call run twice', {
    timeout: 60_000,
  }, async () => {
    const lost = unhandled();
    const report = await exploreOrders({ orders: 120 }, async (scheduler) => {
      const kept = memorySession();
      let opened = 0;
      const open = defineTool({
        name: 'open',
        description: 'O.',
        input: z.object({}),
        approval: true,
        execute: async () => {
          await scheduler.pause('open');
          opened += 1;
          return opened;
        },
      });
      const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'user' ? callTool('open') : say('done')));
      const agent = defineAgent({ name: 'a', instructions: '', model, tools: [open] });
      await run(agent, 'x', { session: { store: kept, id: 's' }, runId: 'r', clock: scheduler.clock });
      const place = () => ({ store: slow(kept, scheduler), id: 's' });
      const { clock } = scheduler;
      const talk = scriptedModel(() => say('new'));
      const all = await scheduler.run(() =>
        Promise.all([
          outcome(resume(agent, place(), { clock, decisions: { 'r/p1': 'approve' } }).result),
          outcome(resume(agent, { ...place(), onConflict: 'queue' }, { clock, decisions: { 'r/p1': 'approve' } }).result),
          outcome(run(agent, 'y', { clock, session: place(), unfinished: 'abandon', model: talk })),
          outcome(run(agent, 'z', { clock, session: place(), model: talk })),
        ]),
      );
      await scheduler.drain();
      expect(opened).toBeLessThanOrEqual(1);
      for (const each of all) {
        if (!isResult(each)) expect(['LOG_CONFLICT', 'RESUME_MISMATCH']).toContain(each.code);
        else if (each.status === 'failed') expect(each.error.code).toBe('LOG_CONFLICT');
        else await sound(Promise.resolve(each));
      }
      expect(all.some((each) => isResult(each) && each.status === 'completed')).toBe(true);
      const events = await kept.load('s');
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    });
    expect(report.different).toBeGreaterThan(60);
    expect(lost).toEqual([]);
  });

  it('a breaker asks nobody while it is open, and one while it is half-open', { timeout: 60_000 }, async () => {
    await exploreOrders({ orders: 120, time: 'any' }, async (scheduler) => {
      let isDown = true;
      let probing = 0;
      let most = 0;
      const asked: string[] = [];
      let state = 'closed';
      const told: RunEvent[] = [];
      const watch = (event: RunEvent): void => {
        told.push(event);
        if (event.type === 'guard.breaker') state = event.state;
      };
      const guardrail = defineGuardrail({
        name: 'remote',
        on: ['input'],
        breaker: { failures: 2, coolDownMs: 100 },
        check: async () => {
          asked.push(state);
          const isProbe = state === 'half-open';
          if (isProbe) probing += 1;
          most = Math.max(most, probing);
          await scheduler.pause('remote');
          if (isProbe) probing -= 1;
          if (isDown) throw new Error('down');
          return allow();
        },
      });
      const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel(() => say('ok')), guardrails: [guardrail] });
      const one = async (afterMs: number): Promise<RunResult> => {
        await scheduler.sleep(afterMs);
        return run(agent, 'x', { clock: scheduler.clock, observers: [watch] });
      };
      const results = await scheduler.run(() => {
        void scheduler.sleep(150).then(() => {
          isDown = false;
        });
        return Promise.all([0, 0, 0, 50, 90, 110, 120, 160, 220, 260, 300].map(one));
      });
      await scheduler.drain();
      expect(asked).not.toContain('open');
      expect(most).toBeLessThanOrEqual(1);
      for (const result of results) {
        await sound(Promise.resolve(result));
        const [verdict] = ofType(result.log.events, 'guard.verdict');
        expect(verdict?.failed === true).toBe(result.status === 'blocked');
      }
    });
  });
});
