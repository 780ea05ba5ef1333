import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { allow, defineAgent, defineGuardrail, defineTool, halt, rewrite, run, stream } from '@guardloop/core';
import { otel, runIds, traceOfRun } from '@guardloop/otel';
import { auditLog, callTool, say, scriptedModel, wait } from '@guardloop/testing';
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import { BasicTracerProvider, BatchSpanProcessor, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';

const textOf = (spans: readonly ReadableSpan[]): string =>
  JSON.stringify(spans.map(({ name, attributes, events, status }) => [name, attributes, events, status]));
function inMemory(options: object = {}) {
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ idGenerator: runIds(), spanProcessors: [new SimpleSpanProcessor(exporter)] });
  return { telemetry: otel({ tracerProvider, ...options }), tracerProvider, spans: () => exporter.getFinishedSpans() };
}
const idle = () => new Promise((resolve) => setImmediate(resolve));
afterEach(() => {
  trace.disable();
  context.disable();
});

describe('a guardrail beside the model', () => {
  it('S075: that halts ends the span of the model call as aborted, at that time', async () => {
    const { telemetry, spans } = inMemory();
    const topic = defineGuardrail({
      name: 'topic',
      on: ['input'],
      beside: 'model',
      check: async () => {
        await idle();
        return halt('not here');
      },
    });
    const model = telemetry.model(scriptedModel([[wait(60_000), say('Hello.')]]));
    const result = await run(defineAgent({ name: 'a', instructions: '', model, guardrails: [topic] }), 'bad', { observers: [telemetry] });
    expect(result.status).toBe('blocked');
    const chat = spans().find(({ name }) => name === 'chat scripted');
    expect(chat?.attributes).toMatchObject({ 'guardloop.model.status': 'aborted', 'error.type': 'aborted' });
    expect(chat?.duration[0]).toBeLessThan(30);
  });
});

describe('what a guardrail takes out', () => {
  it('S106: of a tool’s output is in no span, also where contents are recorded', async () => {
    const card = '4111111111111111';
    const { telemetry, spans } = inMemory({ contents: { redact: (text: string) => text } });
    const cards = defineGuardrail({
      name: 'cards',
      on: ['toolOutput'],
      rewrite: ({ content }) => (content.includes(card) ? rewrite(content.replaceAll(card, '[R]'), 'a card') : allow()),
    });
    const tool = defineTool({
      name: 'get_card',
      description: 'Gets.',
      input: z.object({}),
      flow: { effect: 'read' },
      execute: () => ({ text: card, structured: { card } }),
    });
    const model = telemetry.model(scriptedModel([callTool('get_card'), say('ok')]));
    const agent = defineAgent({ name: 'a', instructions: '', model, guardrails: [cards], tools: [telemetry.tool(tool)] });
    const { log } = await run(agent, 'my card?', { observers: [telemetry] });
    expect(textOf(spans())).not.toContain(card);
    expect(textOf(spans())).toContain('[R]');
    expect(auditLog(log)).toEqual([]);
  });
});

describe('streamed runs at the same time', () => {
  it('S182: have each their own trace, whoever reads them, and tools see their own span; leaving one harms nobody', async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    const { telemetry, tracerProvider, spans } = inMemory();
    const seen = new Map<string, string | undefined>();
    const look = defineTool({
      name: 'look',
      description: 'Looks.',
      input: z.object({}),
      flow: { effect: 'read' },
      execute: async (_, { run: id }) => {
        await idle();
        seen.set(id, trace.getActiveSpan()?.spanContext().traceId);
        tracerProvider.getTracer('app').startSpan(`query of ${id}`).end();
        return 'seen';
      },
    });
    const model = () => telemetry.model(scriptedModel([callTool('look'), say(['one ', 'two ', 'three'])]));
    const go = (id: string, breaks: boolean) =>
      tracerProvider.getTracer('app').startActiveSpan(`reader of ${id}`, async (span) => {
        const events = stream(defineAgent({ name: id, instructions: '', model: model(), tools: [telemetry.tool(look)] }), 'hi', {
          runId: id,
          observers: [telemetry],
        });
        for await (const event of events) if (breaks && event.type === 'text.delta') break;
        span.end();
        return (await events.result).status;
      });
    const ids = Array.from({ length: 6 }, (_, index) => `run${index}`);
    const statuses = await Promise.all(ids.map((id, index) => go(id, index === 3)));
    expect(statuses.filter((status) => status === 'completed')).toHaveLength(5);
    expect(statuses[3]).toBe('cancelled');
    for (const id of ids) {
      const { traceId } = traceOfRun(id);
      expect(seen.get(id)).toBe(traceId);
      const own = spans().filter((span) => span.spanContext().traceId === traceId);
      const root = own.find(({ name }) => name === `invoke_agent ${id}`);
      const names = new Map(own.map((span) => [span.spanContext().spanId, span.name]));
      expect(root?.parentSpanContext).toBeUndefined();
      expect(root?.links.map((link) => link.context.traceId)).toEqual([
        spans()
          .find(({ name }) => name === `reader of ${id}`)
          ?.spanContext().traceId,
      ]);
      const query = own.find(({ name }) => name === `query of ${id}`);
      expect(names.get(query?.parentSpanContext?.spanId ?? '')).toBe('execute_tool look');
      for (const { parentSpanContext } of own) if (parentSpanContext !== undefined) expect(names.has(parentSpanContext.spanId)).toBe(true);
    }
  });

  it('S182: have a real root also where the SDK was given the ids of another copy of the package', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'guardloop-otel-copy-'));
    try {
      const dist = new URL('.', import.meta.resolve('@guardloop/otel'));
      for (const part of ['dist', 'src']) cpSync(new URL(`../${part}/`, dist), join(folder, part), { recursive: true });
      symlinkSync(fileURLToPath(new URL('../node_modules', dist)), join(folder, 'node_modules'));
      const copy = (await import(pathToFileURL(join(folder, 'dist/index.js')).href)) as typeof import('@guardloop/otel');
      expect(copy.otel).not.toBe(otel);
      const { telemetry, spans } = (() => {
        const exporter = new InMemorySpanExporter();
        const tracerProvider = new BasicTracerProvider({ idGenerator: copy.runIds(), spanProcessors: [new SimpleSpanProcessor(exporter)] });
        return { telemetry: otel({ tracerProvider }), spans: () => exporter.getFinishedSpans() };
      })();
      await run(defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('Hello.')]) }), 'hi', {
        runId: 'r1',
        observers: [telemetry],
      });
      const root = spans().find(({ name }) => name === 'invoke_agent a');
      expect(root?.parentSpanContext).toBeUndefined();
      expect(root?.spanContext()).toMatchObject(traceOfRun('r1'));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('an exporter', () => {
  it('S183: that threw once gets later spans, and runs are as ever', async () => {
    const got: string[] = [];
    let calls = 0;
    const exporter: SpanExporter = {
      export(spans, done) {
        calls += 1;
        if (calls === 1) throw new Error('down');
        got.push(...spans.map(({ name }) => name));
        done({ code: 0 });
      },
      shutdown: async () => undefined,
    };
    const processor = new BatchSpanProcessor(exporter, { scheduledDelayMillis: 60_000 });
    const telemetry = otel({ tracerProvider: new BasicTracerProvider({ spanProcessors: [processor] }) });
    const go = (name: string) =>
      run(defineAgent({ name, instructions: '', model: scriptedModel([say('Hello.')]) }), 'hi', { observers: [telemetry] });
    expect((await go('one')).status).toBe('completed');
    await processor.forceFlush().catch(() => undefined);
    expect((await go('two')).status).toBe('completed');
    await processor.forceFlush();
    expect(got).toContain('invoke_agent two');
  });

  it('S183: that hangs keeps no process from its end, and the package hears no signals and ends no process', async () => {
    const script = fileURLToPath(new URL('hanging.mjs', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [script], { timeout: 60_000 });
    expect(JSON.parse(stdout)).toEqual({ status: 'completed', listeners: 0 });
  });
});

describe('memory', () => {
  it('S200: does not grow with the runs that were traced', async () => {
    const script = fileURLToPath(new URL('many-runs.mjs', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', script], { timeout: 180_000 });
    const { bytesARun } = JSON.parse(stdout) as { readonly bytesARun: number };
    expect(bytesARun).toBeLessThan(1_024);
  }, 200_000);
});
