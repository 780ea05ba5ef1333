import type { Model, ModelEvent } from '@guardloop/core';
import { defineAgent, GuardloopError, run, withFallback, withRetry } from '@guardloop/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sound } from '../scenarios/sound.js';
import { settle } from './hand-clock.js';
import type { Take } from './takes.js';
import { ask, broken, call, end, part, plays, text, thought } from './takes.js';

const named = (takes: readonly Take[], id: string, more: Partial<Pick<Model, 'providerTools'>> = {}) =>
  plays(takes, { id, provider: `maker.${id}`, ...more });
const ok: Take = [text('ok'), end()];
const endOf = (events: readonly ModelEvent[]) => {
  const last = events.at(-1);
  return last?.type === 'end' ? last : undefined;
};

describe('withFallback', () => {
  it('goes by the first model, and is not felt where that one answers', async () => {
    const second = named([], 'b');
    const model = withFallback([
      named([ok], 'a', { providerTools: ['web_search'] }),
      second,
      named([], 'c', { providerTools: ['x', 'web_search'] }),
    ]);
    expect(model).toMatchObject({ id: 'a', provider: 'maker.a', providerTools: ['web_search', 'x'] });
    expect((await ask(model)).events).toEqual(ok);
    expect(second.calls).toEqual([]);
    expect(withFallback([named([], 'a'), second]).providerTools).toBeUndefined();
  });

  it('asks the next model where one failed before it said anything, with a warning, who answered, and what each used', async () => {
    const model = withFallback([
      named([[broken({ status: 503, usage: { requests: 2, inputTokens: 3 } })]], 'a'),
      named([[part('{'), call(), broken({ status: 401 }, false)]], 'b'),
      named([ok], 'c'),
    ]);
    const { events, failure } = await ask(model);
    expect(failure).toBeUndefined();
    expect(events).toEqual([
      {
        type: 'warning',
        about: 'fallback',
        message: 'Model a (maker.a) failed (MODEL_FAILED, status 503); model b (maker.b) is asked in its place.',
      },
      {
        type: 'warning',
        about: 'fallback',
        message: 'Model b (maker.b) failed (MODEL_FAILED, status 401); model c (maker.c) is asked in its place.',
      },
      text('ok'),
      {
        ...end({
          requests: 4,
          inputTokens: 13,
          outputTokens: 5,
          byModel: {
            a: { requests: 2, inputTokens: 3 },
            b: { requests: 1 },
            c: { requests: 1, inputTokens: 10, outputTokens: 5 },
          },
        }),
        by: { id: 'c', provider: 'maker.c' },
      },
    ]);
  });

  it('fails with the last error, and tells what every model used', async () => {
    const { failure } = await ask(
      withFallback([
        named([[broken({ usage: { requests: 1, inputTokens: 2 } })]], 'a'),
        named([[broken({ status: 529, attempts: 3 })]], 'b'),
      ]),
    );
    expect(failure?.details).toEqual({
      status: 529,
      attempts: 4,
      usage: { requests: 4, inputTokens: 2, byModel: { a: { requests: 1, inputTokens: 2 }, b: { requests: 3 } } },
    });
  });

  it.each([
    ['text', text('half of')],
    ['reasoning', thought('half of')],
  ])('does not ask another where %s is out', async (_name, delta) => {
    const second = named([ok], 'b');
    const { failure } = await ask(withFallback([named([[delta, broken()]], 'a'), second]));
    expect(failure).toMatchObject({ isRetryable: false, details: { delivered: true } });
    expect(second.calls).toEqual([]);
  });

  it.each(['refusal', 'length'] as const)('takes an answer that stopped for %s as an answer', async (stopReason) => {
    const second = named([ok], 'b');
    const answer: ModelEvent = { type: 'end', stopReason, usage: { requests: 1 } };
    expect((await ask(withFallback([named([[answer]], 'a'), second]))).events).toEqual([answer]);
    expect(second.calls).toEqual([]);
  });

  it.each<[string, GuardloopError, boolean]>([
    ['what may pass', broken(), true],
    ['a broken stream that may pass', new GuardloopError('MODEL_PROTOCOL', 'x', { isRetryable: true }), true],
    ['a key that is not good', broken({ status: 401 }, false), true],
    ['no money', broken({ status: 402 }, false), true],
    ['no right', broken({ status: 403 }, false), true],
    ['no such model', broken({ status: 404 }, false), true],
    ['a spent quota', broken({ status: 429 }, false), true],
    ['a fault that is not to be repeated', broken({ status: 500 }, false), true],
    ['a request that is wrong', broken({ status: 400 }, false), false],
    ['a request that is too large', broken({ status: 413 }, false), false],
    ['a request that cannot be processed', broken({ status: 422 }, false), false],
    ['an error without a status that stays', broken({}, false), false],
    ['a setting that the provider lacks', new GuardloopError('CONFIG_INVALID', 'x', { details: { status: 500 } }), false],
  ])('by default, after %s: asks another or not', async (_what, failure, isAsked) => {
    const second = named([ok], 'b');
    const outcome = await ask(withFallback([named([[failure]], 'a'), second]));
    expect(second.calls).toHaveLength(isAsked ? 1 : 0);
    expect(outcome.failure === undefined).toBe(isAsked);
    if (!isAsked) expect(outcome.failure).toBe(failure);
  });

  it('asks `when`, with the error and both models; only `true` means yes', async () => {
    const [a, b] = [named([[broken({ status: 400 }, false)], [broken()], [broken()]], 'a'), named([ok, ok], 'b')];
    const seen: unknown[] = [];
    const answers: unknown[] = [true, false, 'yes'];
    const model = withFallback([a, b], {
      when: (failure, info) => {
        seen.push([failure.details.status, info.model === a, info.next === b]);
        return answers[seen.length - 1] as boolean;
      },
    });
    expect((await ask(model)).failure).toBeUndefined();
    expect((await ask(model)).failure?.code).toBe('MODEL_FAILED');
    expect((await ask(model)).failure?.code).toBe('MODEL_FAILED');
    expect(seen).toEqual([
      [400, true, true],
      [undefined, true, true],
      [undefined, true, true],
    ]);
  });

  it('fails where `when` throws, with words that say so', async () => {
    const second = named([ok], 'b');
    const model = withFallback([named([[broken()]], 'a'), second], {
      when: () => {
        throw new RangeError('SECRET');
      },
    });
    const { failure } = await ask(model);
    expect(failure).toMatchObject({ code: 'CONFIG_INVALID', isRetryable: false, cause: { name: 'RangeError' } });
    expect(failure?.message).toBe(
      'The function `when` of withFallback threw RangeError when model a had failed (MODEL_FAILED). Have it answer true or false.',
    );
    expect(second.calls).toEqual([]);
  });

  it('fails where `when` gives a promise, whatever becomes of it', async () => {
    const second = named([ok], 'b');
    const model = withFallback([named([[broken()]], 'a'), second], { when: (async () => Promise.reject(new Error('SECRET'))) as never });
    const { failure } = await ask(model);
    expect(failure).toMatchObject({ code: 'CONFIG_INVALID', isRetryable: false });
    expect(failure?.message).toBe(
      'The function `when` of withFallback gave a promise when model a had failed (MODEL_FAILED). Have it answer true or false.',
    );
    expect(second.calls).toEqual([]);
  });

  it('never asks another after an abort', async () => {
    const controller = new AbortController();
    const second = named([ok], 'b');
    const asking = ask(withFallback([named([['hang']], 'a'), second], { when: () => true }), { signal: controller.signal });
    await settle();
    controller.abort();
    expect((await asking).failure?.details.aborted).toBe(true);
    expect(second.calls).toEqual([]);
  });

  it.each([
    {
      what: 'one model',
      models: [plays([])],
      message: 'withFallback was not given two models. Give a list of at least two: withFallback([first, second]).',
    },
    { what: 'no list', models: plays([]), message: 'withFallback was not given two models' },
    { what: 'what is no model', models: [plays([]), 'gpt-5'], message: 'withFallback was given "gpt-5" as its model.' },
    {
      what: 'a `when` that is no function',
      models: [plays([]), plays([])],
      options: { when: true },
      message: 'withFallback was given true as its option `when`. Give a function.',
    },
  ])('refuses $what', ({ models, options, message }) => {
    expect(() => withFallback(models as never, options as never)).toThrow(message);
  });

  it('keeps what one model used apart from what another did, for every tree of retries and fallbacks', async () => {
    const failing = fc.record({
      requests: fc.integer({ min: 1, max: 3 }),
      tokens: fc.option(fc.integer({ min: 0, max: 9 }), { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.array(failing, { maxLength: 2 })), { minLength: 2, maxLength: 4 }),
        async (tree) => {
          const models = tree.map(([id, failures], index) => {
            const takes: Take[] = failures.map(({ requests, tokens }) => [
              broken({ usage: { requests, ...(tokens === undefined ? {} : { inputTokens: tokens }) } }),
            ]);
            const isLast = index === tree.length - 1;
            return withRetry(named(isLast ? [...takes, ok] : [...takes, [broken()]], id), { attempts: failures.length + 1, baseMs: 0 });
          });
          const { events } = await ask(withFallback(models));
          const expected = new Map<string, { requests: number; inputTokens?: number; outputTokens?: number }>();
          tree.forEach(([id, failures], index) => {
            const share = expected.get(id) ?? { requests: 0 };
            share.requests += failures.reduce((sum, { requests }) => sum + requests, 1);
            const tokens = failures.flatMap((each) => each.tokens ?? []);
            if (index === tree.length - 1) tokens.push(10);
            if (tokens.length > 0) share.inputTokens = tokens.reduce((sum, each) => sum + each, share.inputTokens ?? 0);
            if (index === tree.length - 1) share.outputTokens = 5;
            expected.set(id, share);
          });
          const { byModel, ...total } = endOf(events)?.usage ?? { requests: 0 };
          const shares = [...expected.values()];
          expect(total).toEqual({
            requests: shares.reduce((sum, { requests }) => sum + requests, 0),
            inputTokens: shares.reduce((sum, { inputTokens = 0 }) => sum + inputTokens, 0),
            outputTokens: 5,
          });
          expect(byModel ?? Object.fromEntries(expected)).toEqual(Object.fromEntries(expected));
          expect(byModel === undefined).toBe(expected.size === 1);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('within a run: the fallback answers, and the run completes', async () => {
    const model = withFallback([named([[broken()]], 'a'), named([ok], 'b')]);
    const result = await sound(run(defineAgent({ name: 'desk', instructions: '', model }), 'go'));
    expect(result).toMatchObject({ status: 'completed', output: 'ok', usage: { requests: 2, inputTokens: 10, outputTokens: 5 } });
  });
});
