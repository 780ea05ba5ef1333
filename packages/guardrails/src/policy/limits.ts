import type { RunCall } from '@guardloop/core';
import type { PolicyCall } from './decide.js';
import { readDuration } from './duration.js';
import type { Place } from './fault.js';
import { at, choiceAt, entriesOf, fault, numberAt, told } from './fault.js';
import type { FieldPath } from './field-path.js';
import { readPath, valueAt } from './field-path.js';
import type { LimitEntry } from './limit-store.js';
import type { OverAction } from './types.js';

const overs = ['deny', 'ask', 'halt', 'next'] as const satisfies readonly OverAction[];

/** How often, or how much, the tools of a rule may be called. */
export interface Limit {
  /** `rules[0].limit`. */
  readonly path: string;
  /** Of a limit over time: where it is counted. */
  readonly key: string;
  /** Undefined: calls are counted. */
  readonly field: FieldPath | undefined;
  readonly atMost: number;
  /** Undefined: in a run. */
  readonly windowMs: number | undefined;
  readonly per: string;
  readonly by: FieldPath | undefined;
  readonly over: OverAction;
}

/** What a limit comes to for a call. `entry`: it is to be counted over time. */
export type Measured =
  | { readonly kind: 'within' }
  | { readonly kind: 'over'; readonly why: 'reached' | 'uncounted' | 'unknown' }
  | { readonly kind: 'entry'; readonly entry: LimitEntry };

interface Reading {
  readonly place: Place;
  /** Of the rule, in keys. */
  readonly key: string;
  readonly hasContext: boolean;
}

/** One, or a list of them. Throws CONFIG_INVALID. */
export function readLimits(given: unknown, kind: 'limit' | 'spend', reading: Reading): readonly Limit[] {
  if (given === undefined) return [];
  const { place } = reading;
  if (!Array.isArray(given)) return [readLimit(given, kind, { ...reading, key: `${reading.key}/${kind}` })];
  return (given as readonly unknown[]).map((each, index) =>
    readLimit(each, kind, { ...reading, place: at(place, index), key: `${reading.key}/${kind}/${index}` }),
  );
}

function readLimit(given: unknown, kind: 'limit' | 'spend', { place, key, hasContext }: Reading): Limit {
  const own = kind === 'limit' ? ['calls'] : ['field', 'atMost'];
  const entries = entriesOf(given, { place, names: [...own, 'per', 'over', 'by'], what: `part of a ${kind}` });
  const name = kind === 'limit' ? 'calls' : 'atMost';
  const atMost = numberAt(entries.get(name), at(place, name));
  if (atMost < 0 || (kind === 'limit' && !Number.isInteger(atMost)))
    fault(at(place, name), `${told(atMost)} is no ${kind === 'limit' ? 'whole ' : ''}number from 0.`);
  const per = entries.get('per');
  const windowMs = per === 'run' ? undefined : readDuration(per, at(place, 'per'));
  const by = entries.has('by') ? readPath(entries.get('by'), at(place, 'by'), false) : undefined;
  if (by && windowMs === undefined)
    fault(at(place, 'by'), 'a limit of one run is counted in that run alone. Leave `by` out, or give a duration as `per`.');
  if (by && !hasContext)
    fault(at(place, 'by'), 'there is no context here. Give `policyFrom` the option `context`: a function that picks what rules may see.');
  return {
    path: place.path,
    key,
    field: kind === 'spend' ? readPath(entries.get('field'), at(place, 'field'), false) : undefined,
    atMost,
    windowMs,
    per: String(per),
    by,
    over: entries.has('over') ? choiceAt(entries.get('over'), at(place, 'over'), overs) : 'deny',
  };
}

/** An amount that can be counted: a number of 0 or more. */
const countable = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;

/** What a limit comes to for a call of a tool that the rule is about. `raw`: its arguments as the log will hold them. */
export function measure(
  limit: Limit,
  call: PolicyCall & { readonly raw: unknown; readonly calls: readonly RunCall[] },
  { isAbout }: { isAbout(tool: string): boolean },
): Measured {
  const { field, atMost, windowMs } = limit;
  let own: number | undefined = 1;
  if (field) {
    own = countable(valueAt(call.input, field));
    // In a run the earlier ones are known as they were recorded: this one will be too.
    if (windowMs === undefined && own !== countable(valueAt(call.raw, field))) own = undefined;
    if (own === undefined) return { kind: 'over', why: 'uncounted' };
  }
  if (windowMs !== undefined) {
    const key = keyOf(limit, call);
    return key === undefined ? { kind: 'over', why: 'unknown' } : { kind: 'entry', entry: { key, amount: own, atMost, windowMs } };
  }
  let sum = own;
  for (const { tool, input } of call.calls) {
    if (!isAbout(tool)) continue;
    const amount = field ? countable(valueAt(input, field)) : 1;
    if (amount === undefined) return { kind: 'over', why: 'uncounted' };
    sum += amount;
  }
  return sum <= atMost ? { kind: 'within' } : { kind: 'over', why: 'reached' };
}

/** Undefined: it is not known by whom it is to be counted. */
function keyOf({ key, by }: Limit, { context }: PolicyCall): string | undefined {
  if (by === undefined) return key;
  const value = valueAt(context, by);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? `${key}/${JSON.stringify(value)}`
    : undefined;
}

const spans = ({ per, by }: Limit): string => `${per === 'run' ? 'in one run' : `in ${per}`}${by ? ` for one context.${by.text}` : ''}`;

/** What a limit wants: `at most 3 calls in one run`. */
export const limitWords = (limit: Limit): string =>
  limit.field
    ? `at most ${limit.atMost} of \`${limit.field.text}\` ${spans(limit)}`
    : `at most ${limit.atMost} ${limit.atMost === 1 ? 'call' : 'calls'} ${spans(limit)}`;

/** Why a limit refuses. */
export function overWords(limit: Limit, why: 'reached' | 'uncounted' | 'unknown'): string {
  if (why === 'uncounted')
    return `\`${limit.field?.text}\` of this call or of an earlier one is no number of 0 or more, so it cannot be counted`;
  if (why === 'unknown') return `context.${limit.by?.text} is missing, so it is not known for whom it counts`;
  return `there may be ${limitWords(limit)}`;
}
