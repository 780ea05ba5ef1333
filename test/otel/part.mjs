// One part of a run, as a process of its own: begins it, or goes on with the log in the file. Told: begin | resume | die, file, URL of a receiver.
import { readFileSync, writeFileSync } from 'node:fs';
import { defineAgent, defineTool, resume, run } from '@guardloop/core';
import { otel, runIds } from '@guardloop/otel';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { z } from 'zod';

const [part, file, url] = process.argv.slice(2);
const sdk = new NodeSDK({
  serviceName: part,
  idGenerator: runIds(),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url: `${url}/v1/traces` }))],
  metricReaders: [],
  instrumentations: [],
  resourceDetectors: [],
});
sdk.start();
const telemetry = otel();
const events = [];
const keep = (event) => {
  if (event.seq === undefined) return;
  events.push(event);
  writeFileSync(file, JSON.stringify({ version: 1, events }));
};
const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({}),
  flow: { effect: 'read' },
  execute: () => {
    if (part === 'die') process.kill(process.pid, 'SIGKILL');
    return 'seen';
  },
});
const pay = defineTool({ name: 'pay', description: 'Pays.', input: z.object({}), approval: true, execute: () => 'paid' });
const model = telemetry.model(scriptedModel([[callTool('look'), callTool('pay')], say('Done.')]));
const agent = defineAgent({ name: 'desk', instructions: '', model, tools: [telemetry.tool(look), telemetry.tool(pay)] });
const observers = [keep, telemetry];

if (part === 'resume') {
  const log = JSON.parse(readFileSync(file, 'utf8'));
  events.push(...log.events);
  const first = await resume(agent, log, { observers });
  if (first.status === 'interrupted') {
    const decisions = Object.fromEntries(first.approvals.map(({ id }) => [id, 'approve']));
    await resume(agent, first.log, { observers, decisions });
  }
} else await run(agent, 'go', { runId: 'over-processes', observers });
await sdk.shutdown();
