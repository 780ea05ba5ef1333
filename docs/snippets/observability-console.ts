import assert from 'node:assert/strict';
// #region program
import { defineAgent, defineTool, run } from '@guardloop/core';
import { otel, runIds } from '@guardloop/otel';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { context, metrics as globalMetrics, trace } from '@opentelemetry/api';
import { metrics, NodeSDK } from '@opentelemetry/sdk-node';
import { ConsoleSpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { z } from 'zod';

const sdk = new NodeSDK({
  serviceName: 'shop',
  idGenerator: runIds(),
  spanProcessors: [new SimpleSpanProcessor(new ConsoleSpanExporter())],
  metricReaders: [new metrics.PeriodicExportingMetricReader({ exporter: new metrics.ConsoleMetricExporter() })],
});
sdk.start();

const telemetry = otel();
const findOrder = defineTool({
  name: 'find_order',
  description: 'Find an order.',
  input: z.object({ orderId: z.string() }),
  flow: { effect: 'read' },
  execute: ({ orderId }) => `${orderId} is on its way`,
});
const model = scriptedModel([callTool('find_order', { orderId: 'o1' }), say('It is on its way.')]); // stands for openai('gpt-5')
const desk = defineAgent({
  name: 'desk',
  instructions: 'Handle orders.',
  model: telemetry.model(model),
  tools: [telemetry.tool(findOrder)],
});
const result = await run(desk, 'Where is o1?', { observers: [telemetry] });
console.log(result.status);
await sdk.shutdown(); // sends what is left
// #endregion
assert.equal(result.status, 'completed');
trace.disable();
globalMetrics.disable();
context.disable();
