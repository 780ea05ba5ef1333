import type { Attributes, Context, HrTime, Link, Span, SpanKind, Tracer } from '@opentelemetry/api';
import { SpanStatusCode, trace } from '@opentelemetry/api';
import { genAi } from './names.js';
import { safely } from './safely.js';

/** A span that is open, the context in which it is the active one, and since when. */
export interface OpenSpan {
  /** Undefined where nothing is recorded: the sampler said no, or there is no tracer. */
  readonly span: Span | undefined;
  readonly context: Context;
  /** Milliseconds since 1970. */
  readonly startAt: number;
}

export interface SpanStart {
  readonly name: string;
  readonly at: number;
  readonly kind?: SpanKind | undefined;
  readonly attributes?: Attributes | undefined;
  readonly links?: Link[] | undefined;
  /** Under no span, whatever the context holds. */
  readonly root?: boolean | undefined;
}

/** As pairs, which mean the same for any time: plain numbers below the start of the process are taken for offsets. */
export const timeOf = (at: number): HrTime => [Math.floor(at / 1_000), Math.round((at % 1_000) * 1e6)];

/** Starts a span. Undefined where the tracer threw. */
export function startSpan(tracer: Tracer, context: Context, start: SpanStart): Span | undefined {
  const { name, at, kind, attributes, links, root } = start;
  return safely('starting a span', () =>
    tracer.startSpan(
      name,
      {
        startTime: timeOf(at),
        ...(kind === undefined ? {} : { kind }),
        ...(attributes === undefined ? {} : { attributes }),
        ...(links === undefined ? {} : { links }),
        ...(root === undefined ? {} : { root }),
      },
      context,
    ),
  );
}

/** Of a span that was started: as an open one under which others can hang. */
export function opened(span: Span | undefined, context: Context, at: number): OpenSpan {
  const isRecorded = span !== undefined && safely('asking a span', () => span.isRecording()) === true;
  return { span: isRecorded ? span : undefined, context: span === undefined ? context : trace.setSpan(context, span), startAt: at };
}

/** Opens a span under another one; of one that is not recorded nothing is recorded either. */
export function openUnder(tracer: Tracer, parent: OpenSpan, start: SpanStart): OpenSpan {
  if (parent.span === undefined) return { span: undefined, context: parent.context, startAt: start.at };
  return opened(startSpan(tracer, parent.context, start), parent.context, start.at);
}

export function setAttributes({ span }: OpenSpan, attributes: Attributes): void {
  if (span !== undefined) safely('setting attributes', () => span.setAttributes(attributes));
}

/** Adds an event to a span. */
export function addMoment(
  { span }: OpenSpan,
  name: string,
  { at, attributes }: { readonly at: number; readonly attributes: Attributes },
): void {
  if (span !== undefined) safely('adding an event', () => span.addEvent(name, attributes, timeOf(at)));
}

/** Ends a span, with attributes, and as failed where there is an error type. */
export function endSpan(
  { span, startAt }: OpenSpan,
  at: number,
  { attributes, error }: { readonly attributes?: Attributes; readonly error?: string | undefined } = {},
): void {
  if (span === undefined) return;
  safely('ending a span', () => {
    if (attributes !== undefined) span.setAttributes(attributes);
    if (error !== undefined) {
      span.setAttribute(genAi.errorType, error);
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
  });
  safely('ending a span', () => span.end(timeOf(Math.max(at, startAt))));
}
