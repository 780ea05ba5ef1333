import { durable, durableAgent } from '@guardloop/durable';
import { otel } from '@guardloop/otel';
import { memoryStore } from '@guardloop/store';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { expect, it } from 'vitest';
import { desk, scripts } from './desk.js';

it('a durable run hangs under who submitted it, on every worker that takes it', async () => {
  const store = memoryStore();
  const exporter = new InMemorySpanExporter();
  const fleet = () => {
    const telemetry = otel({ tracerProvider: new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }) });
    const agent = durableAgent(desk(scripts.approval, telemetry), {
      options: ({ traceparent, session }) => ({ observers: [telemetry.under({ traceparent, conversation: session })] }),
    });
    return durable({ store, agents: { desk: agent } });
  };
  const [one, two] = [fleet(), fleet()];
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const submitted = await one.submit('desk', 'Refund o1.', { session: 's1', traceparent });
  const first = await one.worker();
  await expect.poll(async () => (await two.approvals.list({ run: submitted.run.id })).items.length, { timeout: 15_000 }).toBe(1);
  await first.stop();
  const second = await two.worker();
  const [asked] = (await two.approvals.list({ run: submitted.run.id })).items;
  await two.approvals.decide(asked?.id ?? '', 'approve');
  await expect.poll(async () => (await two.status(submitted.run.id))?.status, { timeout: 15_000 }).toBe('completed');
  await second.stop();
  const roots = exporter.getFinishedSpans().filter(({ name }) => name === 'invoke_agent desk');
  expect(roots.map(({ attributes }) => attributes['guardloop.run.status'])).toEqual(['interrupted', 'completed']);
  for (const { parentSpanContext, attributes } of roots) {
    expect(parentSpanContext?.spanId).toBe('b7ad6b7169203331');
    expect(attributes['gen_ai.conversation.id']).toBe('s1');
  }
  expect(new Set(exporter.getFinishedSpans().map((span) => span.spanContext().traceId))).toEqual(
    new Set(['0af7651916cd43dd8448eb211c80319c']),
  );
  await one.close();
  await two.close();
  await store.close();
});
