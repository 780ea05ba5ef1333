import type { RunEvent } from '@guardloop/core';
import { defineAgent, resume, run, stream } from '@guardloop/core';
import { readRecordings } from '@guardloop/testing/conformance';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ModelServer } from './model-server.js';
import { modes, passed, settle, textOf } from './settle.js';
import { findOrder, surfaces, witness } from './shop.js';
import type { Side } from './sides.js';
import { sides } from './sides.js';
import { streamFolders } from './stream-folders.js';

let server: ModelServer;
beforeAll(async () => {
  server = await ModelServer.start();
});
afterEach(() => {
  const { problems } = server;
  expect(problems).toEqual([]);
  server.forget();
});
afterAll(() => server.stop());

const allButOutput = surfaces.filter((surface) => surface !== 'output');
const failing = (status: number, retryAfter?: number) => ({
  status,
  error: { message: 'the body of the provider quotes swordfish', type: 'some_error' },
  ...(retryAfter === undefined ? {} : { retryAfter }),
});
const desk = (side: Side, maxRetries: number) =>
  defineAgent({ name: 'desk', instructions: '', model: side.model(server, { maxRetries }), tools: [findOrder] });

describe.each(sides)('$name', (side) => {
  it('S160: after 429 the server is given the time it asks for, and then answers; both attempts are counted', async () => {
    server.inOrder(failing(429, 1), { content: 'Now.' });

    const started = performance.now();
    const { result, events } = await settle('stream', desk(side, 1), { input: 'Hello?', guardrails: [witness([])] });

    expect(result).toMatchObject({ status: 'completed', output: 'Now.' });
    expect(performance.now() - started).toBeGreaterThan(990);
    expect(server.requests).toHaveLength(2);
    expect(server.requests[1]?.json).toBe(server.requests[0]?.json);
    if (side.countsAttempts) {
      expect(result.usage.requests).toBe(2);
      expect(events.filter(({ type }) => type === 'model.retry')).toMatchObject([{ attempt: 1, waitMs: expect.any(Number) }]);
    }
  });

  it.each(modes)(
    'a server that stays at 429 fails the run as retryable with the time to wait, and the run can go on later (%s)',
    async (mode) => {
      server.turns({ toolCalls: [{ id: 'call_a', name: 'find_order', arguments: { orderId: 'o1' } }] }, failing(429, 1));
      const agent = desk(side, 0);

      const { result } = await settle(mode, agent, { input: 'Where is o1?', guardrails: [witness([])] });

      expect(result).toMatchObject({
        status: 'failed',
        error: { code: 'MODEL_FAILED', isRetryable: true, details: { status: 429, retryAfterMs: 1_000 } },
      });
      expect(JSON.stringify(result)).not.toContain('swordfish');
      expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);

      server.forget();
      server.turns({ content: 'unused' }, { content: 'It is on its way.' });
      const later = passed(await resume(agent, JSON.parse(JSON.stringify(result.log)), { guardrails: [witness([])] }));
      expect(later).toMatchObject({ status: 'completed', output: 'It is on its way.' });
      expect(server.requests).toHaveLength(1);
      expect(server.requests[0]?.results).toHaveLength(1);
    },
  );

  it.each([500, 529])('after %i the request is made again, and once the retries are used up the run fails as retryable', async (status) => {
    server.inOrder(failing(status), { content: 'Now.' });
    const recovered = passed(await run(desk(side, 1), 'Hello?', { guardrails: [witness([])] }));
    expect(recovered).toMatchObject({ status: 'completed', output: 'Now.' });

    server.forget();
    server.on({}, failing(status));
    const given = passed(await run(desk(side, 1), 'Hello?', { guardrails: [witness([])] }));
    expect(given).toMatchObject({ status: 'failed', error: { code: 'MODEL_FAILED', isRetryable: true, details: { status } } });
    expect(server.requests).toHaveLength(2);
    expect(JSON.stringify(given)).not.toContain('swordfish');
  });

  it.each([400, 401, 404])('after %i nothing is tried again, and no word of the body is kept', async (status) => {
    server.on({}, failing(status));

    const { result, events } = await settle('stream', desk(side, 2), { input: 'Hello?', guardrails: [witness([])] });

    expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_FAILED', isRetryable: false, details: { status } } });
    expect(server.requests).toHaveLength(1);
    expect(JSON.stringify([result, events])).not.toContain('swordfish');
  });

  it('S158: an abort while a retry is waited for ends the run at once, and no request follows', async () => {
    server.on({}, failing(429, 30));
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 80);

    const started = performance.now();
    const result = passed(await run(desk(side, 2), 'Hello?', { guardrails: [witness([])], signal: controller.signal }));

    expect(result.status).toBe('cancelled');
    expect(performance.now() - started).toBeLessThan(15_000);
    expect(server.requests).toHaveLength(1);
  });

  it('S061: a connection cut in the middle of an answer fails the run; what was shown is taken back, nothing is recorded, nothing repeated', async () => {
    server.on(
      {},
      { content: 'The answer is forty two and a half' },
      { truncateAfterChunks: side.dialect === 'responses' ? 9 : 5, latency: 5 },
    );
    const agent = desk(side, 2);

    const { result, events } = await settle('stream', agent, { input: 'Well?', guardrails: [witness([], allButOutput)] });

    expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_FAILED' } });
    expect(result.messages.map(({ role }) => role)).toEqual(['user']);
    const shown = textOf(events);
    expect(shown.length).toBeGreaterThan(0);
    expect(events.filter(({ type }) => type === 'text.retract')).toMatchObject([{ turn: 1, chars: shown.length }]);
    expect(JSON.stringify(result)).not.toContain('The answer');
    expect(server.requests).toHaveLength(1);

    server.forget();
    server.on({}, { content: 'Forty two.' });
    const later = passed(await resume(agent, result.log, { guardrails: [witness([], allButOutput)] }));
    expect(later).toMatchObject({ status: 'completed', output: 'Forty two.' });
  });

  it('S043: a call whose stream was cut does not run, though its arguments were nearly whole', async () => {
    server.on({}, { toolCalls: [{ id: 'call_a', name: 'find_order', arguments: { orderId: 'o1' } }] }, { truncateAfterChunks: 6 });

    const { result, events } = await settle('stream', desk(side, 0), { input: 'Where?', guardrails: [witness([])] });

    expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_FAILED' } });
    expect(events.some(({ type }) => type === 'tool.start' || type === 'tool.delta')).toBe(false);
    expect(result.messages.map(({ role }) => role)).toEqual(['user']);
  });

  it('S162: a stream that is cut before it said anything fails as retryable', async () => {
    server.on({}, { content: 'never' }, { truncateAfterChunks: 1 });

    const { result, events } = await settle('stream', desk(side, 0), { input: 'Well?', guardrails: [witness([])] });

    expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_FAILED', isRetryable: true } });
    expect(textOf(events)).toBe('');
  });

  it('a connection that is dropped before any answer is tried again, and then fails as retryable', async () => {
    server.on({}, { content: 'never' }, { chaos: { disconnectRate: 1 } });

    const { result } = await settle('run', desk(side, 1), { input: 'Well?', guardrails: [witness([])] });

    expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_FAILED', isRetryable: true } });
    expect(server.requests).toHaveLength(2);
  });

  it('a body that is no stream fails the run, never completes it', async () => {
    server.on({}, { content: 'never' }, { chaos: { malformedRate: 1 } });

    const { result } = await settle('stream', desk(side, 0), { input: 'Well?', guardrails: [witness([])] });

    expect(result.status).toBe('failed');
    expect(result.messages.map(({ role }) => role)).toEqual(['user']);
  });

  it('S038: an answer cut by the length limit fails, and no call of it runs', async () => {
    server.on({}, { content: 'Let me', toolCalls: [{ name: 'find_order', arguments: { orderId: 'o1' } }], finishReason: 'length' });

    const { result, events } = await settle('stream', desk(side, 0), { input: 'Where?', guardrails: [witness([])] });

    expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_FAILED', details: { stopReason: 'length' } } });
    expect(events.some(({ type }) => type === 'tool.start')).toBe(false);
    expect(JSON.stringify([result, events])).not.toContain('Let me');
  });

  it('a refusal by the provider is blocked by the model, with the reply of the agent', async () => {
    const recordings = readRecordings(streamFolders[side.dialect]).filter(({ name }) => /refusal|filtered/.test(name));
    expect(recordings.length).toBeGreaterThan(0);
    for (const { bytes } of recordings) {
      const place = {
        url: 'https://provider.test',
        fetch: async () => new Response(Buffer.from(bytes), { headers: { 'content-type': 'text/event-stream' } }),
      };
      const agent = defineAgent({ name: 'desk', instructions: '', model: side.model(place), refusal: 'Not here.' });

      const { result, events } = await settle('stream', agent, { input: 'Do it.', guardrails: [witness([])] });

      expect(result).toMatchObject({ status: 'blocked', by: 'model', reply: 'Not here.' });
      expect(textOf(events)).toBe('Not here.');
      expect(JSON.stringify([result, events])).not.toMatch(/Take|First|I cannot/);
    }
  });

  it('a model that takes too long is stopped by the limit of time, and the server sees it', async () => {
    server.on({}, { content: 'a very long answer '.repeat(400) }, { latency: 30 });

    const events: RunEvent[] = [];
    const watched = stream(desk(side, 0), 'Well?', { guardrails: [witness([])], limits: { ms: 1_000 } });
    for await (const event of watched) events.push(event);

    expect(passed(await watched.result)).toMatchObject({ status: 'exhausted', limit: 'ms' });
    await server.whenClosed();
    expect(server.leftEarly).toBe(1);
  });
});
