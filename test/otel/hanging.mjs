// Runs beside an exporter that never answers, and ends as it can: the SDK's own timeout of an export is what it may wait for.
import { defineAgent, run } from '@guardloop/core';
import { otel } from '@guardloop/otel';
import { say, scriptedModel } from '@guardloop/testing';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';

const count = () => process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
const processor = new BatchSpanProcessor(
  { export: () => undefined, shutdown: () => new Promise(() => undefined) },
  { scheduledDelayMillis: 1, exportTimeoutMillis: 100 },
);
const tracerProvider = new BasicTracerProvider({ spanProcessors: [processor] });
const before = count();
const telemetry = otel({ tracerProvider });
const { status } = await run(defineAgent({ name: 'a', instructions: '', model: scriptedModel([say('Hello.')]) }), 'hi', {
  observers: [telemetry],
});
process.stdout.write(JSON.stringify({ status, listeners: count() - before }));
