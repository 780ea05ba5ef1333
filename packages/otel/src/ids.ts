import { createHash, randomBytes } from 'node:crypto';
import type { SpanContext } from '@opentelemetry/api';
import { createTraceState, isSpanContextValid, TraceFlags, trace } from '@opentelemetry/api';
import { invalid, kindOf } from './options.js';
import { safely } from './safely.js';

/** The trace that a run has of itself, in lower-case hex digits: a trace id of 32, and the id of its first span of 16. */
export interface RunTrace {
  readonly traceId: string;
  readonly spanId: string;
}

/**
 * The trace of a run that was given none: of the sha256 of the run's id (UTF-8), the first 16 bytes are the trace id, and the next 8 the id
 * of the span that all its parts hang on. So every process, now or next week, comes to the same. Throws CONFIG_INVALID for what is no id.
 */
export function traceOfRun(runId: string): RunTrace {
  if (typeof runId !== 'string')
    invalid('traceOfRun(…)', `the first argument is ${kindOf(runId)}. Give the id of a run, such as \`result.log.events[0]?.run\`.`);
  const hash = createHash('sha256').update(runId).digest('hex');
  return { traceId: hash.slice(0, 32), spanId: hash.slice(32, 48) };
}

/** Makes ids for a tracer: what an SDK takes as `idGenerator`. */
export interface IdGenerator {
  /** 32 lower-case hex digits. */
  generateTraceId(): string;
  /** 16 lower-case hex digits. */
  generateSpanId(): string;
}

interface Wanted {
  readonly traceId: string;
  spanId: string | undefined;
}
/** Shared by all copies of this package: the SDK may have been given the generator of another one. */
const shared = Symbol.for('guardloop.otel.ids');
const holder = globalThis as { [shared]?: Wanted | undefined };

/** What an id generator made by {@link runIds} gives while `start` runs. Others give what they like. */
export function withIds<T>(traceId: string, spanId: string | undefined, start: () => T): T {
  holder[shared] = { traceId, spanId };
  try {
    return start();
  } finally {
    holder[shared] = undefined;
  }
}

const random: IdGenerator = {
  generateTraceId: () => randomBytes(16).toString('hex'),
  generateSpanId: () => randomBytes(8).toString('hex'),
};

/**
 * An id generator for the SDK (`new NodeSDK({ idGenerator: runIds() })`): with it a run that was given no trace begins with a real root
 * span of the ids of {@link traceOfRun}, and the root sampler is asked about that trace id, so that by a ratio every process decides alike.
 * All other ids come from `base`; default: random ones. Throws CONFIG_INVALID for a `base` that makes no ids.
 */
export function runIds(base: IdGenerator = random): IdGenerator {
  const { generateTraceId, generateSpanId } = (base ?? {}) as Partial<IdGenerator>;
  if (typeof generateTraceId !== 'function' || typeof generateSpanId !== 'function')
    invalid('runIds(…)', 'the first argument makes no ids. Give an object with `generateTraceId` and `generateSpanId`, or leave it out.');
  return {
    generateTraceId: () => holder[shared]?.traceId ?? base.generateTraceId(),
    generateSpanId() {
      const wanted = holder[shared];
      const spanId = wanted?.spanId;
      if (wanted === undefined || spanId === undefined) return base.generateSpanId();
      wanted.spanId = undefined;
      return spanId;
    },
  };
}

/**
 * The W3C `traceparent` of the span that is active here, to be carried to where the run is worked on: `submit(agent, input, { traceparent:
 * activeTraceparent() })`, and there `telemetry.under({ traceparent })`. Undefined where none is.
 */
export function activeTraceparent(): string | undefined {
  const active = safely('reading the context', () => trace.getActiveSpan()?.spanContext());
  if (active === undefined || !isSpanContextValid(active)) return undefined;
  return `00-${active.traceId}-${active.spanId}-${active.traceFlags.toString(16).padStart(2, '0')}`;
}

const header = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Reads a W3C `traceparent`. Undefined for one that is malformed, as the standard wants it. */
export function readTraceparent(text: string, tracestate: string | undefined): SpanContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', rest] = header.exec(text.trim()) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED;
  const context: SpanContext = { traceId, spanId, traceFlags, isRemote: true };
  if (!isSpanContextValid(context)) return undefined;
  return tracestate === undefined ? context : { ...context, traceState: createTraceState(tracestate) };
}
