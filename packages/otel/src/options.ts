import { GuardloopError } from '@guardloop/core';
import { suggest } from '@guardloop/core/model';
import type { MeterProvider, TracerProvider } from '@opentelemetry/api';

/**
 * What a text that is to be recorded is: `input` what a run was told, `output` an answer, `arguments` and `result` of a call (JSON, or
 * text).
 */
export interface ContentPlace {
  readonly what: 'input' | 'output' | 'arguments' | 'result';
  readonly agent: string;
  /** Of `arguments` and `result`. */
  readonly tool?: string | undefined;
}
/** How contents are recorded. */
export interface ContentOptions {
  /**
   * Makes of each text the one that is recorded; `undefined` leaves it out, and so does throwing. Called once for each text, which has
   * passed its guardrails. Must answer at once.
   */
  readonly redact: (text: string, place: ContentPlace) => string | undefined;
  /** Longer texts are cut after redaction. UTF-16 units; default 8,000. */
  readonly maxChars?: number | undefined;
}
/** What {@link otel} takes. */
export interface OtelOptions {
  /** Default: the global one, also where it is registered later. */
  readonly tracerProvider?: TracerProvider | undefined;
  /** Default: the global one at the first event. */
  readonly meterProvider?: MeterProvider | undefined;
  /** Records what was said, with redaction. Default: nothing of it. */
  readonly contents?: ContentOptions | undefined;
  /**
   * Where a run hangs that is given no `traceparent`. `run`: in a trace of its own, made of its id, the same in every process, with a link
   * to the span that is active. `active`: under the span that is active where it is begun or resumed, if there is one. Default `run`.
   */
  readonly parent?: 'run' | 'active' | undefined;
  /** `gen_ai.provider.name`: one for all, or by the model's id. Default: as `telemetry.model` and the recorded answers tell. */
  readonly provider?: string | ((model: string) => string | undefined) | undefined;
  /**
   * A run of which nothing was heard for so long is let go, its open spans ended where it was last heard of. Milliseconds; default
   * 3,600,000.
   */
  readonly forgetAfterMs?: number | undefined;
}

/** The options, read and checked. */
export interface Settings {
  readonly tracerProvider: TracerProvider | undefined;
  readonly meterProvider: MeterProvider | undefined;
  readonly contents: { readonly redact: ContentOptions['redact']; readonly maxChars: number } | undefined;
  readonly parent: 'run' | 'active';
  readonly provider: (model: string) => string | undefined;
  readonly forgetAfterMs: number;
}

/** Throws CONFIG_INVALID. */
export function invalid(where: string, message: string): never {
  throw new GuardloopError('CONFIG_INVALID', `${where}: ${message}`);
}

type Given = Readonly<Record<string, unknown>>;

/** What was given, where it can be told in short: else its kind. */
const told = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : kindOf(value));
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : typeof value;
}

/** The fields of an options object, none but those that there are. Throws CONFIG_INVALID. */
export function fieldsOf(where: string, given: unknown, names: readonly string[]): Given {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    invalid(where, `the options are ${kindOf(given)}. Give an object with ${names.join(', ')}.`);
  for (const name of Object.keys(given))
    if (!names.includes(name)) invalid(where, `there is no option ${name}. ${suggest(name, names)}The options are ${names.join(', ')}.`);
  return given as Given;
}

const hasFunction = (given: unknown, name: string): boolean =>
  typeof given === 'object' && given !== null && typeof (given as Given)[name] === 'function';

function readProvider(where: string, value: unknown): Settings['provider'] {
  if (value === undefined) return () => undefined;
  if (typeof value === 'function') return value as Settings['provider'];
  if (typeof value !== 'string' || value === '')
    invalid(
      where,
      `provider is ${value === '' ? 'an empty text' : typeof value}. Give a name such as 'openai', or a function of the model's id.`,
    );
  return () => value;
}

function readContents(where: string, value: unknown): Settings['contents'] {
  if (value === undefined) return undefined;
  const { redact, maxChars = 8_000 } = fieldsOf(`${where}, contents`, value, ['redact', 'maxChars']);
  if (typeof redact !== 'function')
    invalid(
      where,
      `contents.redact is ${typeof redact}. Contents are recorded through a redaction only: give a function from text to text.`,
    );
  return { redact: redact as ContentOptions['redact'], maxChars: readCount(where, 'contents.maxChars', maxChars) };
}

function readCount(where: string, name: string, value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 1) invalid(where, `${name} is ${told(value)}. Give a whole number from 1 on.`);
  return value as number;
}

/** Throws CONFIG_INVALID. */
export function readOptions(given: unknown): Settings {
  const where = 'otel(…)';
  const names = ['tracerProvider', 'meterProvider', 'contents', 'parent', 'provider', 'forgetAfterMs'];
  const { tracerProvider, meterProvider, contents, parent = 'run', provider, forgetAfterMs = 3_600_000 } = fieldsOf(where, given, names);
  if (tracerProvider !== undefined && !hasFunction(tracerProvider, 'getTracer'))
    invalid(where, 'tracerProvider has no getTracer. Give a TracerProvider of OpenTelemetry, or leave it out for the global one.');
  if (meterProvider !== undefined && !hasFunction(meterProvider, 'getMeter'))
    invalid(where, 'meterProvider has no getMeter. Give a MeterProvider of OpenTelemetry, or leave it out for the global one.');
  if (parent !== 'run' && parent !== 'active') invalid(where, `parent is ${told(parent)}. Give 'run' or 'active'.`);
  return {
    tracerProvider: tracerProvider as TracerProvider | undefined,
    meterProvider: meterProvider as MeterProvider | undefined,
    contents: readContents(where, contents),
    parent,
    provider: readProvider(where, provider),
    forgetAfterMs: readCount(where, 'forgetAfterMs', forgetAfterMs),
  };
}
