import type { Log } from '@guardloop/core';
import { resume, run } from '@guardloop/core';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { desk, inMemory, scripts, spanNamed, statusOf, tickingClock, tree } from '../test/scene.js';

const names = Object.keys(scripts) as (keyof typeof scripts)[];
const said = (span: ReadableSpan): string => JSON.stringify([span.attributes, span.startTime, span.endTime, span.status, span.events]);

/** A run to its end, with what people are asked approved by the same process. */
const whole = async (name: keyof typeof scripts, memory = inMemory()): Promise<Log> => {
  const options = { observers: [memory.telemetry], clock: tickingClock() };
  const first = await run(desk(scripts[name]), 'Where is o1?', { runId: 'r1', ...options });
  if (first.status !== 'interrupted') return first.log;
  const decisions = Object.fromEntries(first.approvals.map(({ id }) => [id, 'approve' as const]));
  return (await resume(desk(scripts[name]), first.log, { decisions, ...options })).log;
};

describe('traceLog', () => {
  it.each(names)('makes of a log the spans that were made while it was written: %s', async (name) => {
    const [live, past] = [inMemory(), inMemory()];
    const log = await whole(name, live);
    past.telemetry.traceLog(structuredClone(log));
    expect(tree(past.spans(), said)).toEqual(tree(live.spans(), said));
    expect(past.spans().map((span) => span.spanContext().traceId)).toEqual(live.spans().map((span) => span.spanContext().traceId));
  });

  it('counts nothing', async () => {
    const { telemetry, points } = inMemory();
    telemetry.traceLog(await whole('child'));
    expect(await points()).toEqual({});
  });

  it('ends every span of a log that was cut, wherever that was', async () => {
    const logs = new Map(await Promise.all(names.map(async (name) => [name, await whole(name)] as const)));
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.nat(), (name, place) => {
        const events = logs.get(name)?.events ?? [];
        const count = 1 + (place % events.length);
        const { telemetry, spans, started } = inMemory();
        telemetry.traceLog({ version: 1, events: events.slice(0, count) });
        // Those without a parent have asked the sampler, and are never ended.
        expect(started().filter((span) => !span.ended && span.parentSpanContext !== undefined)).toEqual([]);
        const roots = spans().filter((span) => span.name === 'invoke_agent desk');
        expect(roots.length).toBeGreaterThan(0);
        const ended = new Set(['completed', 'blocked', 'interrupted', 'cut']);
        expect(roots.every((span) => ended.has(String(span.attributes['guardloop.run.status'])))).toBe(true);
      }),
      { numRuns: 150, seed: 3 },
    );
  });

  it('tells a run that waits from one that was cut, and where it was gone on with', async () => {
    const waiting = inMemory();
    const log = await whole('approval');
    const asked = log.events.findIndex(({ type }) => type === 'run.resume');
    waiting.telemetry.traceLog({ version: 1, events: log.events.slice(0, asked) });
    expect(statusOf(spanNamed(waiting.spans(), 'invoke_agent desk'))).toBe(' [interrupted]');

    const [before, after] = [inMemory(), inMemory()];
    const tools = (await whole('tools')).events;
    const at = tools.findIndex(({ type }) => type === 'tool.start');
    const cut: Log = { version: 1, events: tools.slice(0, at + 1) };
    before.telemetry.traceLog(cut);
    expect(statusOf(spanNamed(before.spans(), 'invoke_agent desk'))).toBe(' [cut]');
    const { log: resumed } = await resume(desk(scripts.tools), cut);
    after.telemetry.traceLog(resumed);
    expect(tree(after.spans(), statusOf).filter((line) => line.startsWith('invoke_agent'))).toEqual([
      'invoke_agent desk [cut]',
      'invoke_agent desk [completed]',
    ]);
    expect(spanNamed(after.spans(), 'invoke_agent desk', 1).attributes['guardloop.run.resumed']).toBe(true);
  });

  it('refuses what is no log', () => {
    const { telemetry } = inMemory();
    expect(() => telemetry.traceLog(undefined as never)).toThrow('no log');
    expect(() => telemetry.traceLog({ version: 1, events: [null] } as never)).toThrow('no log');
    expect(() => telemetry.traceLog({ version: 1, events: [] }, { trace: 'x' } as never)).toThrow('there is no option trace');
  });
});
