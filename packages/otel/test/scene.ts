// What the tests of telemetry need: an SDK in memory, a desk of two agents with guardrails, and spans as a tree in words.
import type { Agent, Clock } from '@guardloop/core';
import { allow, asTool, defineAgent, defineGuardrail, defineTool, deny, handoff, rewrite } from '@guardloop/core';
import type { Script } from '@guardloop/testing';
import { callTool, say, scriptedModel } from '@guardloop/testing';
import type { Attributes } from '@opentelemetry/api';
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import type { ReadableSpan, TracerConfig } from '@opentelemetry/sdk-trace-base';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { z } from 'zod';
import { own } from '../src/names.js';
import type { OtelOptions } from '../src/options.js';
import type { Telemetry } from '../src/otel.js';
import { otel } from '../src/otel.js';

/** Time that goes on by one millisecond whenever somebody looks. */
export const tickingClock = (start = 1_000_000): Clock => {
  let now = start;
  return {
    now: () => {
      now += 1;
      return now;
    },
    after: (ms, callback) => {
      const timer = setTimeout(callback, ms);
      return () => clearTimeout(timer);
    },
  };
};

/** Telemetry whose spans and metrics stay here. */
export function inMemory(options: OtelOptions = {}, config: TracerConfig = {}) {
  const exporter = new InMemorySpanExporter();
  const started: ReadableSpan[] = [];
  const processor = new (class extends SimpleSpanProcessor {
    override onStart(...[span]: Parameters<SimpleSpanProcessor['onStart']>): void {
      started.push(span);
    }
  })(exporter);
  const tracerProvider = new BasicTracerProvider({ ...config, spanProcessors: [processor] });
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 3_600_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const telemetry = otel({ tracerProvider, meterProvider, ...options });
  return {
    telemetry,
    tracerProvider,
    meterProvider,
    spans: (): readonly ReadableSpan[] => exporter.getFinishedSpans(),
    /** Ended or not. */
    started: (): readonly ReadableSpan[] => started,
    /** Data points by the name of the metric, in one line each. */
    async points(): Promise<Readonly<Record<string, readonly { readonly attributes: Attributes; readonly value: unknown }[]>>> {
      await reader.forceFlush();
      const [last] = metricExporter.getMetrics().slice(-1);
      const metrics = last?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
      return Object.fromEntries(
        metrics.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints.map(({ attributes, value }) => ({ attributes, value }))]),
      );
    },
  };
}

const idOf = (span: ReadableSpan): string => span.spanContext().spanId;

/** Spans as an indented list of names, with what `say` says of each; brothers by their beginning. Parents that are not there are roots. */
export function tree(spans: readonly ReadableSpan[], say: (span: ReadableSpan) => string = () => ''): readonly string[] {
  const known = new Set(spans.map(idOf));
  const beginning = (span: ReadableSpan): number => span.startTime[0] * 1e9 + span.startTime[1];
  const order = new Map(spans.map((span, index) => [span, index]));
  const below = (parent: string | undefined, depth: number): readonly string[] =>
    spans
      .filter((span) => {
        const id = span.parentSpanContext?.spanId;
        return parent === undefined ? id === undefined || !known.has(id) : id === parent;
      })
      .toSorted((left, right) => beginning(left) - beginning(right) || (order.get(left) ?? 0) - (order.get(right) ?? 0))
      .flatMap((span) => [`${'  '.repeat(depth)}${span.name}${say(span)}`, ...below(idOf(span), depth + 1)]);
  return below(undefined, 0);
}

/** The span of this name, or the n-th of them. */
export function spanNamed(spans: readonly ReadableSpan[], name: string, index = 0): ReadableSpan {
  const found = spans.filter((span) => span.name === name)[index];
  if (found === undefined) throw new Error(`There is no span ${name}; there are ${spans.map((span) => span.name).join(', ')}.`);
  return found;
}
export const statusOf = (span: ReadableSpan): string =>
  span.attributes[own.status] === undefined ? '' : ` [${String(span.attributes[own.status])}]`;

export const secret = 'HUSH-4711';

/** Removes the secret from what people say, refuses a bad word of answers, and only watches on tools. */
export const guardrails = [
  defineGuardrail({
    name: 'hush',
    on: ['input'],
    rewrite: ({ content }) =>
      content.includes(secret) ? rewrite(content.replaceAll(secret, '[hidden]'), `${secret} is a secret`) : allow(),
  }),
  defineGuardrail({
    name: 'manners',
    on: ['output'],
    check: ({ content }) => (content.includes('damn') ? deny('mind your words', { reply: 'Sorry.' }) : allow()),
  }),
  defineGuardrail({ name: 'watch', on: ['toolInput', 'toolOutput'], shadow: true, check: () => deny('would not') }),
];

const lookUp = defineTool({
  name: 'look_up',
  description: 'Looks up an order.',
  input: z.object({ order: z.string() }),
  flow: { effect: 'read', results: 'trusted' },
  execute: ({ order }) => `${order} is on its way`,
});
const refund = defineTool({
  name: 'refund',
  description: 'Refunds an order.',
  input: z.object({ order: z.string() }),
  flow: { effect: 'write' },
  approval: true,
  execute: ({ order }) => `refunded ${order}`,
});

/**
 * `desk` looks up, asks `clerk` (an agent as a tool) and refunds after approval; or hands over to `billing`. With `telemetry` its model and
 * tools are those that telemetry makes of them.
 */
export function desk(script: Script, telemetry?: Telemetry): Agent<unknown> {
  const scripted = scriptedModel(script, {
    id: 'm1',
    provider: 'acme.chat',
    usage: { requests: 1, inputTokens: 10, outputTokens: 5, cost: 0.25 },
  });
  const model = telemetry?.model(scripted) ?? scripted;
  const tools = [telemetry?.tool(lookUp) ?? lookUp, telemetry?.tool(refund) ?? refund];
  const clerk = defineAgent({ name: 'clerk', instructions: 'Help.', model, tools });
  const billing = defineAgent({ name: 'billing', instructions: 'Bill.', model, tools });
  return defineAgent({
    name: 'desk',
    instructions: 'Serve.',
    model,
    guardrails,
    tools: [...tools, asTool(clerk, { name: 'ask_clerk', description: 'Asks the clerk.' })],
    handoffs: [handoff(billing, { description: 'Money.' })],
  });
}

export const scripts = {
  answer: { desk: [say('Hello.')] },
  tools: { desk: [[callTool('look_up', { order: 'o1' }), callTool('nothing_such', {})], say('It comes.')] },
  child: {
    desk: [[callTool('ask_clerk', { input: 'where is o1' })], say('It comes.')],
    clerk: [callTool('look_up', { order: 'o1' }), say('On its way.')],
  },
  childApproval: {
    desk: [[callTool('ask_clerk', { input: 'refund o1' })], say('Done.')],
    clerk: [callTool('refund', { order: 'o1' }), say('Refunded.')],
  },
  approval: { desk: [[callTool('look_up', { order: 'o1' }), callTool('refund', { order: 'o1' })], say('Refunded.')] },
  handoff: { desk: [callTool('transfer_to_billing', { brief: 'money' })], billing: [say('Your bill.')] },
  refused: { desk: [say('damn'), say('Sorry then.')] },
  blocked: { desk: [say('damn'), say('damn again'), say('damn')] },
} satisfies Record<string, Script>;
