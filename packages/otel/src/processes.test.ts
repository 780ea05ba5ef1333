import { createHash } from 'node:crypto';
import type { Log, Observer } from '@guardloop/core';
import { resume, run } from '@guardloop/core';
import { context, ROOT_CONTEXT, TraceFlags, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import type { ReadableSpan, Sampler } from '@opentelemetry/sdk-trace-base';
import { AlwaysOffSampler, ParentBasedSampler, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace-base';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { desk, inMemory, scripts, spanNamed } from '../test/scene.js';
import { activeTraceparent, runIds, traceOfRun } from './ids.js';

const manager = new AsyncLocalStorageContextManager();
beforeAll(() => {
  context.setGlobalContextManager(manager.enable());
});
afterAll(() => {
  context.disable();
});

const tracesOf = (spans: readonly ReadableSpan[]): readonly string[] => [...new Set(spans.map((span) => span.spanContext().traceId))];
const begin = (observer: Observer, runId = 'r1') => run(desk(scripts.approval), 'Refund o1.', { runId, observers: [observer] });
const goOn = (log: Log, observer: Observer, runId = 'r1') =>
  resume(desk(scripts.approval), structuredClone(log), { decisions: { [`${runId}/p1`]: 'approve' }, observers: [observer] });
const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe('one trace', () => {
  it('is made of the run’s id by its sha256, for every id', () => {
    fc.assert(
      fc.property(fc.string(), (id) => {
        const hash = createHash('sha256').update(id, 'utf8').digest('hex');
        expect(traceOfRun(id)).toEqual({ traceId: hash.slice(0, 32), spanId: hash.slice(32, 48) });
      }),
      { numRuns: 200, seed: 7 },
    );
  });

  it('holds all parts of a run, in whichever process, and its child runs', async () => {
    const [one, two] = [inMemory(), inMemory()];
    const { log } = await begin(one.telemetry);
    await goOn(log, two.telemetry);
    const { traceId, spanId } = traceOfRun('r1');
    expect(tracesOf([...one.spans(), ...two.spans()])).toEqual([traceId]);
    for (const { spans } of [one, two])
      expect(spanNamed(spans(), 'invoke_agent desk').parentSpanContext).toMatchObject({ traceId, spanId });
  });

  it('has a real root where the SDK takes its ids, on which the later parts hang', async () => {
    const [one, two] = [inMemory({}, { idGenerator: runIds() }), inMemory({}, { idGenerator: runIds() })];
    const { log } = await begin(one.telemetry);
    await goOn(log, two.telemetry);
    const { traceId, spanId } = traceOfRun('r1');
    const root = spanNamed(one.spans(), 'invoke_agent desk');
    expect(root.spanContext()).toMatchObject({ traceId, spanId });
    expect(root.parentSpanContext).toBeUndefined();
    expect(spanNamed(two.spans(), 'invoke_agent desk').parentSpanContext).toMatchObject({ traceId, spanId });
    expect(new Set(one.spans().map((span) => span.spanContext().spanId)).size).toBe(one.spans().length);
  });

  it('is that of who asked for the run, where a traceparent is given', async () => {
    const [one, two] = [inMemory(), inMemory()];
    const place = { traceparent, tracestate: 'acme=1', conversation: 's1' };
    const { log } = await begin(one.telemetry.under(place));
    await goOn(log, two.telemetry.under(place));
    for (const { spans } of [one, two]) {
      const root = spanNamed(spans(), 'invoke_agent desk');
      expect(root.parentSpanContext).toMatchObject({
        traceId: '0af7651916cd43dd8448eb211c80319c',
        spanId: 'b7ad6b7169203331',
        isRemote: true,
      });
      expect(root.spanContext().traceState?.get('acme')).toBe('1');
      expect(root.attributes['gen_ai.conversation.id']).toBe('s1');
      expect(tracesOf(spans())).toHaveLength(1);
    }
  });

  it.each([
    'no header',
    '00-00000000000000000000000000000000-b7ad6b7169203331-01',
    '00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01',
    'ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more',
    '00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01',
  ])('takes a malformed traceparent for none: %s', async (malformed) => {
    const { telemetry, spans } = inMemory();
    await begin(telemetry.under({ traceparent: malformed }));
    expect(tracesOf(spans())).toEqual([traceOfRun('r1').traceId]);
  });
});

describe('the span that is active where a run is begun or resumed', () => {
  const within = <T>(spanId: string, traceFlags: TraceFlags, work: () => T): T =>
    context.with(trace.setSpanContext(ROOT_CONTEXT, { traceId: 'a'.repeat(32), spanId, traceFlags }), work);

  it('is linked', async () => {
    const { telemetry, spans } = inMemory();
    const { log } = await within('b'.repeat(16), TraceFlags.SAMPLED, () => begin(telemetry));
    await within('c'.repeat(16), TraceFlags.SAMPLED, () => goOn(log, telemetry).result);
    const linked = [0, 1].map((index) => spanNamed(spans(), 'invoke_agent desk', index).links.map((link) => link.context.spanId));
    expect(linked).toEqual([['b'.repeat(16)], ['c'.repeat(16)]]);
    expect(tracesOf(spans())).toEqual([traceOfRun('r1').traceId]);
  });

  it('is linked beside the traceparent, and not where it is the same', async () => {
    const { telemetry, spans } = inMemory();
    await within('b'.repeat(16), TraceFlags.SAMPLED, () => begin(telemetry.under({ traceparent })));
    await within('b7ad6b7169203331', TraceFlags.SAMPLED, () => begin(telemetry.under({ traceparent }), 'r2'));
    expect([0, 1].map((index) => spanNamed(spans(), 'invoke_agent desk', index).links.length)).toEqual([1, 0]);
  });

  it('is the parent with `active`, and without one the run has its own trace', async () => {
    const { telemetry, spans } = inMemory({ parent: 'active' });
    await within('b'.repeat(16), TraceFlags.SAMPLED, () => begin(telemetry));
    await begin(telemetry, 'r2');
    expect(tracesOf(spans())).toEqual(['a'.repeat(32), traceOfRun('r2').traceId]);
    expect(spanNamed(spans(), 'invoke_agent desk').parentSpanContext?.spanId).toBe('b'.repeat(16));
    expect(spanNamed(spans(), 'invoke_agent desk').links).toEqual([]);
  });

  it('was not sampled: then the run is not either, where its trace is decided by parents', async () => {
    const { telemetry, spans, points } = inMemory();
    await within('b'.repeat(16), TraceFlags.NONE, () => begin(telemetry));
    expect(spans()).toEqual([]);
    expect(Object.keys(await points())).toContain('guardloop.run.duration');
  });
});

describe('sampling', () => {
  const parts = async (sampler: Sampler, { ids, runId }: { readonly ids: boolean; readonly runId: string }) => {
    const config = { sampler, ...(ids ? { idGenerator: runIds() } : {}) };
    const [one, two] = [inMemory({}, config), inMemory({}, config)];
    const { log } = await begin(one.telemetry, runId);
    await goOn(log, two.telemetry, runId);
    return [one.spans().length, two.spans().length].map((count) => count > 0);
  };

  it.each([true, false])('is the sampler’s decision, not ours (its ids: %s)', async (ids) => {
    expect(await parts(new ParentBasedSampler({ root: new AlwaysOffSampler() }), { ids, runId: 'r1' })).toEqual([false, false]);
    expect(await parts(new AlwaysOffSampler(), { ids, runId: 'r1' })).toEqual([false, false]);
  });

  it('by a ratio is alike in all processes, where the SDK takes our ids', async () => {
    const ratio = new TraceIdRatioBasedSampler(0.5);
    const decided = await Promise.all(
      Array.from({ length: 40 }, (_, index) => parts(new ParentBasedSampler({ root: ratio }), { ids: true, runId: `run-${index}` })),
    );
    expect(decided.every(([one, two]) => one === two)).toBe(true);
    const some = decided.filter(([one]) => one).length;
    expect(some).toBeGreaterThan(5);
    expect(some).toBeLessThan(35);
  });

  it('follows an unsampled traceparent', async () => {
    const { telemetry, spans } = inMemory();
    await begin(telemetry.under({ traceparent: traceparent.replace(/01$/, '00') }));
    expect(spans()).toEqual([]);
  });
});

describe('activeTraceparent', () => {
  it('is that of the active span, as `under` reads it', async () => {
    expect(activeTraceparent()).toBeUndefined();
    const [asking, working] = [inMemory(), inMemory()];
    const carried = asking.tracerProvider.getTracer('test').startActiveSpan('POST /runs', (span) => {
      span.end();
      return activeTraceparent();
    });
    await begin(working.telemetry.under({ traceparent: carried }));
    const parent = spanNamed(asking.spans(), 'POST /runs').spanContext();
    expect(spanNamed(working.spans(), 'invoke_agent desk').parentSpanContext).toMatchObject({
      traceId: parent.traceId,
      spanId: parent.spanId,
    });
  });
});

describe('runIds', () => {
  it('gives the ids of its base for everything else', () => {
    let asked = 0;
    const ids = runIds({ generateTraceId: () => `${++asked}`.padStart(32, 'a'), generateSpanId: () => 'b'.repeat(16) });
    expect([ids.generateTraceId(), ids.generateSpanId()]).toEqual(['1'.padStart(32, 'a'), 'b'.repeat(16)]);
    expect(runIds().generateTraceId()).toMatch(/^[0-9a-f]{32}$/);
    expect(runIds().generateSpanId()).toMatch(/^[0-9a-f]{16}$/);
  });
});
