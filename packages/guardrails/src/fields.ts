import type { Guardrail, Subject, Surface } from '@guardloop/core';
import { optionFault } from '@guardloop/core/model';
import type { FieldAt, FieldPathOf } from './field-paths.js';
import type { Place } from './policy/fault.js';
import { at, entriesOf, fault, flagAt, isPlainObject, meant, textAt } from './policy/fault.js';
import type { FieldPath } from './policy/field-path.js';
import { parsePath, placesAt } from './policy/field-path.js';
import type { FieldTest } from './policy/field-tests.js';
import { fieldTestNames, readFieldTests } from './policy/field-tests.js';
import type { Tests } from './policy/types.js';
import type { RefusingOptions } from './refusing-guardrail.js';
import { checkRefusingOptions, refusingGuardrail } from './refusing-guardrail.js';
import { jsonSchemaOf, misplacedIn } from './schema-paths.js';
import type { FindInText } from './text/finding.js';

type Written<T> = Exclude<T, { readonly context: string } | { readonly field: string }>;
/** Tests of a policy's conditions, with values that are written down. */
type WrittenTests = { readonly [K in Exclude<keyof Tests, 'present'>]?: Written<Tests[K]> };
/** What is asked of one field. All that is written must hold of every value at its path. */
export interface FieldRule<V = unknown, T = unknown> extends WrittenTests {
  /** Whether it may be missing or null. Default false: then that is refused too. */
  readonly optional?: boolean | undefined;
  /** What a text guardrail finds (`findSecrets`, for example) is refused; reasons name its kinds. In a list or object, each text in it. */
  readonly find?: FindInText | readonly FindInText[] | undefined;
  /** Whether the value may cross, told the whole too. Answers at once; anything but true refuses, and what it throws is a failure. */
  readonly check?: ((value: V, whole: T) => boolean) | undefined;
  /** What `check` wants, in words that follow `must be`: `a date to come`. Holds no outside value. Default: `as its check wants it`. */
  readonly expects?: string | undefined;
}
/** What is asked of several fields together. */
export interface WholeRule<T = unknown> {
  /** Which fields it is about, for reasons. */
  readonly fields: readonly FieldPathOf<T>[];
  /** A sentence about how it should be: `from is before to`. Holds no outside value. */
  readonly expects: string;
  /** Answers at once; anything but true refuses, and what it throws is a failure. */
  readonly check: (whole: T) => boolean;
}
type FieldSurface = 'output' | 'toolInput' | 'toolOutput';
/** Options of {@link checkFields}. */
export interface CheckFieldsOptions<T = unknown, S extends FieldSurface = FieldSurface> extends Omit<RefusingOptions<S>, 'beside'> {
  /** Default `['output']`. */
  readonly on?: readonly S[] | undefined;
  /**
   * What crosses must fit it, and functions get what it makes of it. It must validate at once. Zod, or any Standard Schema. Default: values are
   * looked at as they are.
   */
  readonly schema?: FieldSchema<T> | undefined;
  /** By path: `total`, `customer.email`, `orders[].total` for every entry of a list. */
  readonly fields?: FieldRules<T> | undefined;
  /** Asked where the fields by themselves are right. */
  readonly together?: readonly WholeRule<T>[] | undefined;
}
/** Rules by path. A conditional type, so that the compiler knows the schema's type where it looks at what stands here. */
export type FieldRules<T> = [T] extends [infer W] ? { readonly [P in FieldPathOf<W>]?: FieldRule<FieldAt<W, P>, W> | undefined } : never;
/** The part of Standard Schema that is used. */
export interface FieldSchema<T> {
  readonly '~standard': {
    readonly validate: (value: unknown) => unknown;
    readonly types?: { readonly output: T } | undefined;
  };
}

const ownNames = ['schema', 'fields', 'together'] as const;
const ruleNames = [...fieldTestNames, 'optional', 'find', 'check', 'expects'];
const surfaces: readonly Surface[] = ['output', 'toolInput', 'toolOutput'];

interface ReadRule {
  readonly path: FieldPath;
  readonly tests: readonly FieldTest[];
  readonly isOptional: boolean;
  readonly find: readonly FindInText[];
  readonly check: ((value: never, whole: never) => unknown) | undefined;
  readonly expects: string;
}
interface ReadTogether {
  readonly fields: readonly string[];
  readonly expects: string;
  readonly check: (whole: never) => unknown;
}
interface Checks {
  readonly validate: ((value: unknown) => unknown) | undefined;
  readonly rules: readonly ReadRule[];
  readonly together: readonly ReadTogether[];
}

/**
 * A guardrail on structured values: the final answer of an agent with `output`, what a tool is given, and what it gave. It refuses with the
 * fields and what was expected of them, up to five at once and never their values, so that the model can mend all of them. Text beside calls,
 * reasoning, a tool's error words, its details and projections are not looked at; a final answer that is text, where fields are expected, is
 * refused. Throws CONFIG_INVALID.
 */
export function checkFields<T = unknown, const S extends FieldSurface = 'output'>(
  options: CheckFieldsOptions<T, S>,
): Guardrail<unknown, S> {
  const kind = { name: 'fields', on: ['output'] as const, options: ownNames, without: ['beside'] };
  const where = 'fields(…)';
  checkRefusingOptions(kind, options);
  const misplaced = options.on?.find((surface) => !surfaces.includes(surface));
  if (misplaced !== undefined)
    throw optionFault(where, `on names ${String(misplaced)}, where nothing has fields. Give ${surfaces.join(', ')}.`);
  const checks = readChecks(options as CheckFieldsOptions);
  if (checks.validate === undefined && checks.rules.length + checks.together.length === 0)
    throw optionFault(where, 'it has neither schema nor fields nor together: it would look at nothing.');
  return refusingGuardrail<unknown, S>({ ...kind, reason: (subject) => refusalOf(checks, subject) }, options);
}

function readChecks({ schema, fields, together }: CheckFieldsOptions): Checks {
  const place: Place = { policy: 'fields(…)', path: '' };
  const validate = schema?.['~standard']?.validate as Checks['validate'];
  if (schema !== undefined && typeof validate !== 'function')
    fault(at(place, 'schema'), 'this is no Standard Schema. Give one of zod, or of another library that has `~standard`.');
  if (fields !== undefined && !isPlainObject(fields))
    fault(at(place, 'fields'), 'this is no object. Give rules by path: { total: { atMost: 1000 } }.');
  if (fields !== undefined && Object.values(fields).every((rule) => rule === undefined))
    fault(at(place, 'fields'), 'it has no rule. Give some by path: { total: { atMost: 1000 } }, or leave it out.');
  if (together !== undefined && !Array.isArray(together)) fault(at(place, 'together'), 'this is no list.');
  const read = {
    validate,
    rules: Object.entries(fields ?? {}).flatMap(([path, rule]) =>
      rule === undefined ? [] : [readRule(path, rule, { policy: place.policy, path: `fields[${JSON.stringify(path)}]` })],
    ),
    together: (together ?? []).map((each, index) => readTogether(each, at(at(place, 'together'), index))),
  };
  const json = schema === undefined ? undefined : jsonSchemaOf(schema);
  if (json !== undefined) {
    for (const { path } of read.rules) refuseUnknown(json, path, { policy: place.policy, path: `fields[${JSON.stringify(path.text)}]` });
    for (const [index, rule] of read.together.entries())
      for (const text of rule.fields) refuseUnknown(json, parsePath(text), at(at(at(place, 'together'), index), 'fields'));
  }
  return read;
}

/** A rule about what the schema has not would be about nothing, or refuse everything. */
function refuseUnknown(json: object, path: FieldPath | undefined, place: Place): void {
  const misplaced = path && misplacedIn(json, path);
  if (path === undefined || misplaced === undefined) return;
  const { step, names } = misplaced;
  if (step === 'each' || 'index' in step) fault(place, `${path.text} goes into a list where the schema has none.`);
  const known = names.length === 0 ? 'There are no fields there.' : `Its fields are ${names.slice(0, 20).join(', ')}.`;
  fault(place, `${path.text} is no field of the schema, which has no ${step.key} there${meant(step.key, names) || `. ${known}`}`);
}

function readRule(text: string, given: unknown, place: Place): ReadRule {
  const path = parsePath(text);
  if (path === undefined) fault(place, 'this is no path. Give one such as total, customer.email, or orders[].total.');
  const entries = entriesOf(given, { place, names: ruleNames, what: 'part of a field rule' });
  const tests = readFieldTests(entries, place);
  const finders = entries.get('find');
  const find: readonly unknown[] = finders === undefined ? [] : Array.isArray(finders) ? finders : [finders];
  if (find.some((each) => typeof each !== 'function'))
    fault(at(place, 'find'), 'give a function that finds things in a text, or a list of them.');
  const check = entries.get('check');
  if (check !== undefined && typeof check !== 'function') fault(at(place, 'check'), 'give a function that answers true or false.');
  if (entries.has('expects') && check === undefined) fault(at(place, 'expects'), 'it says what `check` wants, and there is none.');
  if (tests.length === 0 && find.length === 0 && check === undefined && entries.get('optional') === true)
    fault(place, 'nothing is asked of it: it may be missing, and may be anything.');
  return {
    path,
    tests,
    isOptional: entries.has('optional') && flagAt(entries.get('optional'), at(place, 'optional')),
    find: find as readonly FindInText[],
    check: check as ReadRule['check'],
    expects: entries.has('expects') ? textAt(entries.get('expects'), at(place, 'expects')) : 'as its check wants it',
  };
}

function readTogether(given: unknown, place: Place): ReadTogether {
  const entries = entriesOf(given, { place, names: ['fields', 'expects', 'check'], what: 'part of a rule' });
  const fields = entries.get('fields');
  if (!Array.isArray(fields) || fields.length === 0 || fields.some((each) => typeof each !== 'string' || parsePath(each) === undefined))
    fault(at(place, 'fields'), 'give the paths of the fields that it is about.');
  const check = entries.get('check');
  if (typeof check !== 'function') fault(at(place, 'check'), 'give a function that answers true or false.');
  return {
    fields: fields as readonly string[],
    expects: textAt(entries.get('expects'), at(place, 'expects')),
    check: check as ReadTogether['check'],
  };
}

const mostNamed = 5;

function refusalOf({ validate, rules, together }: Checks, subject: Subject): string | undefined {
  const looked = lookedAt(subject);
  if (looked === undefined) return undefined;
  const fitted = validate === undefined ? { value: looked.value } : fit(validate, looked.value);
  if ('faults' in fitted) return said(fitted.faults);
  const { value } = fitted;
  const faults = rules.flatMap((rule) => faultsOf(rule, value, subject.surface));
  if (faults.length > 0) return said(faults);
  return said(
    together.flatMap(({ fields, expects, check }) =>
      check(value as never) === true ? [] : [`${fields.map((field) => `\`${field}\``).join(', ')}: ${expects}`],
    ),
  );
}

function said(faults: readonly string[]): string | undefined {
  if (faults.length === 0) return undefined;
  const shown = [...new Set(faults)];
  return `${shown.slice(0, mostNamed).join('; ')}${shown.length > mostNamed ? `; and ${shown.length - mostNamed} more` : ''}`;
}

/** What is looked at; undefined: nothing here has fields. */
function lookedAt(subject: Subject): { readonly value: unknown } | undefined {
  switch (subject.surface) {
    case 'output':
      return subject.final && subject.kind === 'answer' ? { value: subject.value } : undefined;
    case 'toolInput':
      return { value: subject.input };
    case 'toolOutput':
      return subject.form === 'output' && !subject.isError ? { value: subject.output } : undefined;
    default:
      return undefined;
  }
}

/** What a schema makes of a value, or where it does not fit. Throws where it validates later. */
function fit(validate: (value: unknown) => unknown, value: unknown): { readonly value: unknown } | { readonly faults: readonly string[] } {
  const given = validate(value);
  if (!isObject(given) || typeof given.then === 'function') throw new TypeError('the schema does not validate at once');
  if (!Array.isArray(given.issues)) return { value: given.value };
  return { faults: (given.issues as readonly unknown[]).map(issueWords) };
}

const isObject = (value: unknown): value is { readonly [key: string]: unknown } => typeof value === 'object' && value !== null;

/** Where an issue is, and the type that was expected. Its message may quote what was given, and names of fields may be outside text. */
function issueWords(issue: unknown): string {
  const { path, expected } = isObject(issue) ? issue : { path: undefined, expected: undefined };
  let text = '';
  for (const step of Array.isArray(path) ? (path as readonly unknown[]) : []) {
    const key = isObject(step) ? step.key : step;
    if (typeof key === 'number') text += `[${key}]`;
    else text += `${text === '' ? '' : '.'}${typeof key === 'string' && /^[\w-]{1,40}$/.test(key) ? key : '*'}`;
  }
  const where = text === '' ? 'the whole' : `\`${text}\``;
  return typeof expected === 'string' && /^[a-z]{1,20}$/.test(expected)
    ? `${where} must be of type ${expected}`
    : `${where} does not fit the schema`;
}

function faultsOf(rule: ReadRule, whole: unknown, surface: Surface): readonly string[] {
  const places = placesAt(whole, rule.path);
  if (places === undefined) return rule.isOptional ? [] : [`\`${rule.path.text}\` must be a list`];
  return places.flatMap(({ path, value }) => faultsOfValue(rule, { path, value, whole, surface }).map((words) => `\`${path}\` ${words}`));
}

function faultsOfValue(
  { tests, isOptional, find, check, expects }: ReadRule,
  { path, value, whole, surface }: { readonly path: string; readonly value: unknown; readonly whole: unknown; readonly surface: Surface },
): readonly string[] {
  if (value === undefined || value === null) return isOptional ? [] : ['is missing'];
  const faults = tests.filter((test) => test.decide(value) !== true).map((test) => `must be ${test.expects}`);
  const kinds = new Set(
    find.flatMap((each) => textsIn(value).flatMap((text) => each(text, { surface, key: path }).map(({ kind }) => kind))),
  );
  if (kinds.size > 0) faults.push(`must hold no ${[...kinds].slice(0, mostNamed).join(', ')}`);
  // What a function is given fits what was asked before it.
  if (check !== undefined && faults.length === 0 && check(value as never, whole as never) !== true) faults.push(`must be ${expects}`);
  return faults;
}

const mostTexts = 10_000;

/** The texts in a value, names of fields among them. */
function textsIn(root: unknown): readonly string[] {
  const texts: string[] = [];
  const waiting: unknown[] = [root];
  const add = (value: unknown): void => {
    if (value !== undefined && value !== null) waiting.push(value);
  };
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (texts.length + waiting.length > mostTexts) throw new RangeError('more texts than are looked at');
    if (typeof value === 'string') texts.push(value);
    else if (typeof value === 'number') texts.push(String(value));
    else if (Array.isArray(value)) for (const each of value as readonly unknown[]) add(each);
    else if (isObject(value)) {
      for (const [key, each] of Object.entries(value)) {
        add(key);
        add(each);
      }
    }
  }
  return texts;
}
