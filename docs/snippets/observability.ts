import assert from 'node:assert/strict';
import { asTool, defineAgent, defineGuardrail, defineTool, deny, resume } from '@guardloop/core';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import { context, metrics, trace } from '@opentelemetry/api';
import { metrics as sdkMetrics } from '@opentelemetry/sdk-node';
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { z } from 'zod';

const traceExporter = new InMemorySpanExporter();
const reader = new sdkMetrics.PeriodicExportingMetricReader({ exporter: new sdkMetrics.InMemoryMetricExporter(1) });
const processor = new SimpleSpanProcessor(traceExporter);
/** All spans that were ended, once the SDK has looked about where it runs. */
async function allSpans() {
  await processor.forceFlush();
  return traceExporter.getFinishedSpans();
}
const model = scriptedModel({
  desk: [callTool('ask_clerk', { input: 'where is o1?' }), callTool('refund', { order: 'o1' }), say('Refunded.')],
  clerk: [callTool('find_order', { order: 'o1' }), say('It is lost.')],
});
const polite = defineGuardrail({
  name: 'polite',
  on: ['output'],
  check: ({ content }) => (/stupid/.test(content) ? deny('be polite') : { action: 'allow' }),
});
const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order.',
  input: z.object({ order: z.string() }),
  flow: { effect: 'read' },
  execute: ({ order }) => `${order} is lost`,
});
const refund = defineTool({
  name: 'refund',
  description: 'Refunds an order.',
  input: z.object({ order: z.string() }),
  flow: { effect: 'write' },
  approval: true,
  execute: ({ order }) => `refunded ${order}`,
});
const clerk = defineAgent({ name: 'clerk', instructions: 'Find orders.', model, tools: [findOrder] });

// #region setup
import { run } from '@guardloop/core';
import { otel, runIds } from '@guardloop/otel';
import { NodeSDK } from '@opentelemetry/sdk-node';

const sdk = new NodeSDK({
  serviceName: 'shop',
  idGenerator: runIds(), // a run's own trace begins with a real root, and ratio samplers decide alike in all processes
  spanProcessors: [processor], // in production: a BatchSpanProcessor with an OTLP exporter
  metricReaders: [reader],
});
sdk.start();

const telemetry = otel();
const desk = defineAgent({
  name: 'desk',
  instructions: 'Serve.',
  model: telemetry.model(model),
  guardrails: [polite],
  tools: [asTool(clerk, { name: 'ask_clerk', description: 'Asks the clerk.' }), telemetry.tool(refund)],
});
const asked = await run(desk, 'Where is o1? If it is lost, refund it.', { runId: 'r1', observers: [telemetry] });
// #endregion
assert.equal(asked.status, 'interrupted');

// #region resume
const stored = JSON.parse(JSON.stringify(asked.log)); // days later, in another process
const done = await resume(desk, stored, { decisions: { 'r1/p1': 'approve' }, observers: [telemetry] });
// #endregion
assert.equal(done.status, 'completed');
assert.deepEqual(auditLog(done.log), []);
const spans = await allSpans();
assert.equal(new Set(spans.map((span) => span.spanContext().traceId)).size, 1);

// #region ids
import { traceOfRun } from '@guardloop/otel';

const { traceId } = traceOfRun('r1'); // for a link from your own pages to the trace
// #endregion
assert.equal(spans[0]?.spanContext().traceId, traceId);

const session = { id: 's1' };
const request = { headers: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' } };
// #region under
const { traceparent } = request.headers; // or activeTraceparent(), where the request has a span of its own
const underRequest = telemetry.under({ traceparent, conversation: session.id });
await run(desk, 'Where is o1?', { observers: [underRequest] });
// #endregion
assert.equal((await allSpans()).at(-1)?.spanContext().traceId, '0af7651916cd43dd8448eb211c80319c');

// #region contents
const withContents = otel({
  contents: { redact: (text, { what }) => (what === 'result' ? undefined : text.replace(/\b\d{6,}\b/g, '[number]')) },
});
// #endregion
const before = (await allSpans()).length;
await run(defineAgent({ name: 'echo', instructions: '', model: scriptedModel([say('Your number is 123456789.')]) }), 'Say it.', {
  observers: [withContents],
});
assert.match(JSON.stringify((await allSpans()).slice(before).map((span) => span.attributes)), /Your number is \[number\]\./);

// #region log
telemetry.traceLog(done.log); // the spans of both parts, from the log alone
// #endregion

await sdk.shutdown();
trace.disable();
metrics.disable();
context.disable();
