import { defineAgent, defineTool, stream, withRetry } from '@guardloop/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ofType, readAll } from '../scenarios/sound.js';
import { HandClock, settle } from './hand-clock.js';
import type { Take } from './takes.js';
import { ask, broken, call, end, part, plays, text, thought, types } from './takes.js';

const noWait = { baseMs: 0 } as const;
const usageOf = ({ events }: Awaited<ReturnType<typeof ask>>) => {
  const last = events.at(-1);
  return last?.type === 'end' ? last.usage : undefined;
};

describe('withRetry', () => {
  it('asks again where an attempt failed before it said anything, and tells of each', async () => {
    const clock = new HandClock();
    const model = plays([[broken()], [broken()], [text('ok'), end()]]);
    const outcome = await clock.until(ask(withRetry(model, { jitter: 'none', clock })));
    expect(outcome.failure).toBeUndefined();
    expect(outcome.events).toEqual([
      { type: 'retry', attempt: 1, waitMs: 500 },
      { type: 'retry', attempt: 2, waitMs: 1_000 },
      text('ok'),
      end({ requests: 3, inputTokens: 10, outputTokens: 5 }),
    ]);
    expect(clock.pending).toBe(0);
  });

  it('gives up after as many attempts as it was told, with the last error and what all of them used', async () => {
    const used = { requests: 1, inputTokens: 7 };
    const model = plays([[broken({ usage: used, status: 500 })], [broken({ status: 503, requestId: 'r2' })], [text('never')]]);
    const { events, failure } = await ask(withRetry(model, { ...noWait, attempts: 2 }));
    expect(events.map(({ type }) => type)).toEqual(['retry']);
    expect(failure).toMatchObject({
      code: 'MODEL_FAILED',
      isRetryable: true,
      message: 'The provider broke.',
      details: { status: 503, requestId: 'r2', attempts: 2, usage: { requests: 2, inputTokens: 7 } },
    });
    expect(failure?.details.usage).not.toHaveProperty('outputTokens');
  });

  it('does not repeat what cannot pass', async () => {
    const failure = broken({ status: 400 }, false);
    const model = plays([[failure], [text('never')]]);
    expect((await ask(withRetry(model, noWait))).failure).toBe(failure);
    expect(model.calls).toHaveLength(1);
  });

  it('counts the attempts that the adapter made within one of ours', async () => {
    const model = plays([[broken({ attempts: 3 })], [text('ok'), end({ requests: 2, inputTokens: 1 })]]);
    expect(usageOf(await ask(withRetry(model, noWait)))).toEqual({ requests: 5, inputTokens: 1 });
  });

  it('asks again where a stream is over without its end, and where a model throws what is no error of ours', async () => {
    for (const bad of [[part('{')], [new TypeError('fetch failed')]] as const) {
      const model = plays([bad, [text('ok'), end()]]);
      expect(types(await ask(withRetry(model, noWait)))).toEqual(['retry', 'text.delta', 'end']);
    }
    const cut = await ask(withRetry(plays([[], []]), { ...noWait, attempts: 2 }));
    expect(cut.failure).toMatchObject({ code: 'MODEL_PROTOCOL', details: { attempts: 2 } });
  });

  it('tells a warning once, though each attempt drops the same thing', async () => {
    const warning = { type: 'warning', about: 'setting', message: 'seed was left out.' } as const;
    const model = plays([
      [warning, broken()],
      [warning, { ...warning, about: 'native', item: 'r/1' }, text('ok'), end()],
    ]);
    expect(types(await ask(withRetry(model, noWait)))).toEqual(['warning', 'retry', 'warning', 'text.delta', 'end']);
  });

  it('is one layer: the model makes one attempt, and an inner withRetry does so too', async () => {
    const model = plays([[broken()], [broken()], [broken()], [text('never'), end()]]);
    const twice = withRetry(withRetry(model, { ...noWait, attempts: 5 }), { ...noWait, attempts: 3 });
    expect((await ask(twice)).failure?.details.attempts).toBe(3);
    expect(model.calls.map(({ options }) => options.isRetried)).toEqual([true, true, true]);
  });

  it.each([
    ['attempts', { attempts: 0 }, 'withRetry was given 0 as its option `attempts`. Give a whole number from 1, or Infinity.'],
    ['attempts', { attempts: 1.5 }, 'withRetry was given 1.5 as its option `attempts`. Give a whole number from 1, or Infinity.'],
    ['maxWaitMs', { maxWaitMs: -1 }, 'withRetry was given -1 as its option `maxWaitMs`. Give a number from 0, or Infinity.'],
    ['jitter', { jitter: 'some' }, "withRetry was given \"some\" as its option `jitter`. Give 'full' or 'none'."],
    ['budget', { budget: '5' }, 'withRetry was given "5" as its option `budget`. Give a number from 0, or Infinity.'],
    ['clock', { clock: {} }, 'withRetry was given an object as its option `clock`. Give an object with the functions `now` and `after`.'],
    ['misspelt option', { maxWait: 3 }, 'withRetry has no option "maxWait". Did you mean maxWaitMs? Its options are attempts, baseMs'],
    [
      'an unknown option',
      { retries: 3 },
      'withRetry has no option "retries". Its options are attempts, baseMs, maxWaitMs, maxRetryAfterMs, jitter, budget, clock, random.',
    ],
  ])('refuses a wrong %s', (_name, options, message) => {
    expect(() => withRetry(plays([]), options as never)).toThrow(message);
    expect(() => withRetry({} as never)).toThrow('withRetry was given an object as its model. Give a model made by an adapter, such as');
  });
});

describe('S160: the wait', () => {
  const waitsFor = async (details: Record<string, unknown>, options = {}): Promise<readonly number[]> => {
    const clock = new HandClock();
    const model = plays([[broken(details)], [text('ok'), end()]]);
    await clock.until(ask(withRetry(model, { clock, jitter: 'none', ...options })));
    return model.calls.length === 1 ? [] : clock.asked;
  };

  it('is what the provider asks for; nothing means the least backoff, and what cannot be read the usual one', async () => {
    expect(await waitsFor({ retryAfterMs: 5_000 })).toEqual([5_000]);
    expect(await waitsFor({ retryAfterMs: 250 })).toEqual([250]);
    expect(await waitsFor({ retryAfterMs: 30_000 }, { maxWaitMs: 1_000 })).toEqual([30_000]);
    expect(await waitsFor({ retryAfterMs: 0 })).toEqual([500]);
    expect(await waitsFor({ retryAfterMs: 0 }, { jitter: 'full', random: () => 0 })).toEqual([500]);
    for (const retryAfterMs of [Number.NaN, -1, 'soon', null, undefined]) expect(await waitsFor({ retryAfterMs })).toEqual([500]);
  });

  it('is not made where it is too long: the call fails at once, with the wait on the error', async () => {
    const model = plays([[broken({ retryAfterMs: 3_600_000 })], [text('never')]]);
    const { failure } = await ask(withRetry(model));
    expect(failure).toMatchObject({ isRetryable: true, details: { retryAfterMs: 3_600_000 } });
    expect(model.calls).toHaveLength(1);
    expect(await waitsFor({ retryAfterMs: 2_000 }, { maxRetryAfterMs: 1_999 })).toEqual([]);
    expect(await waitsFor({ retryAfterMs: 2_000 }, { maxRetryAfterMs: 2_000 })).toEqual([2_000]);
  });

  it('is never above its bound, however far the attempts go and whatever chance says', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          attempts: fc.integer({ min: 2, max: 70 }),
          baseMs: fc.double({ min: 0, max: 1e6, noNaN: true }),
          maxWaitMs: fc.double({ min: 0, max: 1e6, noNaN: true }),
          jitter: fc.constantFrom('full' as const, 'none' as const),
        }),
        fc.array(fc.double({ min: -1, max: 2 }), { minLength: 1, maxLength: 70 }),
        async (options, chances) => {
          const clock = new HandClock();
          let drawn = 0;
          const random = (): number => chances[drawn++ % chances.length] ?? 0;
          const model = plays(Array.from({ length: options.attempts }, () => [broken()]));
          const { events, failure } = await clock.until(
            ask(withRetry(model, { ...options, clock, random, budget: Number.POSITIVE_INFINITY })),
          );
          expect(failure?.details.attempts).toBe(options.attempts);
          const waits = events.map((event) => (event.type === 'retry' ? event.waitMs : Number.NaN));
          expect(waits).toHaveLength(options.attempts - 1);
          waits.forEach((waitMs, index) => {
            expect(waitMs).toBeGreaterThanOrEqual(0);
            expect(waitMs).toBeLessThanOrEqual(Math.min(options.maxWaitMs, options.baseMs * 2 ** index));
          });
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('S158: an abort', () => {
  it('ends the wait at once: no further request, no timer, no listener', async () => {
    const clock = new HandClock();
    const controller = new AbortController();
    const model = plays([[broken({ retryAfterMs: 30_000, usage: { requests: 1, inputTokens: 4 } })], [text('never')]]);
    const asking = ask(withRetry(model, { clock }), { signal: controller.signal });
    await clock.pass(100);
    expect(clock.pending).toBe(1);
    controller.abort(new DOMException('Enough.', 'AbortError'));
    const { failure } = await asking;
    expect(failure).toMatchObject({ isRetryable: false, details: { aborted: true, attempts: 1, usage: { requests: 1, inputTokens: 4 } } });
    expect(failure?.cause?.name).toBe('AbortError');
    expect(model.calls).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });

  it('in the middle of an attempt is not retried', async () => {
    const controller = new AbortController();
    const model = plays([['hang'], [text('never')]]);
    const asking = ask(withRetry(model, noWait), { signal: controller.signal });
    await settle();
    controller.abort();
    expect((await asking).failure?.details.aborted).toBe(true);
    expect(model.calls).toHaveLength(1);
  });

  it('is the same for a reader that leaves: in a wait, in the middle of an attempt, and at its end', async () => {
    const clock = new HandClock();
    const signal = new AbortController().signal;
    const waiting = withRetry(plays([[broken()], [text('never')]]), { clock })
      .stream({} as never, { signal })
      [Symbol.asyncIterator]();
    expect((await waiting.next()).value).toMatchObject({ type: 'retry' });
    const next = waiting.next();
    await settle();
    await waiting.return?.();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(clock.pending).toBe(0);
    const played = plays([[text('a'), text('b'), end()]]);
    for await (const event of withRetry(played).stream({} as never, { signal })) if (event.type === 'text.delta') break;
    await settle();
    expect(played.open).toBe(0);
  });

  it('ends a run that waits for a retry as cancelled, with what the failed attempt used', async () => {
    const controller = new AbortController();
    const model = plays([
      [broken({ retryAfterMs: 30_000, usage: { requests: 1, inputTokens: 4, outputTokens: 1 } })],
      [text('never'), end()],
    ]);
    const agent = defineAgent({ name: 'a', instructions: '', model: withRetry(model) });
    const running = stream(agent, 'go', { signal: controller.signal });
    const from = Date.now();
    setTimeout(() => controller.abort(), 20);
    const result = await running;
    expect(result).toMatchObject({ status: 'cancelled', usage: { requests: 1, inputTokens: 4, outputTokens: 1 } });
    expect(Date.now() - from).toBeLessThan(1_000);
    expect(model.calls).toHaveLength(1);
  });
});

describe('S162: what was passed on', () => {
  const cases: { readonly [name: string]: Take } = {
    'A: nothing': [broken()],
    'C: part of the arguments of a call': [part('{"x":'), broken()],
    'D: a whole call, and no end': [part('{}'), call(), broken()],
  };
  it.each(Object.entries(cases))('%s is retried unseen', async (_name, take) => {
    const model = plays([take, [part('{"y":1}'), call('g'), end()]]);
    const { events } = await ask(withRetry(model, noWait));
    expect(events.map(({ type }) => type)).toEqual(['retry', 'tool.delta', 'tool.call', 'end']);
    expect(JSON.stringify(events)).not.toContain('"f"');
  });

  it.each([
    ['text', text('half of')],
    ['reasoning', thought('half of')],
  ])('B: %s is not retried, and the error says that something is out', async (_name, delta) => {
    const model = plays([
      [part('{'), delta, part('}'), broken()],
      [text('never'), end()],
    ]);
    const outcome = await ask(withRetry(model, noWait));
    expect(types(outcome)).toEqual(['tool.delta', delta.type, 'tool.delta']);
    expect(outcome.failure).toMatchObject({ isRetryable: false, details: { delivered: true, attempts: 1 } });
    expect(model.calls).toHaveLength(1);
  });

  it('in a run: no call of a failed attempt runs, and the text is that of one attempt', async () => {
    let ran = 0;
    const f = defineTool({
      name: 'f',
      description: 'F.',
      input: z.object({}),
      execute: () => {
        ran += 1;
        return 'done';
      },
    });
    const model = plays([[call(), broken()], [call(), end()], [broken()], [text('ok'), end()]]);
    const agent = defineAgent({ name: 'a', instructions: '', model: withRetry(model, noWait), tools: [f] });
    const { events, result } = await readAll(stream(agent, 'go'));
    expect(result).toMatchObject({ status: 'completed', output: 'ok', usage: { requests: 4, inputTokens: 20, outputTokens: 10 } });
    expect(ran).toBe(1);
    expect(ofType(events, 'model.retry').map(({ attempt }) => attempt)).toEqual([1, 1]);
  });

  it('what comes out is what one attempt said, whatever the attempts before it did', async () => {
    const event = fc.constantFrom(text('a'), text(''), thought('b'), part('{'), call());
    const ending = fc.constantFrom('end' as const, 'fail' as const, 'cut' as const, 'final' as const);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.array(event, { maxLength: 5 }), ending), { minLength: 5, maxLength: 5 }), async (scripts) => {
        const takes = scripts.map(([events, how]): Take => {
          if (how === 'cut') return events;
          return [...events, how === 'end' ? end() : broken({ usage: { requests: 1, inputTokens: 3 } }, how === 'fail')];
        });
        const model = plays(takes);
        const { events, failure } = await ask(withRetry(model, { ...noWait, attempts: 5 }));
        const isHeard = (take: Take): boolean =>
          take.some(
            (step) => step !== 'hang' && !(step instanceof Error) && 'text' in step && step.type !== 'tool.delta' && step.text !== '',
          );
        // The attempt that settles it: the first that ends well, has said something, or cannot be repeated; else the last.
        const found = scripts.findIndex(([, how], index) => how === 'end' || how === 'final' || isHeard(takes[index] ?? []));
        const last = found < 0 ? 4 : found;
        expect(model.calls).toHaveLength(last + 1);
        const [, how] = scripts[last] ?? [];
        expect(failure === undefined).toBe(how === 'end');
        const isSaid = how === 'end' || isHeard(takes[last] ?? []);
        // After the last thing heard, what is provisional of a failed attempt has been passed on as well.
        const said = isSaid ? (scripts[last]?.[0] ?? []) : [];
        expect(events.filter(({ type }) => type !== 'retry' && type !== 'end')).toEqual(said);
        const before = scripts.slice(0, last).filter(([, each]) => each === 'fail').length;
        if (how === 'end')
          expect(usageOf({ events, failure })).toEqual({ requests: last + 1, inputTokens: 10 + 3 * before, outputTokens: 5 });
        else expect(failure?.isRetryable).toBe(how !== 'final' && !isSaid);
      }),
      { numRuns: 200 },
    );
  });
});

describe('the budget', () => {
  it('is shared by all calls: an outage is not multiplied by the attempts', async () => {
    const model = plays(Array.from({ length: 200 }, () => [broken()]));
    const wrapped = withRetry(model, { ...noWait, attempts: 4, budget: 5 });
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => ask(wrapped)));
    expect(model.calls).toHaveLength(20 + 5);
    const spent = outcomes.filter(({ failure }) => failure?.details.retryBudget === 'spent');
    expect(spent.length).toBeGreaterThan(10);
    expect(spent[0]?.failure).toMatchObject({ code: 'MODEL_FAILED', isRetryable: true });
  });

  it('is given back by calls that are answered, and by ten answers a retry that was lost', async () => {
    const lost: Take = [broken()];
    const good: Take = [text('ok'), end()];
    const rescued = Array.from({ length: 10 }, () => [lost, good]).flat();
    const model = plays([...rescued, lost, lost, lost, ...Array.from({ length: 10 }, () => good), lost, good]);
    const wrapped = withRetry(model, { ...noWait, attempts: 2, budget: 1 });
    for (let turn = 0; turn < 10; turn += 1) expect((await ask(wrapped)).failure).toBeUndefined();
    expect((await ask(wrapped)).failure?.details.attempts).toBe(2);
    expect((await ask(wrapped)).failure?.details.retryBudget).toBe('spent');
    for (let turn = 0; turn < 10; turn += 1) await ask(wrapped);
    expect((await ask(wrapped)).failure).toBeUndefined();
  });

  it('is given back where the reader did not wait for the retry', async () => {
    const clock = new HandClock();
    const controller = new AbortController();
    const model = plays([[broken()], [broken()], [text('ok'), end()]]);
    const wrapped = withRetry(model, { clock, budget: 1 });
    const asking = ask(wrapped, { signal: controller.signal });
    await settle();
    controller.abort();
    await asking;
    expect((await clock.until(ask(wrapped))).failure).toBeUndefined();
  });
});
