import type { LogEvent, RunEvent, RunResult, SessionStore } from '@guardloop/core';
import { defineAgent, defineTool, GuardloopError, memorySession, resume, run, stream } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { HandClock, settle } from '../models/hand-clock.js';
import { gate, sound, unhandled } from '../scenarios/sound.js';
import { counting, fromElsewhere } from './sessions-shared.js';

/** Says what it was told last and how often it was spoken to; waits for its gate first, where the text has one. */
function speaker() {
  const gates = new Map<string, ReturnType<typeof gate>>();
  const asked: string[] = [];
  const model = scriptedModel((request) => {
    const told = request.messages.filter(({ role }) => role === 'user').map((message) => ('parts' in message ? message.parts : []));
    const last = told.at(-1)?.[0];
    const text = last?.type === 'text' ? last.text : '';
    asked.push(text);
    const opened = gates.get(text)?.opened ?? Promise.resolve();
    return opened.then(() => say(`${text}: ${told.length}`));
  });
  const hold = (text: string) => {
    const held = gate();
    gates.set(text, held);
    return held;
  };
  return { agent: defineAgent({ name: 'a', instructions: '', model }), asked, hold };
}

const queue = (store: SessionStore, waitMs?: number) => ({ store, id: 's', onConflict: 'queue' as const, waitMs });
const codeOf = (error: unknown) => (GuardloopError.is(error) ? error.code : String(error));
const answer = (result: RunResult) => (result.status === 'completed' ? result.text : result.status);
const openDoor = defineTool({ name: 'open_door', description: 'O.', input: z.object({}), approval: true, execute: () => 'open' });
const porter = (model = scriptedModel([callTool('open_door'), say('It is open.')])) =>
  defineAgent({ name: 'porter', instructions: '', model, tools: [openDoor] });

describe('runs that queue on one session', () => {
  it('go one after another in the order in which they came, and each sees those before', async () => {
    const { agent } = speaker();
    const session = queue(memorySession());
    const results = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((text) => run(agent, text, { session })));
    expect(results.map(answer)).toEqual(['a: 1', 'b: 2', 'c: 3', 'd: 4', 'e: 5']);
    const last = results.at(-1) as RunResult;
    await sound(Promise.resolve(last));
    expect(new Set(last.log.events.map((event) => event.run)).size).toBe(5);
  });

  it('wait for one that did not ask to queue, too', async () => {
    const { agent, hold, asked } = speaker();
    const store = memorySession();
    const first = hold('first');
    const running = run(agent, 'first', { session: { store, id: 's' } });
    await vi.waitUntil(() => asked.length === 1);
    const next = run(agent, 'next', { session: queue(store) });
    await expect(run(agent, 'rash', { session: { store, id: 's' } })).rejects.toMatchObject({ code: 'RESUME_MISMATCH' });
    await settle();
    expect(asked).toEqual(['first']);
    first.open();
    expect(answer(await running)).toBe('first: 1');
    expect(answer(await next)).toBe('next: 2');
  });

  it('do not hold up those of another session, or of the same id in another store', async () => {
    const { agent, hold, asked } = speaker();
    const store = memorySession();
    const first = hold('first');
    const running = run(agent, 'first', { session: queue(store) });
    expect(answer(await run(agent, 'other', { session: { ...queue(store), id: 't' } }))).toBe('other: 1');
    expect(answer(await run(agent, 'there', { session: queue(memorySession()) }))).toBe('there: 1');
    expect(asked).toContain('first');
    first.open();
    await running;
  });

  it('leave the queue when they are aborted: they end cancelled, the session does not know them, and the next one goes', async () => {
    const lost = unhandled();
    const { agent, hold, asked } = speaker();
    const store = memorySession();
    const first = hold('first');
    const running = run(agent, 'first', { session: queue(store) });
    await vi.waitUntil(() => asked.length === 1);
    const stop = new AbortController();
    const aborted = run(agent, 'aborted', { session: queue(store), signal: stop.signal });
    const left = stream(agent, 'left', { session: queue(store) });
    const next = run(agent, 'next', { session: queue(store) });
    const reader = left[Symbol.asyncIterator]();
    const reading = reader.next();
    await settle();
    stop.abort(new Error('enough'));
    await reader.return?.();
    expect(await sound(aborted)).toMatchObject({ status: 'cancelled', cause: { name: 'Error' } });
    expect((await sound(left.result)).status).toBe('cancelled');
    expect(await reading).toEqual({ value: undefined, done: true });
    first.open();
    await running;
    const result = await sound(next);
    expect(answer(result)).toBe('next: 2');
    expect(new Set(result.log.events.map((event) => event.run)).size).toBe(2);
    expect(JSON.stringify(await store.load('s'))).not.toMatch(/aborted|left/);
    expect(asked).toEqual(['first', 'next']);
    expect(lost).toEqual([]);
  });

  it('that were aborted before they came end cancelled without waiting', async () => {
    const { agent, hold, asked } = speaker();
    const store = memorySession();
    const first = hold('first');
    const running = run(agent, 'first', { session: queue(store) });
    await vi.waitUntil(() => asked.length === 1);
    expect((await run(agent, 'aborted', { session: queue(store), signal: AbortSignal.abort() })).status).toBe('cancelled');
    first.open();
    await running;
  });

  it('are refused when they have waited for waitMs, and leave no timer and no place', async () => {
    const clock = new HandClock();
    const { agent, hold, asked } = speaker();
    const store = memorySession();
    const first = hold('first');
    const limits = { ms: Number.POSITIVE_INFINITY };
    const running = run(agent, 'first', { session: queue(store), clock, limits });
    await vi.waitUntil(() => asked.length === 1);
    const late = run(agent, 'late', { session: queue(store, 5_000), clock, limits }).catch(codeOf);
    const patient = run(agent, 'patient', { session: queue(store, Number.POSITIVE_INFINITY), clock, limits });
    const thrown = run(agent, 'x', { session: queue(store, 10), clock, limits }).catch((error: unknown) => error);
    await clock.pass(4_999);
    await clock.pass(1);
    expect(await late).toBe('RESUME_MISMATCH');
    expect(await thrown).toMatchObject({ isRetryable: true, details: { session: 's', waitMs: 10 } });
    await clock.pass(10_000_000);
    first.open();
    await running;
    expect(answer(await patient)).toBe('patient: 2');
    expect(clock.pending).toBe(0);
    expect(asked).toEqual(['first', 'patient']);
  });

  it('are refused behind a run that waits for people: nobody knows how long that takes', async () => {
    const session = queue(memorySession());
    const [paused, next, another] = await Promise.allSettled([
      run(porter(), 'Let me in.', { session }),
      run(porter(), 'And me.', { session }),
      run(porter(), 'Me too.', { session }),
    ]);
    expect(paused).toMatchObject({ status: 'fulfilled', value: { status: 'interrupted' } });
    for (const each of [next, another]) expect(each).toMatchObject({ status: 'rejected', reason: { code: 'RESUME_MISMATCH' } });
  });

  it('give up a run that waits for people at once, with unfinished: abandon', async () => {
    const session = queue(memorySession());
    await run(porter(), 'Let me in.', { session });
    const result = await sound(run(porter(scriptedModel([say('Hello.')])), 'Hello?', { session, unfinished: 'abandon' }));
    expect(answer(result)).toBe('Hello.');
  });

  it('are refused at once behind a run of this process whose store failed', async () => {
    const { agent } = speaker();
    const store = memorySession();
    let isBroken = false;
    const breaking: SessionStore = {
      load: (id, afterSeq) => store.load(id, afterSeq),
      append: (id, events, afterSeq) => (isBroken ? Promise.reject(new Error('down')) : store.append(id, events, afterSeq)),
    };
    const model = scriptedModel(() => {
      isBroken = true;
      return say('x');
    });
    const failed = run(agent, 'first', { session: queue(breaking), model });
    const next = run(agent, 'next', { session: queue(breaking) }).catch(codeOf);
    expect(await failed).toMatchObject({ status: 'failed', error: { code: 'STORE_FAILED' } });
    expect(await next).toBe('RESUME_MISMATCH');
  });

  it('say what is wrong with their options before they wait', async () => {
    const { agent } = speaker();
    const store = memorySession();
    const wrong = [{ onConflict: 'wait' }, { onConflict: 'queue', waitMs: -1 }, { onConflict: 'queue', waitMs: Number.NaN }, { waitMs: 5 }];
    for (const each of wrong)
      await expect(run(agent, 'x', { session: { store, id: 's', ...each } as never })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('S223: with waitMs 0 try once: they go where nobody is, and are refused at once where somebody is', async () => {
    const { agent, hold, asked } = speaker();
    const store = memorySession();
    expect(answer(await run(agent, 'alone', { session: queue(store, 0) }))).toBe('alone: 1');
    const first = hold('first');
    const running = run(agent, 'first', { session: { store, id: 's', onConflict: undefined, waitMs: undefined } });
    await vi.waitUntil(() => asked.length === 2);
    await expect(run(agent, 'late', { session: queue(store, 0) })).rejects.toMatchObject({ code: 'RESUME_MISMATCH', isRetryable: true });
    await expect(run(agent, 'late', { session: queue(fromElsewhere(store), 0) })).rejects.toMatchObject({
      code: 'RESUME_MISMATCH',
      isRetryable: true,
    });
    first.open();
    expect(answer(await running)).toBe('first: 2');
  });

  it('that would wait for themselves are refused in time', async () => {
    const store = memorySession();
    const { agent } = speaker();
    const inner = defineTool({
      name: 'inner',
      description: 'I.',
      input: z.object({}),
      execute: () => run(agent, 'inside', { session: queue(store, 20) }).then(answer, codeOf),
    });
    const outer = defineAgent({ name: 'o', instructions: '', model: scriptedModel([callTool('inner'), say('out')]), tools: [inner] });
    const result = await sound(run(outer, 'x', { session: queue(store) }));
    expect(result.status).toBe('completed');
    expect(JSON.stringify(result.messages)).toContain('RESUME_MISMATCH');
  });
});

describe('runs that queue on a session of several processes', () => {
  it('wait until the other process’s run is over, and see it', async () => {
    const { agent, hold, asked } = speaker();
    const store = memorySession();
    const first = hold('there');
    const running = run(agent, 'there', { session: { store, id: 's' } });
    await vi.waitUntil(() => asked.length === 1);
    const clock = new HandClock();
    const here = counting(fromElsewhere(store));
    const waiting = run(agent, 'here', { session: queue(here), clock });
    await clock.pass(20_000);
    expect(asked).toEqual(['there']);
    expect(here.asked.appends).toBe(0);
    first.open();
    await running;
    await clock.pass(1_000);
    expect(answer(await sound(waiting))).toBe('here: 2');
    // It asks less and less often: once a second at most.
    expect(here.asked.loads).toBeLessThan(60);
  });

  it('are refused when it is not over in time', async () => {
    const { agent, hold, asked } = speaker();
    const store = memorySession();
    const first = hold('there');
    const running = run(agent, 'there', { session: { store, id: 's' } });
    await vi.waitUntil(() => asked.length === 1);
    const clock = new HandClock();
    const waiting = run(agent, 'here', { session: queue(fromElsewhere(store)), clock }).catch(codeOf);
    await clock.pass(60_000);
    expect(await waiting).toBe('RESUME_MISMATCH');
    expect(clock.pending).toBe(0);
    first.open();
    expect((await running).status).toBe('completed');
  });

  it('end one that was cut after waitMs, with unfinished: abandon', async () => {
    const { agent, hold, asked } = speaker();
    const store = memorySession();
    const never = hold('dead');
    const dead = run(agent, 'dead', { session: { store, id: 's' } });
    await vi.waitUntil(() => asked.length === 1);
    const clock = new HandClock();
    const here = queue(fromElsewhere(store), 3_000);
    const waiting = run(agent, 'here', { session: here, clock, unfinished: 'abandon' });
    await clock.pass(2_999);
    expect(asked).toEqual(['dead']);
    await clock.pass(1);
    expect(answer(await sound(waiting))).toMatch(/^here/);
    never.open();
    expect(await dead).toMatchObject({ status: 'failed', error: { code: 'LOG_CONFLICT' } });
  });

  it('try again after a conflict at the start, and leave no trace of the attempt that lost', async () => {
    const { agent } = speaker();
    const store = memorySession();
    const clock = new HandClock();
    let isFirst = true;
    // Another process starts and ends its run between this one's load and its first append.
    const raced: SessionStore = {
      load: (id, afterSeq) => store.load(id, afterSeq),
      async append(id, events, afterSeq) {
        if (isFirst) {
          isFirst = false;
          await run(agent, 'there', { session: { store, id: 's' } });
        }
        return store.append(id, events, afterSeq);
      },
    };
    const watched = stream(agent, 'here', { session: queue(raced), clock });
    const seen: RunEvent[] = [];
    const reading = (async () => {
      for await (const event of watched) seen.push(event);
    })();
    await vi.waitUntil(() => clock.asked.some((ms) => ms <= 25));
    await clock.pass(25);
    await reading;
    const result = await sound(watched.result);
    expect(answer(result)).toBe('here: 2');
    expect(seen.filter(({ type }) => type === 'run.start')).toHaveLength(1);
    const durable = seen.filter((event): event is LogEvent => 'seq' in event);
    expect(durable).toEqual(result.events);
  });

  it('all come through, whoever else there is', { timeout: 60_000 }, async () => {
    const { agent } = speaker();
    const store = memorySession();
    const processes = Array.from({ length: 4 }, () => fromElsewhere(store));
    const running = processes.flatMap((each, process) =>
      [0, 1, 2].map((index) => run(agent, `${process}-${index}`, { session: queue(each) })),
    );
    const results = await Promise.all(running);
    expect(results.map(({ status }) => status)).toEqual(Array.from({ length: 12 }, () => 'completed'));
    const counts = results.map((result) => Number(answer(result).split(': ')[1])).sort((left, right) => left - right);
    expect(counts).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
    const longest = results.reduce((left, right) => (left.log.events.length > right.log.events.length ? left : right));
    await sound(Promise.resolve(longest));
    // Within one process the order holds.
    for (let process = 0; process < 4; process += 1) {
      const own = results.slice(process * 3, process * 3 + 3).map((result) => Number(answer(result).split(': ')[1]));
      expect(own).toEqual([...own].sort((left, right) => left - right));
    }
  });
});

describe('runs that do not queue', () => {
  it('show nothing when they lose: no event, to no observer', async () => {
    const { agent } = speaker();
    const session = { store: memorySession(), id: 's' };
    const told: RunEvent[] = [];
    const watched = ['one', 'two'].map((text) => stream(agent, text, { session, observers: [(event) => told.push(event)] }));
    const seen = await Promise.all(
      watched.map(async (each) => {
        const events: RunEvent[] = [];
        try {
          for await (const event of each) events.push(event);
        } catch (error) {
          return { events, error: codeOf(error) };
        }
        return { events, error: undefined };
      }),
    );
    const loser = seen.find(({ error }) => error !== undefined);
    expect(loser).toEqual({ events: [], error: 'LOG_CONFLICT' });
    expect(new Set(told.map((event) => event.run)).size).toBe(1);
  });
});

describe('resume beside others on its session', () => {
  const paused = async (store: SessionStore) => {
    const model = scriptedModel([[callTool('open_door', {}, 'c1'), callTool('open_door', {}, 'c2')], say('Both are open.')]);
    const agent = porter(model);
    const result = await run(agent, 'Let me in.', { session: { store, id: 's' }, runId: 'r' });
    expect(result.status).toBe('interrupted');
    return agent;
  };

  it('of two at once without a queue one wins, and the other is told before anything happens', async () => {
    const store = memorySession();
    const agent = await paused(store);
    const both = await Promise.allSettled(
      ['r/p1', 'r/p2'].map((id) => resume(agent, { store, id: 's' }, { decisions: { [id]: 'approve' } }).result),
    );
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(both.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'LOG_CONFLICT' } });
  });

  it('of two people who decide at the same time both are heard, with a queue', async () => {
    const store = memorySession();
    const agent = await paused(store);
    const [first, second] = await Promise.all(
      ['r/p1', 'r/p2'].map((id) => sound(resume(agent, queue(store), { decisions: { [id]: 'approve' } }).result)),
    );
    expect(first?.status).toBe('interrupted');
    expect(second && answer(second)).toBe('Both are open.');
  });

  it('of two processes both are heard, with a queue', async () => {
    const store = memorySession();
    const agent = await paused(store);
    const both = await Promise.all(
      ['r/p1', 'r/p2'].map((id) => sound(resume(agent, queue(fromElsewhere(store)), { decisions: { [id]: 'approve' } }).result)),
    );
    expect(both.map(({ status }) => status).sort()).toEqual(['completed', 'interrupted']);
  });

  it('an approval that another has used meanwhile is refused, with a queue too', async () => {
    const store = memorySession();
    const agent = await paused(store);
    const both = await Promise.allSettled(
      [1, 2].map(() => resume(agent, queue(store), { decisions: { 'r/p1': 'approve', 'r/p2': 'approve' } }).result),
    );
    expect(both).toMatchObject([
      { status: 'fulfilled', value: { status: 'completed' } },
      { status: 'rejected', reason: { code: 'RESUME_MISMATCH' } },
    ]);
  });

  it('takes over a run that was cut, and waits for none', async () => {
    const store = memorySession();
    const { agent, hold, asked } = speaker();
    const never = hold('dead');
    const dead = run(agent, 'dead', { session: { store, id: 's' } });
    await vi.waitUntil(() => asked.length === 1);
    const clock = new HandClock();
    const model = scriptedModel([say('revived')]);
    expect(answer(await sound(resume(agent, queue(fromElsewhere(store)), { model, clock }).result))).toBe('revived');
    expect(clock.asked).toEqual([]);
    never.open();
    expect(await dead).toMatchObject({ status: 'failed', error: { code: 'LOG_CONFLICT' } });
  });

  it('does not take the run back from who won it meanwhile', async () => {
    const store = memorySession();
    const { agent, hold, asked } = speaker();
    const never = hold('dead');
    const dead = run(agent, 'dead', { session: { store, id: 's' } });
    await vi.waitUntil(() => asked.length === 1);
    const answering = gate();
    const winner = scriptedModel(() => answering.opened.then(() => say('won')));
    let won: Promise<RunResult> | undefined;
    // Another process resumes it between this one's load and its first append.
    const raced: SessionStore = {
      load: (id, afterSeq) => store.load(id, afterSeq),
      async append(id, events, afterSeq) {
        if (won === undefined) {
          won = resume(agent, { store: fromElsewhere(store), id: 's' }, { model: winner }).result;
          await vi.waitUntil(() => winner.requests.length === 1);
        }
        return store.append(id, events, afterSeq);
      },
    };
    const clock = new HandClock();
    const second = resume(agent, queue(raced), { clock, model: scriptedModel([say('stolen')]) }).result;
    await vi.waitUntil(() => clock.asked.length === 1);
    await clock.pass(10_000);
    answering.open();
    expect(answer(await sound(won as unknown as Promise<RunResult>))).toBe('won');
    await clock.pass(1_000);
    expect(answer(await sound(second))).toBe('won');
    never.open();
    await dead;
  });

  it('waits for a run that is under way in this process, with a queue, and gives its result', async () => {
    const { agent, hold, asked } = speaker();
    const store = memorySession();
    const first = hold('first');
    const running = run(agent, 'first', { session: queue(store) });
    await vi.waitUntil(() => asked.length === 1);
    const resumed = resume(agent, queue(store)).result;
    await settle();
    first.open();
    expect(answer(await running)).toBe('first: 1');
    expect(answer(await sound(resumed))).toBe('first: 1');
    expect(asked).toEqual(['first']);
  });

  it('aborted while it waits ends cancelled and leaves the session alone', async () => {
    const { agent, hold, asked } = speaker();
    const store = memorySession();
    const first = hold('first');
    const running = run(agent, 'first', { session: queue(store) });
    await vi.waitUntil(() => asked.length === 1);
    const stop = new AbortController();
    const resumed = resume(agent, queue(store), { signal: stop.signal }).result;
    await settle();
    stop.abort();
    expect((await resumed).status).toBe('cancelled');
    first.open();
    expect(answer(await running)).toBe('first: 1');
  });

  it('of a run and an abandoning run at once one wins, and no call runs twice', async () => {
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.boolean(), fc.boolean(), async (isQueued, isElsewhere, isResumeFirst) => {
        const store = memorySession();
        let opened = 0;
        const count = defineTool({ name: 'count', description: 'C.', input: z.object({}), approval: true, execute: () => ++opened });
        const model = scriptedModel([callTool('count'), say('done')]);
        const agent = defineAgent({ name: 'p', instructions: '', model, tools: [count] });
        await run(agent, 'x', { session: { store, id: 's' }, runId: 'r' });
        const place = () => {
          const own = isElsewhere ? fromElsewhere(store) : store;
          return isQueued ? queue(own) : { store: own, id: 's' };
        };
        const doors = [
          () => resume(agent, place(), { decisions: { 'r/p1': 'approve' } }).result,
          () => run(agent, 'again', { session: place(), unfinished: 'abandon', model: scriptedModel([say('new')]) }),
        ];
        if (!isResumeFirst) doors.reverse();
        const both = await Promise.allSettled(doors.map((door) => door()));
        const fine: RunResult[] = [];
        for (const each of both) {
          if (each.status === 'rejected') expect(['LOG_CONFLICT', 'RESUME_MISMATCH']).toContain(codeOf(each.reason));
          else if (each.value.status === 'failed') expect(each.value.error.code).toBe('LOG_CONFLICT');
          else fine.push(await sound(Promise.resolve(each.value)));
        }
        expect(fine.length).toBeGreaterThan(0);
        expect(opened).toBeLessThanOrEqual(1);
        const events = await store.load('s');
        expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
      }),
      { numRuns: 24, seed: 125 },
    );
  });
});
