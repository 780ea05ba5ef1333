import { suggest } from '../errors.js';
import type { ErrorClass } from '../state/events.js';
import { DefinitionReader, describe, invalid } from './definition-reader.js';
import type { RetrySpec } from './specs.js';
import { errorClasses } from './tool-error.js';

const optionNames = ['attempts', 'backoffMs', 'maxBackoffMs', 'on'] as const;
type Reader = DefinitionReader<(typeof optionNames)[number]>;

const defaultClasses: ReadonlySet<ErrorClass> = new Set<ErrorClass>(['timeout', 'unavailable', 'rate_limited', 'failed']);
const defaultAttempts = 3;
const defaultBackoffMs = 200;
const defaultMaxBackoffMs = 5_000;

/** The `retry` of a tool. Throws CONFIG_INVALID, also where the tool may not run twice for one call. */
export function readToolRetry(
  given: unknown,
  { tool, repeatable, effect }: { readonly tool: string; readonly repeatable: boolean; readonly effect: string | undefined },
): RetrySpec | undefined {
  if (given === undefined) return undefined;
  if (!repeatable) {
    const why = effect === undefined ? 'does not say what it does to the world' : `has the effect ${effect}`;
    invalid(
      `Tool ${tool} has \`retry\`, but may not run twice for one call: it ${why} and is not repeatable. ` +
        'Where a second run changes nothing more (a read, or an effect that `idempotencyKey` makes only once), say so with ' +
        "`flow: { effect: 'read' }` or `repeatable: true`. Else leave `retry` out: the model or a person decides whether it is called again.",
    );
  }
  const reader: Reader = new DefinitionReader({ place: `\`retry\` of tool ${tool}` }, given, optionNames);
  return Object.freeze({
    attempts: readNumber(reader, 'attempts', { otherwise: defaultAttempts, least: 1, whole: true }),
    backoffMs: readNumber(reader, 'backoffMs', { otherwise: defaultBackoffMs, least: 0, whole: false }),
    maxBackoffMs: readNumber(reader, 'maxBackoffMs', { otherwise: defaultMaxBackoffMs, least: 0, whole: false }),
    on: reader.has('on') ? readClasses(reader.list('on'), tool) : defaultClasses,
  });
}

function readNumber(
  reader: Reader,
  name: 'attempts' | 'backoffMs' | 'maxBackoffMs',
  { otherwise, least, whole }: { readonly otherwise: number; readonly least: number; readonly whole: boolean },
): number {
  const value = reader.get(name);
  if (value === undefined) return otherwise;
  if (typeof value === 'number' && value >= least && (whole ? Number.isSafeInteger(value) : Number.isFinite(value))) return value;
  return reader.refuse(name, whole ? `Give a whole number from ${least}.` : `Give a number of milliseconds from ${least}.`);
}

function readClasses(list: readonly unknown[], tool: string): ReadonlySet<ErrorClass> {
  for (const each of list) {
    if ((errorClasses as readonly unknown[]).includes(each)) continue;
    const hint = typeof each === 'string' ? suggest(each, errorClasses) : '';
    invalid(
      `\`retry.on\` of tool ${tool} names ${describe(each)}, which is no class of failures. ${hint}The classes are ${errorClasses.join(', ')}.`,
    );
  }
  return new Set(list as readonly ErrorClass[]);
}
