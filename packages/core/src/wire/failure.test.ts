import { describe, expect, test, vi } from 'vitest';
import type { ProviderWords } from './failure.js';
import { frameFailure, protocolFailure, requestFailure, retryAfterMs, streamCut } from './failure.js';

class GaveUp extends Error {}

const words: ProviderWords = {
  provider: 'made.up',
  name: 'Made-up',
  requestIdHeader: 'x-id',
  connectionErrors: [GaveUp],
  statusOfWord: { overloaded: 529 },
};
const call = { model: 'm', delivered: false };
const answered = (status: number, fields: object = {}, headers: Record<string, string> = {}): Error =>
  Object.assign(new Error('SECRET'), { status, headers: new Headers(headers) }, fields);

describe('the wait that a server asks for', () => {
  test('S160: is read in milliseconds, in seconds and as a date', () => {
    vi.useFakeTimers({ now: Date.parse('2026-01-01T00:00:00Z') });
    const asked = (headers: Record<string, string>): number | undefined => retryAfterMs(new Headers(headers));
    expect(asked({ 'retry-after-ms': '250', 'retry-after': '9' })).toBe(250);
    expect(asked({ 'retry-after': '1.5' })).toBe(1_500);
    expect(asked({ 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' })).toBe(30_000);
    expect(asked({ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' })).toBe(0);
    expect(asked({ 'retry-after': 'soon' })).toBeUndefined();
    expect(asked({ 'retry-after-ms': '-5' })).toBeUndefined();
    vi.useRealTimers();
  });

  test('S160: given twice counts once; what is no wait asks for none; one without end is a number still', () => {
    const asked = (...values: string[]): number | undefined => {
      const headers = new Headers();
      for (const value of values) headers.append('retry-after', value);
      return retryAfterMs(headers);
    };
    expect(asked('2', '2')).toBe(2_000);
    expect(['-5', 'soon 5', '1 hour', '1e3'].map((value) => asked(value))).toEqual(Array.from({ length: 4 }, () => undefined));
    expect(asked('9'.repeat(400))).toBe(Number.MAX_SAFE_INTEGER);
    expect(retryAfterMs(new Headers({ 'retry-after-ms': '5ms', 'retry-after': '3' }))).toBe(3_000);
  });
});

describe('an answer with an error status', () => {
  test('tells status, word, request id and wait, and nothing that the provider wrote', () => {
    const thrown = answered(429, { code: 'slow_down', type: 'x' }, { 'x-id': 'r1', 'retry-after': '2' });
    const error = requestFailure(thrown, words, { ...call, attempts: 3 });
    expect(error).toMatchObject({
      code: 'MODEL_FAILED',
      isRetryable: true,
      details: {
        provider: 'made.up',
        model: 'm',
        status: 429,
        type: 'slow_down',
        requestId: 'r1',
        retryAfterMs: 2_000,
        attempts: 3,
        delivered: false,
      },
    });
    expect(JSON.stringify([error.message, error.details, error.cause])).not.toContain('SECRET');
  });

  test('is not to be repeated where the server says so, where a quota is used up, and once something was passed on', () => {
    expect(requestFailure(answered(503, {}, { 'x-should-retry': 'false' }), words, call).isRetryable).toBe(false);
    expect(requestFailure(answered(400, {}, { 'x-should-retry': 'true' }), words, call).isRetryable).toBe(true);
    expect(requestFailure(answered(429, { code: 'insufficient_quota' }), words, call).isRetryable).toBe(false);
    expect(requestFailure(answered(503), words, { ...call, delivered: true }).isRetryable).toBe(false);
  });

  test('names what the request asked for where it was refused as it stands', () => {
    expect(requestFailure(answered(400), words, { ...call, demands: ['temperature'] }).message).toContain('temperature');
  });

  test('that asks for money says so', () => {
    expect(requestFailure(answered(402), words, { ...call, demands: ['temperature'] }).message).toContain('balance');
  });

  test('words and ids that are no words are left out', () => {
    const { details } = requestFailure(answered(500, { code: 'the body: SECRET' }, { 'x-id': 'a b' }), words, call);
    expect([details.type, details.requestId]).toEqual([undefined, undefined]);
  });
});

describe('no answer', () => {
  test.each([
    ['of a class of the SDK', new GaveUp('x', { cause: Object.assign(new Error('y'), { code: 'ECONNRESET' }) }), 'ECONNRESET'],
    ['of fetch', new TypeError('fetch failed', { cause: Object.assign(new Error('y'), { code: 'UND_ERR_SOCKET' }) }), 'UND_ERR_SOCKET'],
  ])('an error %s is a connection that failed, with the system’s code', (_name, thrown, code) => {
    expect(requestFailure(thrown, words, call)).toMatchObject({ isRetryable: true, cause: { code } });
  });

  test('any other is a request that could not be sent', () => {
    for (const thrown of [new TypeError('x is not a function'), 'a text', undefined, null]) {
      expect(requestFailure(thrown, words, call)).toMatchObject({ code: 'MODEL_FAILED', isRetryable: false });
    }
  });
});

describe('inside a stream', () => {
  test('S062: an error has the status that it names, or that its word stands for', () => {
    expect(frameFailure({ type: 'overloaded' }, words, call)).toMatchObject({ isRetryable: true, details: { status: 529 } });
    expect(frameFailure({ code: '429', type: 'x' }, words, call)).toMatchObject({ isRetryable: true, details: { status: 429 } });
    expect(frameFailure({ code: 400 }, words, call)).toMatchObject({ isRetryable: false, details: { status: 400 } });
  });

  test('an error of no known kind may be repeated, unless its word speaks against it or something was passed on', () => {
    const kinds = [{}, 'text', { type: 'hiccup' }, { type: 'invalid_image' }, { code: 'toString' }];
    expect(kinds.map((error) => frameFailure(error, words, call).isRetryable)).toEqual([true, true, true, false, true]);
    expect(frameFailure({}, words, { ...call, delivered: true }).isRetryable).toBe(false);
  });

  test('S061: a cut may be repeated only before something was passed on', () => {
    expect(streamCut(new TypeError('terminated'), words, call).isRetryable).toBe(true);
    expect(streamCut(new TypeError('terminated'), words, { ...call, delivered: true }).isRetryable).toBe(false);
    expect(protocolFailure('It stopped', words, { ...call, isRetryable: true, delivered: true })).toMatchObject({
      code: 'MODEL_PROTOCOL',
      isRetryable: false,
    });
  });
});
