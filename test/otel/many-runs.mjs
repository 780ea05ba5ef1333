// What a traced run leaves in memory: the heap after many runs over the heap after some. Half of them are streamed, a quarter waits for ever.
import { defineAgent, defineTool, run, stream } from '@guardloop/core';
import { otel, runIds } from '@guardloop/otel';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { z } from 'zod';

const exporter = { export: (_, done) => done({ code: 0 }), shutdown: async () => undefined };
const processor = new BatchSpanProcessor(exporter, { scheduledDelayMillis: 1 });
const telemetry = otel({ tracerProvider: new BasicTracerProvider({ idGenerator: runIds(), spanProcessors: [processor] }) });
const look = defineTool({ name: 'look', description: '', input: z.object({}), flow: { effect: 'read' }, execute: () => 'seen' });
const pay = defineTool({ name: 'pay', description: '', input: z.object({}), approval: true, execute: () => 'paid' });
const model = (name) => telemetry.model(scriptedModel([callTool(name), say('Done.')], { record: false }));
const agents = ['look', 'look', 'look', 'pay'].map((name) =>
  defineAgent({ name, instructions: '', model: model(name), tools: [telemetry.tool(look), telemetry.tool(pay)] }),
);
async function go(count) {
  for (let index = 0; index < count; index += 1) {
    const agent = agents[index % agents.length];
    const options = { observers: [telemetry] };
    await (index % 2 === 0 ? run(agent, 'hi', options) : stream(agent, 'hi', options).result);
    if (index % 50 === 0) await processor.forceFlush();
  }
  await processor.forceFlush();
  await new Promise((resolve) => setTimeout(resolve, 20));
  gc();
  gc();
  return process.memoryUsage().heapUsed;
}
// The first 4,000 fill what is kept of the last 1,000 questions to people.
const first = await go(5_000);
const more = 5_000;
process.stdout.write(JSON.stringify({ bytesARun: ((await go(more)) - first) / more }));
