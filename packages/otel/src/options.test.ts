import { describe, expect, it } from 'vitest';
import { runIds, traceOfRun } from './ids.js';
import { otel } from './otel.js';

const thrown = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

describe('the options of otel', () => {
  it.each<[unknown, string]>([
    [null, 'the options are null'],
    ['x', 'the options are string'],
    [[], 'the options are a list'],
    [{ tracer: {} }, 'there is no option tracer.'],
    [{ traceProvider: {} }, 'Did you mean tracerProvider?'],
    [{ tracerProvider: {} }, 'tracerProvider has no getTracer'],
    [{ meterProvider: 1 }, 'meterProvider has no getMeter'],
    [{ parent: 'request' }, "parent is request. Give 'run' or 'active'."],
    [{ provider: '' }, 'provider is an empty text'],
    [{ provider: 1 }, 'provider is number'],
    [{ contents: true }, 'the options are boolean'],
    [{ contents: {} }, 'contents.redact is undefined'],
    [{ contents: { redact: String, max: 1 } }, 'there is no option max'],
    [{ contents: { redact: String, maxChars: 0 } }, 'contents.maxChars is 0'],
    [{ forgetAfterMs: 0.5 }, 'forgetAfterMs is 0.5. Give a whole number from 1 on.'],
  ])('are checked: %j', (options, message) => {
    expect(thrown(() => otel(options as never))).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) });
  });

  it('may all be left out', () => {
    expect(typeof otel()).toBe('function');
    expect(typeof otel({ contents: undefined, provider: undefined, parent: undefined, forgetAfterMs: undefined })).toBe('function');
  });

  it.each<[unknown, string]>([
    [undefined, 'the options are undefined'],
    [{ traceparent: 1 }, 'traceparent is number'],
    [{ traceParent: '' }, 'Did you mean traceparent?'],
    [{ conversation: null }, 'conversation is null'],
  ])('of a place are checked: %j', (place, message) => {
    expect(thrown(() => otel().under(place as never))).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) });
  });
});

const odd = [null, undefined, 7, true, Symbol('s'), [], {}, Object.create(null), () => 'r1'] as readonly unknown[];
it('ids are made of ids, and of generators', () => {
  for (const given of odd) {
    expect(() => traceOfRun(given as never)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    if (given !== undefined) expect(() => runIds(given as never)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  }
});

it('whatever stands in place of an option is told as a wrong option, and no code of it is', () => {
  const names = ['tracerProvider', 'meterProvider', 'contents', 'parent', 'forgetAfterMs'];
  for (const given of [...odd, [Object.create(null)], () => 'quartz'])
    for (const name of names) {
      if (given === undefined || (given === 7 && name === 'forgetAfterMs')) continue;
      const thrown = expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.not.stringContaining('=>') });
      expect(() => otel({ [name]: given })).toThrow(thrown);
    }
});
