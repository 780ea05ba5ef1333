import type { RunEvent } from '@guardloop/core';
import { run } from '@guardloop/core';
import { describe, expect, it, vi } from 'vitest';
import { desk, inMemory, scripts, spanNamed, statusOf } from '../test/scene.js';

/** The events of a run that stops in the middle of a call, for ever. */
async function unending(): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = [];
  await run(desk(scripts.tools), 'hi', { runId: 'r0', observers: [(event) => void events.push(event)] });
  return events.slice(0, events.findIndex(({ type }) => type === 'tool.start') + 1);
}
const renamed = (event: RunEvent, id: string): RunEvent => ({ ...event, run: id }) as RunEvent;

describe('runs that never end', () => {
  it('are let go when nothing was heard of them for long, where they were last heard of', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      const events = await unending();
      const { telemetry, spans, points } = inMemory({ forgetAfterMs: 1_000 });
      for (const event of events) telemetry(renamed(event, 'old'));
      vi.advanceTimersByTime(1_001);
      for (const event of events) telemetry(renamed(event, 'new'));
      expect(
        spans()
          .filter(({ attributes }) => attributes['guardloop.run.id'] !== undefined)
          .map(statusOf),
      ).toEqual([' [lost]']);
      const root = spanNamed(spans(), 'invoke_agent desk');
      const last = events.at(-1)?.at ?? 0;
      expect(root.endTime).toEqual([Math.floor(last / 1_000), (last % 1_000) * 1e6]);
      expect(spanNamed(spans(), 'execute_tool look_up').attributes['guardloop.call.status']).toBe('unknown');
      expect(Object.keys(await points())).not.toContain('guardloop.run.duration');
    } finally {
      vi.useRealTimers();
    }
  });

  it('are followed up to 10,000 at a time; the oldest is let go for the next', async () => {
    const [start] = await unending();
    if (start === undefined) throw new Error('The run has no event.');
    const { telemetry, spans } = inMemory();
    for (let index = 0; index < 10_003; index += 1) telemetry(renamed(start, `run-${index}`));
    expect(spans().map(({ attributes }) => attributes['guardloop.run.id'])).toEqual(['run-0', 'run-1', 'run-2']);
  });

  it('that are heard of again go on as a part of their own', async () => {
    const events: RunEvent[] = [];
    await run(desk(scripts.tools), 'hi', { runId: 'r0', observers: [(event) => void events.push(event)] });
    const { telemetry, spans } = inMemory();
    for (const event of events.slice(-4)) telemetry(event);
    const root = spanNamed(spans(), 'invoke_agent desk');
    expect(root.attributes).toMatchObject({ 'guardloop.run.resumed': true, 'guardloop.run.status': 'completed' });
  });

  it('and others leave nothing behind where they have ended or wait', async () => {
    const { telemetry, started } = inMemory();
    for (let index = 0; index < 50; index += 1)
      await run(desk(scripts[index % 2 === 0 ? 'approval' : 'child']), 'hi', { runId: `r${index}`, observers: [telemetry] });
    expect(started().filter((span) => !span.ended && span.parentSpanContext !== undefined)).toEqual([]);
  });
});
