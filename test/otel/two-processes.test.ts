import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Log } from '@guardloop/core';
import { otel, traceOfRun } from '@guardloop/otel';
import { auditLog } from '@guardloop/testing';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { WireSpan } from './otlp-receiver.js';
import { OtlpReceiver } from './otlp-receiver.js';

const script = fileURLToPath(new URL('part.mjs', import.meta.url));
const { traceId, spanId } = traceOfRun('over-processes');
let receiver: OtlpReceiver;
let folder: string;
let url: string;
beforeEach(async () => {
  receiver = new OtlpReceiver();
  url = await receiver.open();
  folder = mkdtempSync(join(tmpdir(), 'guardloop-otel-'));
});
afterEach(async () => {
  await receiver.close();
  rmSync(folder, { recursive: true });
});

const file = (): string => join(folder, 'log.json');
/** Runs a part in a process of its own, and gives the signal by which that died. */
const part = (name: 'begin' | 'resume' | 'die'): Promise<string | null | undefined> =>
  new Promise((resolve, reject) => {
    execFile(process.execPath, [script, name, file(), url], (error) => {
      if (error !== null && error.signal === null) reject(error);
      else resolve(error?.signal);
    });
  });
const runs = (): readonly WireSpan[] => receiver.spans.filter(({ name }) => name === 'invoke_agent desk');
const statusOf = (span: WireSpan | undefined): unknown =>
  span?.attributes.find(({ key }) => key === 'guardloop.run.status')?.value.stringValue;
const logOf = (): Log => JSON.parse(readFileSync(file(), 'utf8')) as Log;

describe('a run over processes', () => {
  it('is one trace at the receiver, with a real root', async () => {
    await part('begin');
    await part('resume');
    expect(new Set(receiver.spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
    const [first, ...later] = runs();
    expect([first?.spanId, first?.parentSpanId ?? '', statusOf(first)]).toEqual([spanId, '', 'interrupted']);
    expect(later.map(({ parentSpanId }) => parentSpanId)).toEqual(later.map(() => spanId));
    expect(statusOf(later.at(-1))).toBe('completed');
    expect(auditLog(logOf())).toEqual([]);
  });

  it('is one trace too where the first was killed in a call, and the log has the spans that died with it', async () => {
    expect(await part('die')).toBe('SIGKILL');
    expect(receiver.spans).toEqual([]);
    await part('resume');
    expect(new Set(receiver.spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
    expect(runs().map((span) => [span.parentSpanId, statusOf(span)])).toEqual([
      [spanId, 'interrupted'],
      [spanId, 'completed'],
    ]);
    const exporter = new InMemorySpanExporter();
    const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
    otel({ tracerProvider }).traceLog(logOf());
    const parts = exporter.getFinishedSpans().filter(({ name }) => name === 'invoke_agent desk');
    expect(parts.map(({ attributes }) => attributes['guardloop.run.status'])).toEqual(['cut', 'interrupted', 'completed']);
  });
});
