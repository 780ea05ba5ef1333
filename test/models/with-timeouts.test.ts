import type { Model, ModelEvent } from '@guardloop/core';
import { defineAgent, run, withRetry, withTimeouts } from '@guardloop/core';
import { describe, expect, it } from 'vitest';
import { sound } from '../scenarios/sound.js';
import { HandClock, settle } from './hand-clock.js';
import { ask, broken, call, end, part, plays, request, text, types } from './takes.js';

type Step = ModelEvent | number | 'connect' | 'forever' | Error;

/** A model that does these steps one after another; a number is a wait. Keeps whether its call was aborted. */
function slow(clock: HandClock, ...steps: readonly Step[]): Model & { readonly state: { isAborted: boolean; isLeft: boolean } } {
  const state = { isAborted: false, isLeft: false };
  return {
    id: 'slow',
    provider: 'made.up',
    state,
    async *stream(_request, { signal, onConnect }) {
      signal.addEventListener('abort', () => {
        state.isAborted = true;
      });
      try {
        for (const step of steps) {
          if (step === 'connect') onConnect?.();
          else if (step === 'forever') await new Promise(() => undefined);
          else if (typeof step === 'number') await waits(clock, step, signal);
          else if (step instanceof Error) throw step;
          else yield step;
        }
      } finally {
        state.isLeft = true;
      }
    },
  };
}

function waits(clock: HandClock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      stop();
      reject(broken({ aborted: true }, false));
    };
    const stop = clock.after(ms, () => {
      signal.removeEventListener('abort', abort);
      resolve();
    });
    signal.addEventListener('abort', abort);
  });
}

const bounds = { connectMs: 100, firstEventMs: 300, betweenEventsMs: 50, totalMs: 1_000 };
const warning: ModelEvent = { type: 'warning', about: 'setting', message: 'seed was left out.' };

describe('withTimeouts', () => {
  it('lets an answer through that keeps every bound, and leaves no timer', async () => {
    const clock = new HandClock();
    const model = slow(clock, warning, 90, 'connect', 200, text('a'), 40, text('b'), 40, end());
    const outcome = await clock.until(ask(withTimeouts(model, { ...bounds, clock })));
    expect(outcome).toEqual({ events: [warning, text('a'), text('b'), end()], failure: undefined });
    expect(clock.pending).toBe(0);
    expect(model.state).toEqual({ isAborted: false, isLeft: true });
  });

  it.each<{
    readonly name: string;
    readonly ms: number;
    readonly steps: readonly Step[];
    readonly words: string;
    readonly isDelivered?: true;
  }>([
    { name: 'connectMs', ms: 100, steps: [warning, 101, 'connect', text('never')], words: 'did not begin to answer' },
    { name: 'firstEventMs', ms: 300, steps: [90, 'connect', warning, 211, text('never')], words: 'gave no first event' },
    {
      name: 'firstEventMs',
      ms: 300,
      steps: ['connect', { type: 'retry', attempt: 1, waitMs: 1 }, 'forever'],
      words: 'gave no first event',
    },
    {
      name: 'betweenEventsMs',
      ms: 50,
      steps: ['connect', text('half'), 51, text('never')],
      words: 'gave no further event',
      isDelivered: true,
    },
    { name: 'betweenEventsMs', ms: 50, steps: ['connect', part('{'), 51, call()], words: 'gave no further event' },
    {
      name: 'totalMs',
      ms: 1_000,
      steps: ['connect', ...Array.from({ length: 30 }, () => [text('b'), 40] as const).flat()],
      words: 'did not end its answer',
      isDelivered: true,
    },
  ])('$name: $ms ms after $steps the call is aborted and fails', async ({ name, ms, steps, words, isDelivered = false }) => {
    const clock = new HandClock();
    const model = slow(clock, ...steps);
    const { failure } = await clock.until(ask(withTimeouts(model, { ...bounds, clock })));
    expect(failure).toMatchObject({
      code: 'MODEL_FAILED',
      isRetryable: !isDelivered,
      message: `Model slow ${words} within ${ms} ms. Try again later, or raise \`${name}\` of withTimeouts.`,
      details: { provider: 'made.up', model: 'slow', timeout: name, ms, delivered: isDelivered },
    });
    await settle();
    expect(model.state.isAborted).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it('takes the first event as the connection where a model does not tell of it', async () => {
    const clock = new HandClock();
    const late = await clock.until(ask(withTimeouts(slow(clock, warning, 101, text('never')), { connectMs: 100, clock })));
    expect(late.failure?.details.timeout).toBe('connectMs');
    const fine = await clock.until(ask(withTimeouts(slow(clock, 99, text('a'), 500, end()), { connectMs: 100, clock })));
    expect(fine.failure).toBeUndefined();
  });

  it('counts no time that the reader takes between two events', async () => {
    const clock = new HandClock();
    const stream = withTimeouts(slow(clock, text('a'), text('b'), end()), { betweenEventsMs: 50, clock }).stream(request, {
      signal: new AbortController().signal,
    });
    const events = stream[Symbol.asyncIterator]();
    await events.next();
    await clock.pass(10_000);
    expect((await events.next()).value).toEqual(text('b'));
  });

  it('ends an answer that is whole for no bound', async () => {
    const clock = new HandClock();
    const stream = withTimeouts(slow(clock, text('a'), end(), 5_000), { totalMs: 10, betweenEventsMs: 10, clock }).stream(request, {
      signal: new AbortController().signal,
    });
    const events = stream[Symbol.asyncIterator]();
    await events.next();
    expect((await events.next()).value?.type).toBe('end');
    const last = events.next();
    await clock.pass(5_000);
    expect(await last).toEqual({ done: true, value: undefined });
  });

  it('passes an abort on at once, with its reason, and leaves neither timer nor listener', async () => {
    const clock = new HandClock();
    const controller = new AbortController();
    const model = slow(clock, 'connect', text('a'), 40, end());
    let listeners = 0;
    const { signal } = controller;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...given: Parameters<typeof add>) => {
      listeners += 1;
      add(...given);
    };
    signal.removeEventListener = (...given: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...given);
    };
    const asking = ask(withTimeouts(model, { ...bounds, clock }), { signal });
    await settle();
    expect(listeners).toBe(1);
    controller.abort();
    const outcome = await asking;
    expect(types(outcome)).toEqual(['text.delta']);
    expect(outcome.failure?.details.aborted).toBe(true);
    expect(model.state.isAborted).toBe(true);
    expect(clock.pending).toBe(0);
    expect(listeners).toBe(0);
    expect(types(await ask(withTimeouts(plays([[text('never')]]), { totalMs: 5 }), { signal }))).toEqual([]);
  });

  it('lets a reader leave that waits for an event', async () => {
    const clock = new HandClock();
    const events = withTimeouts(slow(clock, 'forever'), { ...bounds, clock })
      .stream(request, { signal: new AbortController().signal })
      [Symbol.asyncIterator]();
    const next = events.next();
    await settle();
    await events.return?.();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(clock.pending).toBe(0);
  });

  it('passes on what the model fails with', async () => {
    const failure = broken({ status: 500 });
    expect((await ask(withTimeouts(plays([[failure]]), { totalMs: 1_000 }))).failure).toBe(failure);
    const throwing: Model = {
      id: 'x',
      provider: 'x',
      stream: () => {
        throw failure;
      },
    };
    expect((await ask(withTimeouts(throwing, { totalMs: 1_000 }))).failure).toBe(failure);
  });

  it('under withRetry bounds each attempt, and a run completes with the second', async () => {
    const hung = plays([
      [part('{'), 'hang'],
      [text('ok'), end()],
    ]);
    const model = withRetry(withTimeouts(hung, { betweenEventsMs: 20 }), { baseMs: 0 });
    const result = await sound(run(defineAgent({ name: 'a', instructions: '', model }), 'go'));
    expect(result).toMatchObject({ status: 'completed', output: 'ok', usage: { requests: 2 } });
    expect(hung.open).toBe(0);
  });

  it.each([
    [
      'no bound',
      {},
      'withTimeouts was given no bound. Give at least one of connectMs, firstEventMs, betweenEventsMs, totalMs, in milliseconds.',
    ],
    ['no options', undefined, 'withTimeouts was given no bound.'],
    [
      'a bound of nothing',
      { totalMs: 0 },
      'withTimeouts was given 0 as its option `totalMs`. Give milliseconds above 0, or Infinity for no bound.',
    ],
    ['a bound that is no number', { connectMs: '5s' }, 'withTimeouts was given "5s" as its option `connectMs`.'],
    ['a bound that does not exist', { idleMs: 5 }, 'withTimeouts has no option "idleMs".'],
  ])('refuses %s', (_what, options, message) => {
    expect(() => withTimeouts(plays([]), options as never)).toThrow(message);
  });
});
