import { readFileSync } from 'node:fs';
import { defineAgent, defineTool, GuardloopError, resume, run, toolError, withRetry } from '@guardloop/core';
import { attempts, callTool, failWith, say, scriptedModel, warn } from '@guardloop/testing';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import * as conventions from '@opentelemetry/semantic-conventions/incubating';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { desk, inMemory, scripts, spanNamed, tickingClock } from '../test/scene.js';
import { genAi, metricNames } from './names.js';

const start = async (name: keyof typeof scripts, options = {}) => {
  const memory = inMemory(options);
  const result = await run(desk(scripts[name]), 'Where is o1?', { runId: 'r1', observers: [memory.telemetry], clock: tickingClock() });
  return { ...memory, result };
};

describe('the names', () => {
  it('are those of the conventions', () => {
    const known = new Set<unknown>(Object.values(conventions));
    expect(Object.values(genAi).filter((name) => !known.has(name))).toEqual([]);
    const metrics = Object.values(metricNames).filter((name) => name.startsWith('gen_ai.'));
    expect(metrics.filter((name) => !known.has(name))).toEqual([]);
    expect(metrics).toHaveLength(3);
  });
});

describe('the scope', () => {
  it('is this package, of this version', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { readonly version: string };
    const { spans } = await start('answer');
    expect(spans().map(({ instrumentationScope: { name, version: of } }) => `${name} ${of}`)).toEqual(
      spans().map(() => `@guardloop/otel ${version}`),
    );
  });
});

describe('the attributes', () => {
  it('of a run say which it is, how it ended and what it used', async () => {
    const { spans } = await start('child');
    const root = spanNamed(spans(), 'invoke_agent desk');
    expect(root.kind).toBe(SpanKind.INTERNAL);
    expect(root.attributes).toEqual({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'desk',
      'guardloop.run.id': 'r1',
      'guardloop.run.status': 'completed',
      'gen_ai.usage.input_tokens': 40,
      'gen_ai.usage.output_tokens': 20,
      'guardloop.usage.cost': 1,
    });
    expect(spanNamed(spans(), 'invoke_agent clerk').attributes).toMatchObject({
      'guardloop.run.id': 'r1/1.0',
      'gen_ai.usage.input_tokens': 20,
    });
  });

  it('of a model call are those of a client’s chat', async () => {
    const { spans } = await start('tools', { provider: (model: string) => (model === 'm1' ? 'acme' : undefined) });
    const chat = spanNamed(spans(), 'chat m1');
    expect(chat.kind).toBe(SpanKind.CLIENT);
    expect(chat.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'acme',
      'gen_ai.request.model': 'm1',
      'gen_ai.response.model': 'm1',
      'gen_ai.agent.name': 'desk',
      'gen_ai.response.finish_reasons': ['tool_call'],
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 5,
      'guardloop.usage.cost': 0.25,
      'guardloop.model.status': 'ok',
      'guardloop.turn': 1,
    });
  });

  it('of a call say which tool, which call and how it ended', async () => {
    const { spans } = await start('tools');
    expect(spanNamed(spans(), 'execute_tool look_up').attributes).toEqual({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'look_up',
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.id': '1.0',
      'gen_ai.agent.name': 'desk',
      'guardloop.call.status': 'ok',
    });
  });

  it('of a verdict say who, where and what, and not why', async () => {
    const { spans } = await start('refused');
    expect(spanNamed(spans(), 'guardrail manners').attributes).toEqual({
      'guardloop.guardrail.name': 'manners',
      'guardloop.guardrail.level': 'agent',
      'guardloop.guardrail.surface': 'output',
      'guardloop.guardrail.phase': 'check',
      'guardloop.guardrail.action': 'deny',
    });
    const { spans: others } = await start('tools');
    expect(spanNamed(others(), 'guardrail watch').attributes).toMatchObject({ 'guardloop.guardrail.shadow': true });
  });

  it('of a blocked run say who refused, and where', async () => {
    const { spans } = await start('blocked');
    const root = spanNamed(spans(), 'invoke_agent desk');
    expect(root.attributes).toMatchObject({ 'guardloop.refusal.by': 'manners', 'guardloop.refusal.surface': 'output' });
    expect(root.status.code).toBe(SpanStatusCode.UNSET);
  });

  it('of a handoff say from whom to whom', async () => {
    const { spans } = await start('handoff');
    const attributes = { 'guardloop.handoff.from': 'desk', 'guardloop.handoff.to': 'billing', 'gen_ai.tool.call.id': '1.0' };
    expect(spanNamed(spans(), 'handoff billing').attributes).toEqual(attributes);
    expect(spanNamed(spans(), 'chat m1', 1).attributes).toMatchObject({ 'gen_ai.agent.name': 'billing' });
  });

  it('of what a person is asked are an event, and then a span that is linked to who asked', async () => {
    const { spans, telemetry, result } = await start('approval');
    const turn = spanNamed(spans(), 'turn');
    const asked = { 'guardloop.approval.id': 'r1/p1', 'guardloop.approval.surface': 'toolInput', 'gen_ai.tool.name': 'refund' };
    expect(turn.events.map(({ name, attributes }) => [name, attributes])).toEqual([['guardloop.approval.request', asked]]);
    await resume(desk(scripts.approval), result.log, { decisions: { 'r1/p1': { reject: 'no' } }, observers: [telemetry] });
    const approval = spanNamed(spans(), 'approval');
    expect(approval.attributes).toEqual({ ...asked, 'guardloop.approval.decision': 'reject' });
    expect(approval.links.map(({ context }) => context.spanId)).toEqual([turn.spanContext().spanId]);
  });

  it('of a failed run and model call are the error’s code, without a word of it', async () => {
    const { telemetry, spans } = inMemory();
    const model = scriptedModel([failWith(new Error('the quick brown fox'))]);
    const result = await run(defineAgent({ name: 'a', instructions: '', model }), 'hi', { observers: [telemetry] });
    expect(result.status).toBe('failed');
    for (const name of ['invoke_agent a', 'chat scripted']) {
      const span = spanNamed(spans(), name);
      expect(span.attributes['error.type']).toBe('MODEL_FAILED');
      expect(span.status).toEqual({ code: SpanStatusCode.ERROR });
    }
    expect(JSON.stringify(spans().map(({ attributes, events, status }) => [attributes, events, status]))).not.toContain('fox');
  });

  it('of a failed call are the class of its error, and of a reached limit its name', async () => {
    const { telemetry, spans } = inMemory();
    const execute = () => toolError('the brown fox is away', { errorClass: 'not_found' });
    const tool = defineTool({ name: 'find', description: 'Finds.', input: z.object({}), flow: { effect: 'read' }, execute });
    const model = scriptedModel([callTool('find'), callTool('find')]);
    await run(defineAgent({ name: 'a', instructions: '', model, tools: [tool] }), 'hi', { observers: [telemetry], limits: { turns: 1 } });
    const call = spanNamed(spans(), 'execute_tool find');
    expect(call.attributes).toMatchObject({ 'guardloop.call.status': 'error', 'error.type': 'not_found' });
    expect(call.status).toEqual({ code: SpanStatusCode.ERROR });
    const attributes = { 'guardloop.run.status': 'exhausted', 'guardloop.run.limit': 'turns' };
    expect(spanNamed(spans(), 'invoke_agent a').attributes).toMatchObject(attributes);
  });

  it('of a call that did not run are an event of the turn, without a name that the model made up', async () => {
    const { spans } = await start('tools');
    const [ended] = spanNamed(spans(), 'turn').events;
    expect(ended?.name).toBe('guardloop.call.end');
    expect(ended?.attributes).toEqual({ 'gen_ai.tool.call.id': '1.1', 'guardloop.call.status': 'error', 'error.type': 'unknown_tool' });
    expect(JSON.stringify(spans().map((span) => [span.name, span.attributes, span.events]))).not.toContain('nothing_such');
  });

  it('of retries and warnings are a span of the wait and an event, under the model call', async () => {
    const { telemetry, spans, points } = inMemory();
    const down = new GuardloopError('MODEL_FAILED', 'Status 503.', { isRetryable: true });
    const script = attempts(failWith(down), [warn('setting', 'The seed was left out.'), say('Hello.')]);
    const model = withRetry(scriptedModel([script]), { baseMs: 1, jitter: 'none' });
    await run(defineAgent({ name: 'a', instructions: '', model }), 'hi', { observers: [telemetry] });
    const chat = spanNamed(spans(), 'chat scripted');
    const retry = spanNamed(spans(), 'retry');
    expect(retry.parentSpanContext?.spanId).toBe(chat.spanContext().spanId);
    expect(retry.attributes).toEqual({ 'guardloop.retry.attempt': 1, 'guardloop.retry.wait_ms': 1 });
    const [warning] = chat.events;
    expect([warning?.name, warning?.attributes]).toEqual(['guardloop.model.warning', { 'guardloop.warning.about': 'setting' }]);
    const counted = await points();
    expect(counted['guardloop.model.warnings']).toEqual([{ attributes: { 'guardloop.warning.about': 'setting' }, value: 1 }]);
    expect(counted['guardloop.model.retries']).toEqual([{ attributes: { 'gen_ai.request.model': 'scripted' }, value: 1 }]);
  });
});
