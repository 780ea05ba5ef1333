import type { ErrorClass, RunEvent } from '@guardloop/core';
import { allow, defineAgent, defineGuardrail, defineTool, resume, run, stream, toolError } from '@guardloop/core';
import { auditLog, callTool, cutAnywhere, say, scriptedModel } from '@guardloop/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const soon = { backoffMs: 1, maxBackoffMs: 1 } as const;

interface Flaky {
  readonly fails: number;
  readonly errorClass?: ErrorClass;
  readonly more?: object;
}

/** A tool that fails so often, and what it was told each time. */
function flaky({ fails, errorClass = 'unavailable', more = {} }: Flaky) {
  const keys: string[] = [];
  const tool = defineTool({
    name: 'flaky',
    description: 'Fails at first.',
    input: z.object({}),
    flow: { effect: 'read' },
    retry: soon,
    execute: async (_input, { idempotencyKey }) => {
      keys.push(idempotencyKey);
      if (keys.length <= fails) throw toolError('away', { errorClass });
      return 'fine';
    },
    ...more,
  });
  const agent = defineAgent({ name: 'a', instructions: '', model: scriptedModel([callTool('flaky', {}, 'c1'), say('ok')]), tools: [tool] });
  return { keys, agent };
}
const ofType = <T extends RunEvent['type']>(events: readonly RunEvent[], type: T) =>
  events.filter((event): event is Extract<RunEvent, { type: T }> => event.type === type);

describe('a tool that core tries again', () => {
  it('S055: is one call with one result, guarded once, whose attempts are seen under one key', async () => {
    const judged: string[] = [];
    const witness = defineGuardrail({
      name: 'witness',
      on: ['toolInput', 'toolOutput'],
      check: ({ surface, content }) => {
        judged.push(`${surface} ${content}`);
        return allow();
      },
    });
    const { agent, keys } = flaky({ fails: 1 });
    const events: RunEvent[] = [];
    const streamed = stream(agent, 'go', { guardrails: [witness], limits: { toolCalls: 1 } });
    for await (const event of streamed) events.push(event);
    const result = await streamed.result;
    expect(result.status).toBe('completed');
    expect(ofType(events, 'tool.start').map(({ callId }) => callId)).toEqual(['1.0']);
    expect(ofType(events, 'tool.progress').map(({ callId, step }) => `${callId} attempt ${step}`)).toEqual([
      '1.0 attempt 1',
      '1.0 attempt 2',
    ]);
    expect(ofType(events, 'tool.end')).toMatchObject([{ callId: '1.0', status: 'ok', content: 'fine', completeness: 'full' }]);
    expect(judged).toEqual(['toolInput {}', 'toolOutput fine']);
    expect(new Set(keys).size).toBe(1);
    expect(auditLog(result.log)).toEqual([]);
  });

  it('is told to the model once, with how often it was tried', async () => {
    const { agent, keys } = flaky({ fails: 9 });
    const result = await run(agent, 'go');
    expect(keys).toHaveLength(3);
    const [end] = ofType(result.events, 'tool.end');
    expect(JSON.parse(String(end?.content))).toEqual({
      status: 'error',
      error_class: 'unavailable',
      summary: 'flaky failed: away (tried 3 times)',
      retryable: false,
    });
    expect(auditLog(result.log)).toEqual([]);
  });

  it('goes on from every cut to the same end', async () => {
    const whole = await run(flaky({ fails: 2 }).agent, 'go', { runId: 'r' });
    const report = await cutAnywhere(whole.log, (prefix) => resume(flaky({ fails: 1 }).agent, prefix).result, { from: 2 });
    expect(report.differences).toEqual([]);
    expect(report.same).toBe(report.cuts);
  });

  it('is left at once when the run is cancelled between two attempts', async () => {
    const controller = new AbortController();
    const { agent, keys } = flaky({ fails: 9, more: { retry: { attempts: 9, backoffMs: 60_000, maxBackoffMs: 60_000 } } });
    const streamed = stream(agent, 'go', { signal: controller.signal });
    for await (const event of streamed) if (event.type === 'tool.progress') setTimeout(() => controller.abort(), 20);
    const result = await streamed.result;
    expect(result.status).toBe('cancelled');
    expect(keys).toHaveLength(1);
    expect(ofType(result.events, 'tool.end')).toMatchObject([{ status: 'error', errorClass: 'unavailable' }]);
    expect(auditLog(result.log)).toEqual([]);
  });

  it.each(['write', 'send'] as const)('may not be one that changes the world (%s)', (effect) => {
    expect(() => flaky({ fails: 0, more: { flow: { effect } } })).toThrowError(/has `retry`, but may not run twice for one call/);
  });
});
