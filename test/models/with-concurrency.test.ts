import type { Model, ModelEvent } from '@guardloop/core';
import { asTool, defineAgent, run, withConcurrency, withRetry } from '@guardloop/core';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sound } from '../scenarios/sound.js';
import { settle } from './hand-clock.js';
import type { Outcome } from './takes.js';
import { ask, broken, end, plays, request, text } from './takes.js';

/** A model whose calls end when they are told to. Calls stand in the order in which they were begun. */
function gated(): Model & {
  readonly begun: { readonly id: string; finish(how: 'end' | 'fail'): void }[];
  readonly state: { now: number; most: number };
} {
  const begun: { id: string; finish(how: 'end' | 'fail'): void }[] = [];
  const state = { now: 0, most: 0 };
  return {
    id: 'gated',
    provider: 'made.up',
    begun,
    state,
    async *stream({ agent }, { signal }) {
      state.now += 1;
      state.most = Math.max(state.most, state.now);
      try {
        const how = await new Promise<'end' | 'fail'>((resolve, reject) => {
          begun.push({ id: agent, finish: resolve });
          signal.addEventListener('abort', () => reject(broken({ aborted: true }, false)), { once: true });
        });
        if (how === 'fail') throw broken();
        yield text(agent);
        yield end();
      } finally {
        state.now -= 1;
      }
    },
  };
}

const signal = (): AbortSignal => new AbortController().signal;

async function read(events: AsyncIterable<ModelEvent>): Promise<Outcome> {
  const read: ModelEvent[] = [];
  for await (const event of events) read.push(event);
  return { events: read, failure: undefined };
}

describe('withConcurrency', () => {
  it('makes so many calls at once, over all callers, first come, first served', async () => {
    const model = gated();
    const wrapped = withConcurrency(model, { limit: 2 });
    const asking = ['a', 'b', 'c', 'd'].map((agent) => read(wrapped.stream({ ...request, agent }, { signal: signal() })));
    await settle();
    expect(model.begun.map(({ id }) => id)).toEqual(['a', 'b']);
    model.begun[1]?.finish('end');
    await settle();
    expect(model.begun.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    for (const { finish } of model.begun) finish('end');
    await settle();
    model.begun[3]?.finish('end');
    await Promise.all(asking);
    expect(model.state).toEqual({ now: 0, most: 2 });
  });

  it('lets the next in when a call fails, also one that fails to begin', async () => {
    let calls = 0;
    const model: Model = {
      id: 'm',
      provider: 'p',
      stream: () => {
        calls += 1;
        if (calls === 1) throw broken();
        return plays([calls === 2 ? [broken()] : [text('ok'), end()]]).stream(request, { signal: signal() });
      },
    };
    const wrapped = withConcurrency(model, { limit: 1 });
    const [first, second, third] = await Promise.all([ask(wrapped), ask(wrapped), ask(wrapped)]);
    expect([first.failure?.code, second.failure?.code, third.failure]).toEqual(['MODEL_FAILED', 'MODEL_FAILED', undefined]);
  });

  it('an aborted waiter is gone at once, without a request, and its place goes to the next', async () => {
    const model = gated();
    const wrapped = withConcurrency(model, { limit: 1 });
    const controller = new AbortController();
    const first = read(wrapped.stream({ ...request, agent: 'a' }, { signal: signal() }));
    const aborted = ask(wrapped, { signal: controller.signal });
    const third = read(wrapped.stream({ ...request, agent: 'c' }, { signal: signal() }));
    await settle();
    controller.abort(new DOMException('Enough.', 'AbortError'));
    expect((await aborted).failure).toMatchObject({
      code: 'MODEL_FAILED',
      isRetryable: false,
      cause: { name: 'AbortError' },
      details: { aborted: true, usage: { requests: 0 } },
    });
    model.begun[0]?.finish('end');
    await first;
    await settle();
    expect(model.begun.map(({ id }) => id)).toEqual(['a', 'c']);
    model.begun[1]?.finish('end');
    await third;
    expect((await ask(wrapped, { signal: controller.signal })).failure?.details.aborted).toBe(true);
    expect(model.begun).toHaveLength(2);
  });

  it.each([
    ['before it was read', 0],
    ['while it waits for an event', 1],
    ['between two events', 2],
    ['after its end, though the stream stays open', 3],
  ])('a reader that leaves %s gives its place back', async (_when, reads) => {
    const open: Model = {
      id: 'open',
      provider: 'p',
      async *stream() {
        if (reads !== 1) yield text('a');
        if (reads === 3) yield end();
        await new Promise(() => undefined);
      },
    };
    let isFirst = true;
    const model: Model = {
      id: 'm',
      provider: 'p',
      stream: (...given) => {
        const chosen = isFirst ? open : plays([[text('ok'), end()]]);
        isFirst = false;
        return chosen.stream(...given);
      },
    };
    const wrapped = withConcurrency(model, { limit: 1 });
    const events = wrapped.stream(request, { signal: signal() })[Symbol.asyncIterator]();
    const reading: Promise<unknown>[] = [];
    for (let read = 0; read < reads; read += 1) {
      reading.push(events.next());
      await settle();
    }
    void events.return?.();
    if (reads === 0) isFirst = false;
    expect((await ask(wrapped)).failure).toBeUndefined();
    expect(await events.next()).toEqual({ done: true, value: undefined });
  });

  it('an answer that is whole gives its place back, though nobody has left its stream', async () => {
    const wrapped = withConcurrency(
      plays([
        [end(), 'hang'],
        [text('ok'), end()],
      ]),
      { limit: 1 },
    );
    const events = wrapped.stream(request, { signal: signal() })[Symbol.asyncIterator]();
    expect((await events.next()).value).toEqual(end());
    expect((await ask(wrapped)).failure).toBeUndefined();
    await events.return?.();
  });

  it('a reader that leaves the queue takes no place, under another wrapper too', async () => {
    const model = gated();
    const wrapped = withRetry(withConcurrency(model, { limit: 1 }));
    const first = read(wrapped.stream({ ...request, agent: 'a' }, { signal: signal() }));
    const left = wrapped.stream({ ...request, agent: 'b' }, { signal: signal() })[Symbol.asyncIterator]();
    const next = left.next();
    await settle();
    await left.return?.();
    expect(await next).toEqual({ done: true, value: undefined });
    model.begun[0]?.finish('end');
    await first;
    const last = read(wrapped.stream({ ...request, agent: 'c' }, { signal: signal() }));
    await settle();
    expect(model.begun.map(({ id }) => id)).toEqual(['a', 'c']);
    model.begun[1]?.finish('end');
    await last;
  });

  it('keeps its bound, its order, and lets everybody through, whatever callers do', async () => {
    const act = fc.constantFrom('end', 'fail', 'abort', 'leave', 'ask' as const);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.array(fc.tuple(act, fc.nat(20)), { maxLength: 40 }), async (limit, acts) => {
        const model = gated();
        const wrapped = withConcurrency(model, { limit });
        const callers: {
          readonly name: string;
          readonly controller: AbortController;
          readonly events: AsyncIterator<ModelEvent>;
          isGone: boolean;
        }[] = [];
        for (const [what, which] of acts) {
          if (what === 'ask') {
            const controller = new AbortController();
            const name = `c${callers.length}`;
            const events = wrapped.stream({ ...request, agent: name }, { signal: controller.signal })[Symbol.asyncIterator]();
            const caller = { name, controller, events, isGone: false };
            callers.push(caller);
            void drain(events).finally(() => {
              caller.isGone = true;
            });
          } else if (what === 'end' || what === 'fail') model.begun[which % Math.max(1, model.begun.length)]?.finish(what);
          else {
            const caller = callers[which % Math.max(1, callers.length)];
            // A model stops when it is aborted; a reader that leaves in core has aborted it.
            caller?.controller.abort();
            if (what === 'leave') void caller?.events.return?.();
          }
          await settle();
          expect(model.state.now).toBeLessThanOrEqual(limit);
          const waiting = callers.filter(({ name, isGone }) => !isGone && !model.begun.some(({ id }) => id === name));
          if (waiting.length > 0) expect(model.state.now).toBe(limit);
        }
        for (let round = 0; round <= callers.length; round += 1) {
          for (const { finish } of model.begun) finish('end');
          await settle();
        }
        expect(callers.every(({ isGone }) => isGone)).toBe(true);
        const order = model.begun.map(({ id }) => Number(id.slice(1)));
        expect(order).toEqual([...order].sort((left, right) => left - right));
      }),
      { numRuns: 40 },
    );
  });

  it('bounds runs that go on at the same time, and an agent within an agent does not wait for itself', async () => {
    let now = 0;
    let most = 0;
    const script = scriptedModel({ main: [callTool('ask', { input: 'x' }), say('done')], helper: [say('h')] });
    const counted: Model = {
      ...script,
      async *stream(...given) {
        now += 1;
        most = Math.max(most, now);
        for await (const event of script.stream(...given)) yield event;
        now -= 1;
      },
    };
    const model = withConcurrency(counted, { limit: 1 });
    const helper = defineAgent({ name: 'helper', instructions: '', model });
    const main = defineAgent({ name: 'main', instructions: '', model, tools: [asTool(helper, { name: 'ask', description: 'A.' })] });
    const results = await Promise.all(Array.from({ length: 5 }, () => sound(run(main, 'go'))));
    expect(results.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'completed'));
    expect(most).toBe(1);
  });

  it.each([
    ['no limit', undefined, 'withConcurrency was given no `limit`. Give how many calls may run at once: { limit: 4 }.'],
    ['a limit of nothing', { limit: 0 }, 'withConcurrency was given 0 as its option `limit`. Give a whole number from 1, or Infinity.'],
    ['a bare number', 4, 'withConcurrency was given 4 as its options. Give an object with limit.'],
    ['an unknown option', { limit: 1, rate: 3 }, 'withConcurrency has no option "rate". Its options are limit.'],
  ])('refuses %s', (_what, options, message) => {
    expect(() => withConcurrency(plays([]), options as never)).toThrow(message);
  });
});

async function drain(events: AsyncIterator<ModelEvent>): Promise<void> {
  try {
    while (!(await events.next()).done);
  } catch {
    // How a call ends is not the matter here.
  }
}
