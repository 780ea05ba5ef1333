// The spans of a run that waits for a person and goes on in another process, as a tree: one trace, whose id is made of the run's id. A child
// run, a guardrail that has an answer repaired, an approval. What was said is in no span.
import assert from 'node:assert/strict';
import type { Log } from '@guardloop/core';
import { allow, assertCompleted, asTool, defineAgent, defineGuardrail, defineTool, deny, resume, run } from '@guardloop/core';
import { otel, runIds, traceOfRun } from '@guardloop/otel';
import { auditLog, callTool, say, scriptedModel } from '@guardloop/testing';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { z } from 'zod';

// An application starts a NodeSDK with an OTLP exporter. Here spans stay in memory, to be printed.
const exporter = new InMemorySpanExporter();
const newProcess = () =>
  otel({ tracerProvider: new BasicTracerProvider({ idGenerator: runIds(), spanProcessors: [new SimpleSpanProcessor(exporter)] }) });

const model = scriptedModel({
  desk: [
    callTool('ask_clerk', { input: 'Where is o1?' }),
    callTool('refund', { orderId: 'o1' }),
    say('Stupid me: refunded.'),
    say('It is refunded.'),
  ],
  clerk: [callTool('find_order', { orderId: 'o1' }), say('It was lost.')],
});
const findOrder = defineTool({
  name: 'find_order',
  description: 'Finds an order.',
  input: z.object({ orderId: z.string() }),
  flow: { effect: 'read' },
  execute: ({ orderId }) => `${orderId} was lost on its way`,
});
const refund = defineTool({
  name: 'refund',
  description: 'Refunds an order.',
  input: z.object({ orderId: z.string() }),
  flow: { effect: 'send' },
  approval: true,
  execute: ({ orderId }) => `${orderId} is refunded`,
});
const polite = defineGuardrail({
  name: 'polite',
  on: ['output'],
  check: ({ content }) => (/stupid/i.test(content) ? deny('be polite, to yourself too') : allow()),
});
const clerk = defineAgent({ name: 'clerk', instructions: 'Find orders.', model, tools: [findOrder] });
const desk = defineAgent({
  name: 'desk',
  instructions: 'Help people with their orders.',
  model,
  guardrails: [polite],
  tools: [asTool(clerk, { name: 'ask_clerk', description: 'Asks the clerk.' }), refund],
});

// Friday: the run asks and is over here. Monday: another process, which knows the log alone.
const asked = await run(desk, 'Where is my order o1? I want my money back.', { runId: 'r1', observers: [newProcess()] });
assert.equal(asked.status, 'interrupted');
const log = JSON.parse(JSON.stringify(asked.log)) as Log;
const done = await resume(desk, log, { decisions: { 'r1/p1': 'approve' }, observers: [newProcess()] });
assertCompleted(done);
assert.deepEqual(auditLog(done.log), []);

const notes = ['guardloop.run.status', 'guardloop.call.status', 'guardloop.guardrail.action', 'guardloop.approval.decision'];
/** Spans under this one, in the order in which they began, as indented lines. */
function tree(spans: readonly ReadableSpan[], parent?: string, depth = 0): readonly string[] {
  const startOf = ({ startTime: [seconds, nanos] }: ReadableSpan): number => seconds * 1_000 + nanos / 1e6;
  return spans
    .filter((span) => span.parentSpanContext?.spanId === parent)
    .toSorted((left, right) => startOf(left) - startOf(right))
    .flatMap((span) => {
      const note = notes.map((name) => span.attributes[name]).find((value) => value !== undefined);
      const line = `${'  '.repeat(depth)}${span.name}${note === undefined ? '' : `: ${String(note)}`}`;
      return [line, ...tree(spans, span.spanContext().spanId, depth + 1)];
    });
}
const spans = exporter.getFinishedSpans();
const { traceId } = traceOfRun('r1');
assert.ok(spans.every((span) => span.spanContext().traceId === traceId));
const lines = tree(spans);
console.log(`trace ${traceId}\n${lines.join('\n')}`);

assert.deepEqual(
  lines.map((line) => line.trim()).toSorted(),
  [
    'invoke_agent desk: interrupted',
    'turn',
    'chat scripted',
    'execute_tool ask_clerk: ok',
    'invoke_agent clerk: completed',
    'turn',
    'chat scripted',
    'execute_tool find_order: ok',
    'turn',
    'chat scripted',
    'turn',
    'chat scripted',
    'invoke_agent desk: completed',
    'approval: approve',
    'execute_tool refund: ok',
    'turn',
    'chat scripted',
    'guardrail polite: deny',
    'turn',
    'chat scripted',
    'guardrail polite: allow',
  ].toSorted(),
);
assert.doesNotMatch(JSON.stringify(spans.map(({ attributes, events }) => [attributes, events])), /money|refunded|lost|stupid|polite, to/i);
