import type { Attributes, Counter, Histogram, Meter } from '@opentelemetry/api';
import { metricNames } from './names.js';
import { safely } from './safely.js';

const tokenBuckets = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864];
const modelBuckets = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const firstChunkBuckets = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const workBuckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600];
const guardBuckets = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];
const waitBuckets = [1, 10, 60, 300, 900, 3_600, 14_400, 43_200, 86_400, 172_800, 345_600, 604_800];

/** The instruments. Durations are given in milliseconds and recorded in seconds. Nothing here throws. */
export class Metrics {
  private readonly instruments: {
    readonly [K in
      | 'tokens'
      | 'modelDuration'
      | 'timeToFirstChunk'
      | 'runDuration'
      | 'guardrailDuration'
      | 'toolDuration'
      | 'approvalWait']: Histogram;
  } & { readonly [K in 'cost' | 'verdicts' | 'retries' | 'warnings']: Counter };

  /** Throws what the meter throws. */
  constructor(meter: Meter) {
    const histogram = (
      name: string,
      description: string,
      { unit = 's', buckets }: { readonly unit?: string; readonly buckets: number[] },
    ): Histogram => meter.createHistogram(name, { description, unit, advice: { explicitBucketBoundaries: buckets } });
    const counter = (name: string, description: string, unit: string): Counter => meter.createCounter(name, { description, unit });
    const names = metricNames;
    this.instruments = {
      tokens: histogram(names.tokens, 'Number of input and output tokens used.', { unit: '{token}', buckets: tokenBuckets }),
      modelDuration: histogram(names.modelDuration, 'GenAI operation duration.', { buckets: modelBuckets }),
      timeToFirstChunk: histogram(names.timeToFirstChunk, 'Time to the first chunk of an answer.', { buckets: firstChunkBuckets }),
      runDuration: histogram(names.runDuration, 'Time from entering a run until it ends or waits.', { buckets: workBuckets }),
      guardrailDuration: histogram(names.guardrailDuration, 'Time that a guardrail took to answer.', { buckets: guardBuckets }),
      toolDuration: histogram(names.toolDuration, 'Time from the start of a call to its end.', { buckets: workBuckets }),
      approvalWait: histogram(names.approvalWait, 'Time from asking a person to taking up the answer.', { buckets: waitBuckets }),
      cost: counter(names.cost, 'What model calls cost, in the currency of the prices given.', '{currency}'),
      verdicts: counter(names.verdicts, 'Answers of guardrails.', '{verdict}'),
      retries: counter(names.retries, 'Attempts of model calls that failed and were followed by another.', '{retry}'),
      warnings: counter(names.warnings, 'Things of a request that a model did not take.', '{warning}'),
    };
  }

  record(name: 'tokens', value: number, attributes: Attributes): void {
    this.put(name, value, attributes);
  }

  /** `ms` as seconds. */
  time(
    name: Exclude<keyof Metrics['instruments'], 'tokens' | 'cost' | 'verdicts' | 'retries' | 'warnings'>,
    ms: number,
    attributes: Attributes,
  ): void {
    this.put(name, Math.max(0, ms) / 1_000, attributes);
  }

  add(name: 'cost' | 'verdicts' | 'retries' | 'warnings', value: number, attributes: Attributes): void {
    safely('counting', () => this.instruments[name].add(value, attributes));
  }

  private put(
    name: Exclude<keyof Metrics['instruments'], 'cost' | 'verdicts' | 'retries' | 'warnings'>,
    value: number,
    attributes: Attributes,
  ): void {
    safely('measuring', () => this.instruments[name].record(value, attributes));
  }
}
