import type { Log, Observer, RunEvent, Tool } from '@guardloop/core';
import { aroundTool } from '@guardloop/core';
import type { Model } from '@guardloop/core/model';
import { Follower } from './follower.js';
import { readTraceparent } from './ids.js';
import type { OtelOptions } from './options.js';
import { fieldsOf, invalid, kindOf, readOptions } from './options.js';
import type { Place } from './track.js';

/** Where a run hangs, and to what it belongs. */
export interface RunPlace {
  /**
   * The W3C `traceparent` of who asked for the run, for example of the request that submitted it: all parts of the run, in whichever
   * process, become its children. One that is malformed counts as none.
   */
  readonly traceparent?: string | undefined;
  /** The `tracestate` that came with it. */
  readonly tracestate?: string | undefined;
  /** `gen_ai.conversation.id`: the id of the session, for example. */
  readonly conversation?: string | undefined;
}

/** Spans and metrics of runs. Itself an observer: `observers: [telemetry]`. */
export interface Telemetry {
  (event: RunEvent): void;
  /** An observer for runs that hang under somebody's span, or belong to a conversation. Throws CONFIG_INVALID. */
  under(place: RunPlace): Observer;
  /**
   * The model, with the span of its call active while it answers, so that spans of HTTP clients hang under it; and that span ends with the
   * answer instead of with what guardrails say to it. Goes outermost: `telemetry.model(withRetry(model))`.
   */
  model(model: Model): Model;
  /** The tool, with the span of its call active while it runs. For tools with `execute`. Throws CONFIG_INVALID. */
  tool<T extends Tool<never, string, unknown, never>>(tool: T): T;
  /**
   * Makes the spans of a recorded log, as they would have been made while it was written: of runs whose process died, or that nobody
   * watched. No metrics. The same log twice makes the same spans twice. Throws CONFIG_INVALID for what is no log.
   */
  traceLog(log: Log, place?: RunPlace): void;
}

const placeNames = ['traceparent', 'tracestate', 'conversation'];

function readPlace(where: string, given: unknown, isPast: boolean): Place {
  const fields = fieldsOf(where, given, placeNames);
  const text = (name: string): string | undefined => {
    const value = fields[name];
    if (value === undefined || typeof value === 'string') return value;
    return invalid(where, `${name} is ${kindOf(value)}. Give a text, or leave it out.`);
  };
  const traceparent = text('traceparent');
  const tracestate = text('tracestate');
  return {
    parent: traceparent === undefined ? undefined : readTraceparent(traceparent, tracestate),
    conversation: text('conversation'),
    isPast,
  };
}

function readModel(given: unknown): Model {
  const { id, provider, stream } = (typeof given === 'object' && given !== null ? given : {}) as Partial<Model>;
  if (typeof id !== 'string' || typeof provider !== 'string' || typeof stream !== 'function')
    invalid(
      'telemetry.model(…)',
      `the first argument is no model, but ${kindOf(given)}. Give what an adapter made, openai('gpt-5') for example.`,
    );
  return given as Model;
}

const nowhere: Place = { parent: undefined, conversation: undefined, isPast: false };

/**
 * Makes spans and metrics of runs, by the GenAI conventions of OpenTelemetry: give it to `observers`. Nothing of what was said is in them
 * unless `contents` says how it is redacted. Whatever tracers, meters and exporters do, runs come out the same. One for a process is
 * enough. Throws CONFIG_INVALID.
 *
 * ```ts
 * const telemetry = otel();
 * const result = await run(agent, 'Where is order o1?', { observers: [telemetry] });
 * ```
 */
export function otel(options: OtelOptions = {}): Telemetry {
  const settings = readOptions(options);
  const follower = new Follower(settings);
  const observe = (event: RunEvent): void => follower.tell(event, nowhere);
  return Object.freeze(
    Object.assign(observe, {
      under(given: RunPlace): Observer {
        const place = readPlace('telemetry.under(…)', given, false);
        return (event: RunEvent) => follower.tell(event, place);
      },
      model: (model: Model): Model => follower.models.around(readModel(model)),
      tool<T extends Tool<never, string, unknown, never>>(tool: T): T {
        return aroundTool(tool, { within: (execute, info) => follower.calls.within(execute, info) }) as unknown as T;
      },
      traceLog(log: Log, given: RunPlace = {}): void {
        const place = readPlace('telemetry.traceLog(…)', given, true);
        const events: unknown = (log as Partial<Log> | null)?.events;
        if (!Array.isArray(events) || !events.every((event) => typeof event === 'object' && event !== null))
          invalid('telemetry.traceLog(…)', 'the first argument is no log. Give `result.log`.');
        const past = new Follower(settings);
        for (const event of log.events) past.tell(event, place);
        past.leaveAll();
      },
    }),
  );
}
