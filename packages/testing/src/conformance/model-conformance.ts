import type { AssistantMessage, JsonValue, Message, ModelAnswer, ModelEvent, ModelRequest } from '@guardloop/core/model';
import { collect, GuardloopError } from '@guardloop/core/model';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { assistantItem, historyFrom, requestOf, resultItem, userItem } from './histories.js';
import type { BenchReply, ModelBench } from './model-bench.js';

/**
 * The suite that every model adapter runs: the contract of `Model` against a fake provider. Call it at the top level of a vitest file.
 *
 * `setup` is called before each test; the bench it gives is closed after it. Whatever a test does, every request that left must pass the
 * bench's strict checker.
 *
 * ```ts
 * modelConformance('openai', async () => startChatBench());
 * ```
 */
export function modelConformance(name: string, setup: () => Promise<ModelBench>): void {
  describe(`${name} is a model`, () => {
    let bench: ModelBench;
    beforeEach(async () => {
      bench = await setup();
    });
    afterEach(async () => {
      await bench.close();
      for (const body of bench.requests) expect(bench.check(body), 'what the strict checker says about a request').toEqual([]);
    });
    const use = (): ModelBench => bench;
    testAnswers(use);
    testRounds(use);
    testFailures(use);
    testAborts(use);
  });
}

type Use = () => ModelBench;

/** The longest that a model may go on after an abort, milliseconds. */
const promptMs = 1_000;
const hello: readonly Message[] = [userItem('r/i1', 'Hello.')];

interface Drained extends ModelAnswer {
  readonly events: readonly ModelEvent[];
}

async function drain(bench: ModelBench, request: ModelRequest, signal = new AbortController().signal): Promise<Drained> {
  const events: ModelEvent[] = [];
  for await (const event of bench.model.stream(request, { signal })) events.push(event);
  const replay = async function* (): AsyncGenerator<ModelEvent> {
    yield* events;
  };
  return { ...(await collect(replay())), events };
}

async function fail(
  bench: ModelBench,
  reply: BenchReply,
): Promise<{ readonly error: GuardloopError; readonly events: readonly ModelEvent[] }> {
  bench.reply(reply);
  const events: ModelEvent[] = [];
  try {
    for await (const event of bench.model.stream(requestOf(hello), { signal: new AbortController().signal })) events.push(event);
  } catch (error) {
    if (!GuardloopError.is(error)) throw new Error(`The model threw ${String(error)}, expected a GuardloopError.`);
    expect(
      events.some(({ type }) => type === 'end'),
      'a failed stream has no end event',
    ).toBe(false);
    return { error, events };
  }
  throw new Error(`The model did not throw, but gave ${events.map(({ type }) => type).join(', ')}.`);
}

/** What core records of an answer that nothing has changed. */
function recordOf(answer: ModelAnswer, provider: string, turn: number): AssistantMessage {
  return assistantItem(`r/${turn}`, {
    text: answer.text,
    calls: answer.calls.map((call, index) => ({
      id: `${turn}.${index}`,
      name: call.name,
      input: 'input' in call ? (call.input as AssistantMessage['calls'][number]['input']) : {},
      ...(call.providerId === undefined ? {} : { providerId: call.providerId }),
    })),
    ...(answer.end?.native === undefined ? {} : { native: { provider, message: answer.end.native } }),
  });
}

function testAnswers(use: Use): void {
  it('streams a text, then ends once, last, with what was used', async () => {
    const bench = use();
    bench.reply({ type: 'answer', text: ['Hel', 'lo ', 'wörld 😀', '.'] });
    const { text, events, end } = await drain(bench, requestOf(hello));
    expect(text).toBe('Hello wörld 😀.');
    expect(events.filter(({ type }) => type === 'text.delta').length).toBeGreaterThan(1);
    expect(events.filter(({ type }) => type === 'end')).toHaveLength(1);
    expect(events.at(-1)).toBe(end);
    expect(end).toMatchObject({ stopReason: 'stop', usage: { requests: 1, inputTokens: 12, outputTokens: 5 } });
    expect(bench.requests).toHaveLength(1);
  });

  it('gives parallel calls complete, parsed and in order, after the text', async () => {
    const bench = use();
    const calls = [
      { id: 'call_a', name: 'find', arguments: '{"id":"a 😀"}' },
      { id: 'call_b', name: 'send', arguments: '{"to": "b"}' },
      { id: 'call_c', name: 'find', arguments: '{}' },
    ];
    bench.reply({ type: 'answer', text: ['Let me look.'], calls });
    const answer = await drain(bench, requestOf(hello));
    expect(answer.text).toBe('Let me look.');
    expect(answer.calls).toEqual([
      { providerId: 'call_a', name: 'find', input: { id: 'a 😀' } },
      { providerId: 'call_b', name: 'send', input: { to: 'b' } },
      { providerId: 'call_c', name: 'find', input: {} },
    ]);
    expect(answer.end?.stopReason).toBe('tools');
    const order = answer.events.map(({ type }) => type);
    expect(order.lastIndexOf('text.delta')).toBeLessThan(order.indexOf('tool.call'));
  });

  it('marks arguments that are no JSON as unparsable, with their text', async () => {
    const bench = use();
    bench.reply({ type: 'answer', calls: [{ id: 'call_a', name: 'find', arguments: '{"id": "a' }] });
    const { calls } = await drain(bench, requestOf(hello));
    expect(calls).toEqual([{ providerId: 'call_a', name: 'find', unparsable: '{"id": "a' }]);
  });

  it('tells a cut by the token limit and a refusal from a whole answer', async () => {
    const bench = use();
    bench.reply({ type: 'length', text: 'Hel' }, { type: 'refusal' });
    expect((await drain(bench, requestOf(hello))).end?.stopReason).toBe('length');
    expect((await drain(bench, requestOf(hello))).end?.stopReason).toBe('refusal');
  });

  it('keeps two calls at the same time apart', async () => {
    const bench = use();
    bench.reply({ type: 'answer', text: ['same', ' text'] }, { type: 'answer', text: ['same', ' text'] });
    const answers = await Promise.all([drain(bench, requestOf(hello)), drain(bench, requestOf(hello))]);
    expect(answers.map(({ text }) => text)).toEqual(['same text', 'same text']);
  });
}

function testRounds(use: Use): void {
  it('sends results of parallel calls back, next to their calls', async () => {
    const bench = use();
    const calls = ['a', 'b', 'c'].map((id) => ({ id: `call_${id}`, name: 'find', arguments: `{"id":"${id}"}` }));
    bench.reply({ type: 'answer', text: ['Looking.'], calls }, { type: 'answer', text: ['Done.'] });
    const first = await drain(bench, requestOf(hello));
    const messages = [
      ...hello,
      recordOf(first, bench.model.provider, 1),
      resultItem('1.0', 'result A'),
      resultItem('1.1', 'result B', { isError: true }),
      resultItem('1.2', ''),
    ];
    const second = await drain(bench, requestOf(messages, { turn: 2 }));
    expect(second.text).toBe('Done.');
    const body = JSON.stringify(bench.requests[1]);
    expect(body.indexOf('result A')).toBeGreaterThan(0);
    expect(body.indexOf('result B')).toBeGreaterThan(body.indexOf('result A'));
  });

  it("replays the provider's own message as it was", async () => {
    const bench = use();
    bench.reply(
      { type: 'answer', text: ['Looking.'], calls: [{ id: 'call_a', name: 'find', arguments: '{"id": "a",  "more": [1, 2]}' }] },
      { type: 'answer', text: ['Done.'] },
    );
    const first = await drain(bench, requestOf(hello));
    const native = first.end?.native;
    expect(native).toBeDefined();
    const copy = JSON.parse(JSON.stringify(native)) as JsonValue;
    const recorded = { ...recordOf(first, bench.model.provider, 1), native: { provider: bench.model.provider, message: copy } };
    await drain(bench, requestOf([...hello, recorded, resultItem('1.0', 'found')], { turn: 2 }));
    const body = JSON.stringify(bench.requests[1]);
    for (const piece of Array.isArray(copy) ? (copy as readonly JsonValue[]) : [copy]) expect(body).toContain(JSON.stringify(piece));
  });

  it("never sends another provider's message", async () => {
    const bench = use();
    bench.reply({ type: 'answer', text: ['Done.'] });
    const foreign = assistantItem('r/1', { text: 'neutral text', native: { provider: 'elsewhere', message: { secret: 'FOREIGN' } } });
    await drain(bench, requestOf([...hello, foreign, userItem('r/i2', 'Go on.')]));
    const body = JSON.stringify(bench.requests[0]);
    expect(body).not.toContain('FOREIGN');
    expect(body).toContain('neutral text');
  });

  it("puts core's note behind everything else", async () => {
    const bench = use();
    bench.reply({ type: 'answer', text: ['a'] }, { type: 'answer', text: ['b'] });
    await drain(bench, requestOf(hello, { note: 'THE NOTE' }));
    await drain(
      bench,
      requestOf([...hello, assistantItem('r/1', { calls: [{ id: '1.0', name: 'find', input: {} }] }), resultItem('1.0', 'LAST RESULT')], {
        turn: 2,
        note: 'THE NOTE',
      }),
    );
    const [first, second] = bench.requests.map((body) => JSON.stringify(body));
    expect(first?.indexOf('THE NOTE')).toBeGreaterThan(first?.indexOf('Hello.') ?? 0);
    expect(second?.indexOf('THE NOTE')).toBeGreaterThan(second?.indexOf('LAST RESULT') ?? 0);
  });

  it('makes a legal request of any history that core can hold, and changes nothing in it', async () => {
    const bench = use();
    for (let seed = 1; seed <= 60; seed += 1) {
      const request = requestOf(freeze(historyFrom(seed)), {
        turn: seed,
        system: seed % 3 === 0 ? '' : 'Help.',
        ...(seed % 4 === 0 ? { tools: [] } : {}),
        ...(seed % 5 === 0 ? { note: 'Again.' } : {}),
        ...(seed % 7 === 0 ? { toolChoice: 'none' } : {}),
      });
      bench.reply({ type: 'answer', text: ['ok'] });
      const { text } = await drain(bench, freeze(request));
      expect(text).toBe('ok');
      expect(bench.check(bench.requests.at(-1)), `the request of history ${seed}`).toEqual([]);
    }
  });
}

function testFailures(use: Use): void {
  const secret = 'THE PROVIDERS SECRET WORDS';

  it.each([
    [400, false],
    [401, false],
    [403, false],
    [404, false],
    [429, true],
    [500, true],
    [503, true],
  ])('fails with MODEL_FAILED after status %i, retryable: %s, and keeps the body to itself', async (status, isRetryable) => {
    const { error, events } = await fail(use(), { type: 'status', status, secret });
    expect(error.code).toBe('MODEL_FAILED');
    expect(error.isRetryable).toBe(isRetryable);
    expect([error.details.status, error.cause?.status]).toContain(status);
    expect(events.filter(({ type }) => type !== 'retry')).toEqual([]);
    expect(JSON.stringify([error.message, error.details, error.cause ?? null])).not.toContain(secret);
  });

  it('tells how long the provider wants to be left alone', async () => {
    const { error } = await fail(use(), { type: 'status', status: 429, secret, retryAfter: 7 });
    expect(JSON.stringify(error.details)).toMatch(/7000|7\b/);
  });

  it('fails when the stream ends without its terminal event, however it ends', async () => {
    const unfinished = await fail(use(), { type: 'unfinished', text: 'Hel' });
    expect(unfinished.error.code).toBe('MODEL_PROTOCOL');
    const broken = await fail(use(), { type: 'broken', text: 'Hel' });
    expect(['MODEL_FAILED', 'MODEL_PROTOCOL']).toContain(broken.error.code);
    for (const { events } of [unfinished, broken]) expect(events.every(({ type }) => type === 'text.delta')).toBe(true);
  });

  it('fails when the stream holds nothing', async () => {
    expect((await fail(use(), { type: 'empty' })).error.code).toBe('MODEL_PROTOCOL');
  });
}

function testAborts(use: Use): void {
  it('sends nothing when the signal was aborted before', async () => {
    const bench = use();
    bench.reply({ type: 'answer', text: ['x'] });
    await expect(drain(bench, requestOf(hello), AbortSignal.abort(new Error('stop')))).rejects.toBeDefined();
    expect(bench.requests).toEqual([]);
  });

  it('stops promptly when the signal is aborted, and leaves the connection', async () => {
    const bench = use();
    bench.reply({ type: 'hang', text: 'Hel' });
    const controller = new AbortController();
    const events: ModelEvent[] = [];
    let abortedAt = 0;
    const reading = (async () => {
      for await (const event of bench.model.stream(requestOf(hello), { signal: controller.signal })) {
        events.push(event);
        abortedAt = performance.now();
        controller.abort(new Error('stop'));
      }
    })();
    await reading.catch(() => undefined);
    expect(abortedAt).toBeGreaterThan(0);
    expect(performance.now() - abortedAt).toBeLessThan(promptMs);
    expect(events.some(({ type }) => type === 'end')).toBe(false);
    await waitFor(() => bench.left === 1);
  });

  it('stops promptly when it is aborted before the provider has answered', async () => {
    const bench = use();
    bench.reply({ type: 'hang', text: '' });
    const controller = new AbortController();
    const reading = drain(bench, requestOf(hello), controller.signal);
    reading.catch(() => undefined);
    await waitFor(() => bench.requests.length === 1);
    const abortedAt = performance.now();
    controller.abort(new Error('stop'));
    await expect(reading).rejects.toBeDefined();
    expect(performance.now() - abortedAt).toBeLessThan(promptMs);
  });

  it('leaves the connection when its reader leaves', async () => {
    const bench = use();
    bench.reply({ type: 'hang', text: 'Hel' });
    for await (const event of bench.model.stream(requestOf(hello), { signal: new AbortController().signal }))
      if (event.type === 'text.delta') break;
    await waitFor(() => bench.left === 1);
  });
}

async function waitFor(isTrue: () => boolean): Promise<void> {
  for (let waited = 0; waited < promptMs && !isTrue(); waited += 5) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(isTrue()).toBe(true);
}

/** Frozen all through: an adapter that writes into what it was given throws. */
function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const child of Object.values(value)) freeze(child);
  return Object.freeze(value);
}
