import type { Decision, RunResult } from '@guardloop/core';
import { resume, run } from '@guardloop/core';
import type { Script, Turn } from '@guardloop/testing';
import { auditLog, callTool, normalLog, say } from '@guardloop/testing';
import type { MeterProvider, Span, Tracer, TracerProvider } from '@opentelemetry/api';
import { diag } from '@opentelemetry/api';
import { BasicTracerProvider, BatchSpanProcessor, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { desk, inMemory, secret } from '../test/scene.js';
import type { OtelOptions } from './options.js';
import type { Telemetry } from './otel.js';
import { otel } from './otel.js';

const fail = (): never => {
  throw new Error('no telemetry today');
};
const failing = <T extends object>(): T => new Proxy({} as T, { get: () => fail });
/** A tracer whose n-th and every later call throws. */
const tiring = (calls: number): TracerProvider => {
  let left = calls;
  const tire = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(of, name) {
        const value: unknown = Reflect.get(of, name);
        if (typeof value !== 'function') return value;
        return (...given: unknown[]) => {
          left -= 1;
          if (left < 0) fail();
          const answer: unknown = Reflect.apply(value, of, given);
          return typeof answer === 'object' && answer !== null && 'spanContext' in answer ? tire(answer as Span) : answer;
        };
      },
    });
  const provider = new BasicTracerProvider();
  return { getTracer: (...names): Tracer => tire(provider.getTracer(...names)) };
};
const slow = new BasicTracerProvider({
  spanProcessors: [new BatchSpanProcessor({ export: () => undefined, shutdown: () => new Promise(() => undefined) })],
});
const refusing = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor({ export: fail, shutdown: async () => undefined })] });

const kinds: { readonly [name: string]: (calls: number) => OtelOptions } = {
  'no SDK': () => ({}),
  'a provider that throws': () => ({ tracerProvider: { getTracer: fail }, meterProvider: { getMeter: fail } as unknown as MeterProvider }),
  'a tracer and a meter that throw': () => ({
    tracerProvider: { getTracer: () => failing<Tracer>() },
    meterProvider: { getMeter: () => failing() } as unknown as MeterProvider,
  }),
  'a tracer that fails after some calls': (calls) => ({ tracerProvider: tiring(calls) }),
  'an exporter that throws': () => ({ tracerProvider: refusing }),
  'an exporter that never answers': () => ({ tracerProvider: slow }),
  'options that throw': () => {
    const { tracerProvider, meterProvider } = inMemory();
    return { tracerProvider, meterProvider, provider: fail, contents: { redact: fail } };
  },
};

const piece = fc.oneof(
  fc.constantFrom('Hello.', 'damn', secret).map((text) => say(text)),
  fc
    .constantFrom('look_up', 'refund', 'ask_clerk', 'transfer_to_billing', 'nothing_such')
    .map((name) =>
      callTool(name, name === 'ask_clerk' ? { input: 'where' } : name === 'transfer_to_billing' ? { brief: 'money' } : { order: 'o1' }),
    ),
);
const turns: fc.Arbitrary<readonly Turn[]> = fc.array(fc.array(piece, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 });
const script: fc.Arbitrary<Script> = fc.record({ desk: turns, clerk: turns, billing: turns }) as fc.Arbitrary<Script>;
const decision: fc.Arbitrary<Decision> = fc.constantFrom<Decision>(
  'approve',
  { reject: 'no' },
  { edit: { order: 'o2' } },
  { result: 'by hand' },
);

/** A run to its end, through all that people are asked. */
async function whole(of: Script, decided: Decision, telemetry: Telemetry | undefined): Promise<RunResult> {
  const agent = desk(of, telemetry);
  const observers = telemetry === undefined ? [] : [telemetry];
  let result: RunResult = await run(agent, `Serve me, ${secret}.`, { runId: 'r1', observers });
  for (let parts = 0; result.status === 'interrupted' && parts < 12; parts += 1) {
    const decisions = Object.fromEntries(result.approvals.map(({ id, surface }) => [id, surface === 'toolInput' ? decided : 'approve']));
    result = await resume(desk(of, telemetry), result.log, { decisions: decisions as never, observers });
  }
  return result;
}
const outcome = ({ status, log, usage, messages, ...result }: RunResult) => ({
  status,
  usage,
  messages: messages.map(({ id: _, ...message }) => message),
  text: 'text' in result ? result.text : undefined,
  log: normalLog(log),
});

describe('telemetry', () => {
  it.each(Object.entries(kinds))('changes nothing in any run: %s', async (_name, optionsOf) => {
    await fc.assert(
      fc.asyncProperty(script, decision, fc.nat(60), async (of, decided, calls) => {
        const watched = await whole(of, decided, otel(optionsOf(calls)));
        expect(outcome(watched)).toEqual(outcome(await whole(of, decided, undefined)));
        expect(auditLog(watched.log)).toEqual([]);
      }),
      { numRuns: 40, seed: 5 },
    );
  });

  it('ends every span that it began, whatever happens', async () => {
    await fc.assert(
      fc.asyncProperty(script, decision, async (of, decided) => {
        const { telemetry, started } = inMemory();
        const { status } = await whole(of, decided, telemetry);
        const open = started().filter((span) => !span.ended && span.parentSpanContext !== undefined);
        expect(status === 'interrupted' ? [] : open.map(({ name }) => name)).toEqual([]);
      }),
      { numRuns: 60, seed: 6 },
    );
  });

  it('ends no process by a function that gives a promise, which rejects, where it should answer at once', async () => {
    const unheard: unknown[] = [];
    const hear = (reason: unknown): void => void unheard.push(reason);
    process.on('unhandledRejection', hear);
    try {
      const late = (() => Promise.reject(new Error('no telemetry today'))) as unknown as () => string;
      const { telemetry, spans } = inMemory({ contents: { redact: late }, provider: late });
      const { status } = await run(desk({ desk: [say('Hello.')] }), 'hi', { observers: [telemetry] });
      await new Promise((resolve) => setImmediate(resolve));
      expect(status).toBe('completed');
      expect(spans().length).toBeGreaterThan(0);
      expect(unheard).toEqual([]);
    } finally {
      process.off('unhandledRejection', hear);
    }
  });

  it('tells diag that something failed, without a word of it', async () => {
    const told: string[] = [];
    const note = (message: string): void => void told.push(message);
    diag.setLogger({ error: note, warn: note, info: note, debug: note, verbose: note });
    await run(desk({ desk: [say('Hello.')] }), 'hi', { observers: [otel({ tracerProvider: { getTracer: fail } })] });
    diag.disable();
    expect(told.some((message) => message.includes('@guardloop/otel: getting a tracer failed'))).toBe(true);
    expect(told.join()).not.toContain('no telemetry today');
  });
});
