import type { Context, Link, SpanContext, Tracer } from '@opentelemetry/api';
import { context, isSpanContextValid, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { traceOfRun, withIds } from './ids.js';
import { safely } from './safely.js';
import type { OpenSpan, SpanStart } from './spans.js';
import { opened, startSpan } from './spans.js';
import type { Place } from './track.js';

export interface RootStart extends SpanStart {
  readonly run: string;
  /** The run begins here, and goes not on. */
  readonly isFirst: boolean;
}

/** Opens the span of a root run: under what it was given, under what is active, or in the trace that is made of its id. */
export function openRoot(
  tracer: Tracer,
  { parent: given, isPast }: Place,
  { hangsOnActive, start }: { readonly hangsOnActive: boolean; readonly start: RootStart },
): OpenSpan {
  const around = isPast ? ROOT_CONTEXT : (safely('reading the context', () => context.active()) ?? ROOT_CONTEXT);
  const active = safely('reading the context', () => trace.getSpanContext(around));
  const valid = active !== undefined && isSpanContextValid(active) ? active : undefined;
  const parent = given ?? (hangsOnActive ? valid : undefined);
  const links: Link[] = valid === undefined || valid.spanId === parent?.spanId ? [] : [{ context: valid }];
  const linked = { ...start, links };
  if (parent === undefined) return openOwn(tracer, trace.deleteSpan(around), { start: linked, active: valid });
  const under = trace.setSpanContext(around, parent);
  return opened(startSpan(tracer, under, linked), under, start.at);
}

/**
 * The trace of the run's own. Where the tracer takes our ids, its first span is the root of it, and the root sampler has decided. Else all
 * spans hang on an id that no span has; then the active span's decision counts, and where there is none the root sampler is asked with a
 * span that is never ended, so that it is never exported.
 */
function openOwn(
  tracer: Tracer,
  base: Context,
  { start, active }: { readonly start: RootStart; readonly active: SpanContext | undefined },
): OpenSpan {
  const { traceId, spanId } = traceOfRun(start.run);
  const asked = withIds(traceId, start.isFirst ? spanId : undefined, () => startSpan(tracer, base, { ...start, root: true }));
  const first = opened(asked, base, start.at);
  const got = asked && safely('reading a span', () => asked.spanContext());
  if (got === undefined) return first;
  const isOurs = got.traceId === traceId;
  if (isOurs && start.isFirst) return first;
  const traceFlags = isOurs || active === undefined ? got.traceFlags : active.traceFlags;
  const under = trace.setSpanContext(base, { traceId, spanId, traceFlags, isRemote: true });
  // Nothing was decided: there is no SDK.
  if (!isSpanContextValid(got)) return { span: undefined, context: base, startAt: start.at };
  return opened(startSpan(tracer, under, start), under, start.at);
}
