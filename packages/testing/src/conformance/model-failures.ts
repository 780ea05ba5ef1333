import { expect, it } from 'vitest';
import type { Failed } from './drain.js';
import { drain, failure, typesOf } from './drain.js';
import { hello, requestOf } from './items.js';
import type { BenchReply, ModelBench } from './model-bench.js';

const secret = 'THE PROVIDERS SECRET WORDS';

export function testModelFailures(use: () => ModelBench): void {
  const failWith = (reply: BenchReply): Promise<Failed> => {
    use().reply(reply);
    return failure(use().model, requestOf(hello));
  };

  it.each([
    [400, false],
    [401, false],
    [403, false],
    [404, false],
    [429, true],
    [500, true],
    [503, true],
  ])('status %i is MODEL_FAILED, retryable: %s, and its body is kept out', async (status, isRetryable) => {
    const { error, events } = await failWith({ type: 'status', status, secret });
    expect(error.code).toBe('MODEL_FAILED');
    expect(error.isRetryable).toBe(isRetryable);
    expect(error.details).toMatchObject({ status, delivered: false });
    expect(typesOf(events).filter((type) => type !== 'retry')).toEqual([]);
    expect(JSON.stringify([error.message, error.details, error.cause ?? null])).not.toContain(secret);
  });

  it('the time that the provider wants to be left alone is told in milliseconds', async () => {
    const { error } = await failWith({ type: 'status', status: 429, secret, retryAfter: 7 });
    expect(error.details.retryAfterMs).toBe(7_000);
  });

  it.each(['unfinished', 'broken'] as const)(
    'a stream that is %s after text has failed for good: what was delivered is not repeated',
    async (type) => {
      const { error, events } = await failWith({ type, text: 'Hel' });
      expect(error.code).toBe(type === 'unfinished' ? 'MODEL_PROTOCOL' : 'MODEL_FAILED');
      expect(events).toEqual([{ type: 'text.delta', text: 'Hel' }]);
      expect(error).toMatchObject({ isRetryable: false, details: { delivered: true } });
      expect(JSON.stringify([error.message, error.details])).not.toContain('Hel');
    },
  );

  it.each(['unfinished', 'broken', 'empty'] as const)(
    'a stream that is %s before it said anything has failed, and may be asked again',
    async (type) => {
      const { error, events } = await failWith(type === 'empty' ? { type } : { type, text: '' });
      expect(error.code).toBe(type === 'broken' ? 'MODEL_FAILED' : 'MODEL_PROTOCOL');
      expect(error).toMatchObject({ isRetryable: true, details: { delivered: false } });
      expect(events).toEqual([]);
    },
  );

  it('a provider that cannot be reached is MODEL_FAILED, and may be asked again', async () => {
    await use().close();
    const { error, events } = await failure(use().model, requestOf(hello));
    expect(error).toMatchObject({ code: 'MODEL_FAILED', isRetryable: true, details: { delivered: false } });
    expect(events).toEqual([]);
  });

  it('a model that was made to retry does so, unless its caller repeats failed calls itself', async () => {
    const bench = use();
    const { retryingModel: model } = bench;
    if (model === undefined) return;
    const failing = { type: 'status', status: 503, secret, retryAfter: 0 } as const;

    bench.reply(failing);
    const { error, events } = await failure(model, requestOf(hello), { isRetried: true });
    expect(error).toMatchObject({ code: 'MODEL_FAILED', isRetryable: true });
    expect([bench.requests.length, events]).toEqual([1, []]);

    bench.reply(failing, { type: 'answer', text: ['Now.'] });
    const answer = await drain(model, requestOf(hello));
    expect(answer.text).toBe('Now.');
    expect(bench.requests).toHaveLength(3);
    expect(bench.requests[2]?.body).toEqual(bench.requests[1]?.body);
    if (bench.countsAttempts === false) return;
    expect(answer.end?.usage.requests).toBe(2);
    expect(answer.events).toContainEqual({ type: 'retry', attempt: 1, waitMs: expect.any(Number) as number });
  });
}
