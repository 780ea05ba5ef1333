import type { ModelEvent } from '@guardloop/core/model';
import { GuardloopError } from '@guardloop/core/model';
import { expect, it } from 'vitest';
import { drain, expectNoListeners, failure, promptMs, typesOf, waitFor } from './drain.js';
import { hello, requestOf } from './items.js';
import type { BenchReply, ModelBench } from './model-bench.js';

const answer: BenchReply = {
  type: 'answer',
  text: ['Let ', 'me ', 'look.'],
  calls: [
    { id: 'call_a', name: 'find', arguments: '{"id":"a"}' },
    { id: 'call_b', name: 'send', arguments: '{"to":"b"}' },
  ],
};

const replies: readonly BenchReply[] = [
  answer,
  { type: 'length', text: 'Let me' },
  { type: 'refusal' },
  { type: 'status', status: 503, secret: 'down' },
  { type: 'unfinished', text: 'Let me' },
  { type: 'broken', text: 'Let me' },
  { type: 'empty' },
];

export function testModelAborts(use: () => ModelBench): void {
  it('no listener is left on the signal after an answer, whole or cut, a refusal or a failure', async () => {
    const bench = use();
    for (const reply of replies) {
      bench.reply(reply);
      const { signal } = new Aborter();
      await settled(bench.model.stream(requestOf(hello), { signal }));
      expectNoListeners(signal, `after the reply "${reply.type}"`);
    }
    if (bench.retryingModel === undefined) return;
    bench.reply({ type: 'status', status: 503, secret: 'down', retryAfter: 0 }, answer);
    const { signal } = new Aborter();
    await settled(bench.retryingModel.stream(requestOf(hello), { signal }));
    expectNoListeners(signal, 'after a second attempt');
  });

  it('nothing is sent when the signal was aborted before', async () => {
    const bench = use();
    bench.reply(answer);
    await failure(bench.model, requestOf(hello), { signal: AbortSignal.abort(new Error('stop')) });
    expect(bench.requests).toEqual([]);
  });

  it('an abort ends a stream that hangs, and leaves the connection', async () => {
    const bench = use();
    bench.reply({ type: 'hang', text: 'Hel' });
    const { signal, abort } = new Aborter();
    const events: ModelEvent[] = [];
    let abortedAt = 0;
    const reading = (async () => {
      for await (const event of bench.model.stream(requestOf(hello), { signal })) {
        events.push(event);
        abortedAt = performance.now();
        abort();
      }
    })();
    await expect(reading).rejects.toBeDefined();
    expect(performance.now() - abortedAt).toBeLessThan(promptMs);
    expect(events).toEqual([{ type: 'text.delta', text: 'Hel' }]);
    expectNoListeners(signal, 'after an abort');
    await waitFor(() => bench.left === 1);
  });

  it.each(['silent', 'hang'] as const)(
    'an abort ends a call whose provider has said nothing (%s), and leaves the connection',
    async (type) => {
      const bench = use();
      bench.reply(type === 'hang' ? { type, text: '' } : { type });
      const { signal, abort } = new Aborter();
      const reading = failure(bench.model, requestOf(hello), { signal });
      await waitFor(() => bench.requests.length === 1);
      const abortedAt = performance.now();
      abort();
      const { error } = await reading;
      expect(performance.now() - abortedAt).toBeLessThan(promptMs);
      expect(error.isRetryable).toBe(false);
      expectNoListeners(signal, 'after an abort');
      await waitFor(() => bench.left === 1);
    },
  );

  it('an abort after any event of an answer ends it there, or lets what is already whole come to its end', async () => {
    const bench = use();
    bench.reply(answer);
    const { length } = (await drain(bench.model, requestOf(hello))).events;
    for (let at = 1; at <= length; at += 1) {
      bench.reply(answer);
      const { signal, abort } = new Aborter();
      const events: ModelEvent[] = [];
      let error: unknown;
      try {
        for await (const event of bench.model.stream(requestOf(hello), { signal })) {
          events.push(event);
          if (events.length === at) abort();
        }
      } catch (thrown) {
        error = thrown;
      }
      const isWhole = typesOf(events).at(-1) === 'end';
      expect(GuardloopError.is(error), `aborted after event ${at} of ${length}, ended: ${isWhole}`).toBe(!isWhole);
      expectNoListeners(signal, `after an abort at event ${at}`);
    }
  });

  it('an abort at any time leaves nothing behind', async () => {
    const bench = use();
    for (const waitMs of [0, 0, 1, 1, 2, 2, 3, 5, 8]) {
      bench.reply(answer);
      const { signal, abort } = new Aborter();
      setTimeout(abort, waitMs);
      await settled(bench.model.stream(requestOf(hello), { signal }));
      expectNoListeners(signal, `after an abort at ${waitMs} ms`);
    }
  });

  it('an abort ends the wait before a further attempt', async () => {
    const bench = use();
    const { retryingModel: model } = bench;
    if (model === undefined) return;
    bench.reply({ type: 'status', status: 429, secret: 'wait', retryAfter: 30 });
    const { signal, abort } = new Aborter();
    const reading = failure(model, requestOf(hello), { signal });
    await waitFor(() => bench.requests.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const abortedAt = performance.now();
    abort();
    await reading;
    expect(performance.now() - abortedAt).toBeLessThan(promptMs);
    expect(bench.requests).toHaveLength(1);
    expectNoListeners(signal, 'after an abort');
  });

  it('a reader that leaves, after whichever event, leaves the connection and no listener', async () => {
    const bench = use();
    bench.reply({ type: 'hang', text: 'Hel' });
    const { signal } = new Aborter();
    for await (const event of bench.model.stream(requestOf(hello), { signal })) if (event.type === 'text.delta') break;
    await waitFor(() => bench.left === 1);
    expectNoListeners(signal, 'after its reader left');

    bench.reply(answer);
    const { length } = (await drain(bench.model, requestOf(hello))).events;
    for (let at = 1; at <= length; at += 1) {
      bench.reply(answer);
      const later = new Aborter();
      let seen = 0;
      for await (const event of bench.model.stream(requestOf(hello), { signal: later.signal })) {
        expect(event).toBeDefined();
        seen += 1;
        if (seen === at) break;
      }
      expectNoListeners(later.signal, `after its reader left at event ${at}`);
    }
  });
}

/** Reads to the end, or to the failure. */
async function settled(stream: AsyncIterable<ModelEvent>): Promise<void> {
  try {
    for await (const event of stream) expect(event).toBeDefined();
  } catch (error) {
    expect(GuardloopError.is(error), String(error)).toBe(true);
  }
}

class Aborter {
  readonly #controller = new AbortController();
  readonly signal = this.#controller.signal;
  readonly abort = (): void => this.#controller.abort(new Error('stop'));
}
