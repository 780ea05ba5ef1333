import { describe, expect, it } from 'vitest';
import { agentOf, calls, HandClock, scripted, settle, tool } from '../../test/scene.js';
import { defineGuardrail } from '../define/guardrail.js';
import { allow, ask } from '../define/verdict.js';
import type { JsonValue, Model } from '../model/types.js';
import { memorySession } from '../session/memory.js';
import type { RunEvent } from '../state/events.js';
import { assertCompleted, resume, run, stream } from './run.js';

/** A model that says one word, and then nothing more. */
const hanging = (): Model => ({
  id: 'm1',
  provider: 'maker',
  async *stream() {
    yield { type: 'text.delta', text: 'Hel' };
    await new Promise(() => undefined);
  },
});
const types = (events: readonly RunEvent[]) => events.map(({ type }) => type);
async function read(events: AsyncIterable<RunEvent>): Promise<readonly RunEvent[]> {
  const all: RunEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

describe('a run', () => {
  it('gives what it came to', async () => {
    expect(await run(agentOf(), 'hello', { runId: 'r1' })).toMatchObject({ status: 'completed', runId: 'r1', text: 'Hello.' });
  });

  it.each(['before', 'meanwhile'])('is cancelled for the reason of a signal that was aborted %s', async (when) => {
    const controller = new AbortController();
    if (when === 'before') controller.abort(new TypeError('enough'));
    const running = run(agentOf({ model: hanging() }), 'hello', { signal: controller.signal });
    await settle();
    controller.abort(new TypeError('enough'));
    expect(await running).toMatchObject({ status: 'cancelled', cause: { name: 'TypeError' } });
  });

  it('leaves no timer and no listener', async () => {
    const clock = new HandClock();
    const { signal } = new AbortController();
    const listening = new Set<unknown>();
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...given: Parameters<typeof addEventListener>) => {
      listening.add(given[1]);
      addEventListener.apply(signal, given);
    };
    signal.removeEventListener = (...given: Parameters<typeof removeEventListener>) => {
      listening.delete(given[1]);
      removeEventListener.apply(signal, given);
    };
    await run(agentOf(), 'hello', { clock, signal, limits: { ms: 500 } });
    expect(clock.timers).toEqual([]);
    expect(listening.size).toBe(0);
  });

  it('has a time of its own', async () => {
    const clock = new HandClock();
    const running = run(agentOf({ model: hanging() }), 'hello', { clock, limits: { ms: 500 } });
    await settle();
    await clock.pass(500);
    await clock.pass(100);
    expect(await running).toMatchObject({ status: 'exhausted', limit: 'ms' });
  });

  it('has stored everything when it gives its result', async () => {
    const store = memorySession();
    const slow = {
      load: store.load,
      append: async (...given: Parameters<typeof store.append>) => settle().then(() => store.append(...given)),
    };
    const { log } = await run(agentOf(), 'hello', { session: { store: slow, id: 's' } });
    expect(await store.load('s')).toEqual(log.events);
  });

  it('leaves its session when it is over, for the next, also where it had ended before', async () => {
    const session = { store: memorySession(), id: 's', onConflict: 'queue' } as const;
    const agent = agentOf();
    await Promise.all([run(agent, 'one', { session }), run(agent, 'two', { session })]);
    expect(await resume(agent, session)).toMatchObject({ status: 'completed' });
    expect(await run(agent, 'three', { session })).toMatchObject({ status: 'completed' });
  });

  it('goes on with the result that a person gave', async () => {
    const risky = tool('pay', () => 'Paid.', { approval: true });
    const agent = agentOf({ model: scripted([calls('pay')], 'Done.'), tools: [risky] });
    const asked = await run(agent, 'hello', { runId: 'r1' });
    const done = await resume(agent, asked.log, { decisions: { 'r1/p1': { result: 'By hand.' } } });
    expect(done).toMatchObject({ status: 'completed', text: 'Done.' });
  });

  it('says last of all that it waits, and with each answer since when it was asked for, in another process too', async () => {
    const risky = tool('pay', () => 'Paid.', { approval: true });
    const agent = agentOf({ model: scripted([calls('pay')], 'Done.'), tools: [risky] });
    const told: RunEvent[] = [];
    const observers = [(event: RunEvent) => void told.push(event)];
    const clock = new HandClock();
    const asked = await run(agent, 'hello', { runId: 'r1', observers, clock });
    expect(told.at(-1)).toMatchObject({ type: 'run.wait', run: 'r1', approvals: ['r1/p1'] });
    const requestedAt = asked.events.find(({ type }) => type === 'approval.request')?.at;
    await clock.pass(5_000);
    const { log } = await resume(agent, structuredClone(asked.log), { decisions: { 'r1/p1': 'approve' }, observers, clock });
    expect(log.events.find(({ type }) => type === 'approval.resolve')).toMatchObject({
      askedAt: requestedAt,
      at: Number(requestedAt) + 5_000,
    });
    expect(told.filter(({ type }) => type === 'run.wait')).toHaveLength(1);
  });

  it('says that it waits for nobody where it was paused', async () => {
    const told: RunEvent[] = [];
    const watched = stream(agentOf(), 'hello', { observers: [(event) => void told.push(event)] });
    watched.pause();
    expect((await watched).status).toBe('interrupted');
    expect(told.at(-1)).toMatchObject({ type: 'run.wait', approvals: [] });
  });

  it('takes an answer that nobody decided on out of quarantine', async () => {
    const kept = new Map<string, JsonValue>();
    const quarantine = {
      put: async (key: string, value: JsonValue) => void kept.set(key, value),
      get: async (key: string) => kept.get(key),
      delete: async (key: string) => void kept.delete(key),
    };
    const asks = defineGuardrail({ name: 'asks', on: ['output'], check: ({ content }) => (content === 'So.' ? ask('look') : allow()) });
    const session = { store: memorySession(), id: 's' };
    const waiting = await run(agentOf({ model: scripted('So.'), guardrails: [asks] }), 'one', { quarantine, session });
    expect(waiting.status).toBe('interrupted');
    expect(kept.size).toBe(1);
    await run(agentOf({ guardrails: [asks] }), 'two', { quarantine, session, unfinished: 'abandon' });
    expect(kept.size).toBe(0);
  });

  it.each([
    [run, 'run'],
    [stream, 'stream'],
    [resume, 'resume'],
  ])('is not begun with what is no agent (%#)', async (door, name) => {
    const begin = async () => (door as typeof run)({} as never, 'hello');
    await expect(begin()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(`The first argument of ${name}`),
    });
  });
});

describe('a stream', () => {
  it('shows the events of a run, gives its result, and can be awaited', async () => {
    const events = stream(agentOf(), 'hello', { runId: 'r1' });
    const seen = await read(events);
    expect(types(seen)).toEqual(['run.start', 'input.accept', 'model.start', 'turn.start', 'text.delta', 'model.end', 'run.end']);
    expect(await events.result).toMatchObject({ status: 'completed' });
    expect(await events).toBe(await events.result);
    expect(await events.then(({ status }) => status)).toBe('completed');
  });

  it('is read once', () => {
    const events = stream(agentOf(), 'hello');
    events[Symbol.asyncIterator]();
    expect(() => events[Symbol.asyncIterator]()).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });

  it('refuses an input that is none at once', () => {
    expect(() => stream(agentOf(), 7 as never)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });

  it('cancels the run when its reader leaves, or throws into it', async () => {
    const left = stream(agentOf({ model: hanging() }), 'hello');
    for await (const event of left) if (event.type === 'text.delta') break;
    expect(await left.result).toMatchObject({ status: 'cancelled', cause: { name: 'AbortError' } });
    const thrown = stream(agentOf({ model: hanging() }), 'hello');
    const iterator = thrown[Symbol.asyncIterator]();
    await iterator.next();
    await iterator.throw?.(new TypeError('enough')).catch(() => undefined);
    expect(await thrown.result).toMatchObject({ status: 'cancelled', cause: { name: 'TypeError' } });
  });

  it('cancels a run that was not yet entered when its reader left', async () => {
    const events = stream(agentOf({ model: hanging() }), 'hello', { session: { store: memorySession(), id: 's' } });
    await events[Symbol.asyncIterator]().return?.();
    expect(await events.result).toMatchObject({ status: 'cancelled', cause: { name: 'AbortError' } });
  });

  it('does not wait for a store after its reader left', async () => {
    const clock = new HandClock();
    const store = { load: () => new Promise<never>(() => undefined), append: async () => undefined };
    const events = stream(agentOf(), 'hello', { clock, session: { store, id: 's' } });
    const failing = events.result.catch((error: unknown) => error);
    await settle();
    await events[Symbol.asyncIterator]().return?.();
    await clock.pass(2_000);
    expect(await failing).toMatchObject({ code: 'STORE_FAILED' });
  });

  it('rejects where the run could not begin, in its reader and its result, and in nobody who looks at neither', async () => {
    const store = { load: () => Promise.reject(new Error('down')), append: async () => undefined };
    const events = stream(agentOf(), 'hello', { session: { store, id: 's' } });
    await expect(read(events)).rejects.toMatchObject({ code: 'STORE_FAILED' });
    await expect(events.result).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect(await events.then(undefined, (error: { readonly code: string }) => error.code)).toBe('STORE_FAILED');
    void stream(agentOf(), 'hello', { session: { store, id: 's' } });
    await settle();
  });

  it('holds the model back until its text is read, or its result is awaited', async () => {
    let given = 0;
    const model: Model = {
      id: 'm1',
      provider: 'maker',
      async *stream() {
        for (; given < 200; given += 1) yield { type: 'text.delta', text: 'x' };
        yield { type: 'end', stopReason: 'stop', usage: { requests: 1 } };
      },
    };
    const events = stream(agentOf({ model }), 'hello');
    for (let turns = 0; turns < 10; turns += 1) await settle();
    expect(given).toBeLessThan(100);
    expect(await events).toMatchObject({ status: 'completed' });
    expect(given).toBe(200);
  });
});

describe('a completed run', () => {
  it('is told from others', async () => {
    const completed = await run(agentOf(), 'hello');
    expect(() => assertCompleted(completed)).not.toThrow();
    const failed = await run(agentOf({ model: scripted() }), 'hello');
    expect(() => assertCompleted(failed)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('The run ended failed') }),
    );
  });
});
