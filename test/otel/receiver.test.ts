import { resume, run } from '@guardloop/core';
import { otel, runIds, traceOfRun } from '@guardloop/otel';
import { context, metrics, trace } from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter as JsonTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtoTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { afterEach, describe, expect, it } from 'vitest';
import { desk, scripts } from './desk.js';
import type { WireSpan } from './otlp-receiver.js';
import { OtlpReceiver } from './otlp-receiver.js';

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
  trace.disable();
  metrics.disable();
  context.disable();
});

/** An SDK as an application starts it, with a real receiver. */
async function start(Exporter: typeof ProtoTraceExporter | typeof JsonTraceExporter) {
  const receiver = new OtlpReceiver();
  const url = await receiver.open();
  cleanUps.push(() => receiver.close());
  const sdk = new NodeSDK({
    serviceName: 'shop',
    idGenerator: runIds(),
    spanProcessors: [new BatchSpanProcessor(new Exporter({ url: `${url}/v1/traces`, timeoutMillis: 500 }))],
    metricReaders: [
      new PeriodicExportingMetricReader({
        exporter: new OTLPMetricExporter({ url: `${url}/v1/metrics`, timeoutMillis: 500 }),
        exportIntervalMillis: 3_600_000,
      }),
    ],
    instrumentations: [],
    resourceDetectors: [],
  });
  sdk.start();
  let isShut = false;
  const shutDown = async (): Promise<void> => {
    if (isShut) return;
    isShut = true;
    await sdk.shutdown().catch(() => undefined);
  };
  cleanUps.push(shutDown);
  return { receiver, shutDown };
}

function lines(spans: readonly WireSpan[]): readonly string[] {
  const names = new Map(spans.map(({ spanId, name }) => [spanId, name]));
  return spans
    .map(({ name, parentSpanId = '' }) => `${names.get(parentSpanId) ?? (parentSpanId === '' ? 'root' : parentSpanId)} > ${name}`)
    .toSorted();
}

describe('a receiver of OTLP', () => {
  it.each([
    ['protobuf', ProtoTraceExporter],
    ['JSON', JsonTraceExporter],
  ] as const)('gets the spans of both parts of a run as one trace, by %s', async (form, Exporter) => {
    const { receiver, shutDown } = await start(Exporter);
    const telemetry = otel();
    const { log } = await run(desk(scripts.approval, telemetry), 'Refund o1.', { runId: 'r1', observers: [telemetry] });
    await resume(desk(scripts.approval, telemetry), log, { decisions: { 'r1/p1': 'approve' }, observers: [telemetry] });
    await shutDown();
    const { traceId, spanId } = traceOfRun('r1');
    expect(new Set(receiver.spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
    expect(receiver.spans.find((span) => span.spanId === spanId)?.name).toBe('invoke_agent desk');
    expect(lines(receiver.spans)).toEqual(
      [
        'root > invoke_agent desk',
        'invoke_agent desk > turn',
        'turn > chat m1',
        'turn > execute_tool look_up',
        'invoke_agent desk > invoke_agent desk',
        'invoke_agent desk > approval',
        'invoke_agent desk > execute_tool refund',
        'invoke_agent desk > turn',
        'turn > chat m1',
        'turn > guardrail manners',
      ].toSorted(),
    );
    const chat = receiver.spans.find(({ name }) => name === 'chat m1');
    expect(chat?.kind).toBe(3);
    const attributes = Object.fromEntries(chat?.attributes.map(({ key, value }) => [key, Object.values(value)[0]]) ?? []);
    expect(attributes).toMatchObject({ 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'acme' });
    expect(Number(attributes['gen_ai.usage.input_tokens'])).toBe(10);
    expect([...receiver.types].some((type) => type.includes(form === 'JSON' ? 'json' : 'protobuf'))).toBe(true);
  });

  it('gets the metrics, with the bounds of the conventions', async () => {
    const { receiver, shutDown } = await start(ProtoTraceExporter);
    const telemetry = otel();
    await run(desk(scripts.child, telemetry), 'Where is o1?', { observers: [telemetry] });
    await shutDown();
    const names = new Map(receiver.metrics.map((metric) => [metric.name, metric]));
    expect([...names.keys()].filter((name) => /^(gen_ai|guardloop)/.test(name)).toSorted()).toEqual([
      'gen_ai.client.operation.duration',
      'gen_ai.client.operation.time_to_first_chunk',
      'gen_ai.client.token.usage',
      'guardloop.guardrail.duration',
      'guardloop.guardrail.verdicts',
      'guardloop.run.duration',
      'guardloop.tool.duration',
      'guardloop.usage.cost',
    ]);
    expect(names.get('gen_ai.client.token.usage')?.histogram?.dataPoints[0]?.explicitBounds).toEqual(
      Array.from({ length: 14 }, (_, index) => 4 ** index),
    );
    expect(names.get('gen_ai.client.operation.duration')?.unit).toBe('s');
  });

  it.each([503, 'hang'] as const)('that answers %s changes nothing in a run', async (answer) => {
    const { receiver, shutDown } = await start(ProtoTraceExporter);
    receiver.answer = answer;
    const telemetry = otel();
    const result = await run(desk(scripts.child, telemetry), 'Where is o1?', { observers: [telemetry] });
    expect(result.status).toBe('completed');
    void shutDown();
    await expect.poll(() => receiver.requests, { timeout: 10_000 }).toBeGreaterThan(0);
    expect((await run(desk(scripts.child, telemetry), 'Where is o1?', { observers: [telemetry] })).status).toBe('completed');
  });
});
