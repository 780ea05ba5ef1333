import type { Guardrail, InputSubject, Span, Subject, Surface, Verdict } from '@guardloop/core';
import { allow, ask, defineGuardrail, deny, halt, rewrite } from '@guardloop/core';
import { checkOptionNames, optionFault, suggest } from '@guardloop/core/model';
import type { FindInText, TextFinding, TextPlace } from './finding.js';
import { apart } from './finding.js';
import { jsonStrings } from './json-strings.js';

/** What a text guardrail does with what it has found: put a placeholder in its place, or refuse as the verdict of that name does. */
export type TextAction = 'redact' | 'ask' | 'deny' | 'halt';

/** Options that all text guardrails have. */
export interface TextGuardrailOptions<S extends Surface = Surface> {
  /** Stands in the log. Default: the kind of guardrail, such as `secrets`. */
  readonly name?: string | undefined;
  /** Default: all five surfaces, unless the guardrail says otherwise. */
  readonly on?: readonly S[] | undefined;
  /** What it does with what it finds, on all surfaces or by surface. `ask` is for `toolInput`, `handoff` and `output` only. */
  readonly then?: TextAction | { readonly [K in S]?: TextAction } | undefined;
  /** Put in the place of what is redacted: a text, or what makes it. Default `[kind]`, for example `[email]`. */
  readonly placeholder?: string | ((finding: TextFinding, value: string) => string) | undefined;
  /** What the person is told where it refuses. Default: the agent's `refusal`. */
  readonly reply?: string | undefined;
  /** Names or patterns of the tools it looks at. Default: all. */
  readonly tools?: readonly string[] | undefined;
  readonly version?: string | undefined;
  /** Milliseconds. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  readonly onError?: 'deny' | 'halt' | 'allow' | undefined;
  /** Its answers are logged, not obeyed. Default false. */
  readonly shadow?: boolean | undefined;
}

/** What makes one kind of text guardrail. */
export interface TextGuardrailKind {
  /** Default of `name`, and the opening of its reasons: `secrets`. */
  readonly name: string;
  readonly find: FindInText;
  readonly on?: readonly Surface[] | undefined;
  /** Default of `then`. */
  readonly then: TextAction | { readonly [K in Surface]?: TextAction };
  /**
   * Characters: no finding is longer, and none depends on more text than this on either side. With it, and where it redacts on every
   * surface, answers flow through it instead of waiting for their end. Left out: it needs the whole text.
   */
  readonly window?: number | undefined;
  /** All kinds that `find` may give. Left out: any. */
  readonly kinds?: readonly string[] | undefined;
  /** Names of the options that this kind has beside the common ones. */
  readonly options?: readonly string[] | undefined;
}

/** The names of {@link TextGuardrailOptions}. */
export const textOptionNames = [
  'name',
  'on',
  'then',
  'placeholder',
  'reply',
  'tools',
  'version',
  'timeoutMs',
  'onError',
  'shadow',
] as const satisfies readonly (keyof TextGuardrailOptions)[];

const surfaces = ['input', 'toolInput', 'toolOutput', 'handoff', 'output'] as const satisfies readonly Surface[];
const actions = ['redact', 'ask', 'deny', 'halt'] as const satisfies readonly TextAction[];
const askable: readonly Surface[] = ['toolInput', 'handoff', 'output'];
const places = {
  input: 'the input',
  toolInput: "a tool's input",
  toolOutput: "a tool's result",
  handoff: 'a handoff',
  output: 'the answer',
} as const satisfies Record<Surface, string>;

/**
 * Makes a guardrail of a function that finds things in text: it looks at every text that crosses, in structured values at each string, field
 * name and number, and redacts or refuses. Of an answer that flows, only where `kind.window` is true of it. Throws CONFIG_INVALID.
 */
export function textGuardrail<const S extends Surface = Surface>(
  kind: TextGuardrailKind,
  options: TextGuardrailOptions<S> = {},
): Guardrail<unknown, S> {
  checkKind(kind);
  const where = `${kind.name}(…)`;
  checkOptionNames(where, options, Object.fromEntries([...textOptionNames, ...(kind.options ?? [])].map((name) => [name, true as const])));
  const on = (options.on ?? kind.on ?? surfaces) as readonly S[];
  const then = readThen(where, on, { given: options.then, fallback: kind.then });
  const judge: Judge = { kind, then, placeholder: readPlaceholder(where, options.placeholder), reply: options.reply };
  const isRedacting = on.every((surface) => then(surface) === 'redact');
  const isRefusing = on.every((surface) => then(surface) !== 'redact');
  const look = { rewrite: (subject: Subject) => redact(judge, subject), check: (subject: Subject) => refuse(judge, subject) };
  const definition = {
    ...(isRefusing ? {} : { rewrite: look.rewrite }),
    ...(isRedacting ? {} : { check: look.check }),
    ...(isRedacting && kind.window !== undefined && (on as readonly Surface[]).includes('output') ? { window: kind.window } : {}),
    name: options.name ?? kind.name,
    on,
    version: options.version,
    timeoutMs: options.timeoutMs,
    onError: options.onError,
    shadow: options.shadow,
    ...(options.tools === undefined ? {} : { tools: options.tools }),
  };
  // Whether it has `window`, `rewrite` and `check` is known only now: the definition is checked by core, not by the compiler.
  const made = defineGuardrail(definition as unknown as Parameters<typeof defineGuardrail<S>>[0]) as Guardrail<unknown, S>;
  kinds.set(made, kind);
  return made;
}

const kindNames = { name: true, find: true, kinds: true, on: true, then: true, window: true, options: true } as const;

/** A kind that finds nothing, or is misspelt, would guard nothing. */
function checkKind(kind: unknown): void {
  const where = 'textGuardrail(…)';
  if (typeof kind !== 'object' || kind === null)
    throw optionFault(where, "it was given no kind. Give what it is: { name: 'ids', find, then: 'redact' }.");
  checkOptionNames(where, kind, kindNames);
  const { name, find, then } = kind as { readonly [K in keyof TextGuardrailKind]?: unknown };
  if (typeof name !== 'string' || name === '') throw optionFault(where, 'name is no text. Give one, which stands in its reasons.');
  if (typeof find !== 'function')
    throw optionFault(where, 'find is no function. Give (text) => […], which answers at once with { start, end, kind } of each finding.');
  const answers: readonly unknown[] = typeof then === 'object' && then !== null ? Object.values(then) : [then];
  for (const answer of answers) if (!(actions as readonly unknown[]).includes(answer)) throw badAction(where, answer);
}

const kinds = new WeakMap<object, TextGuardrailKind>();

/** What a text guardrail finds and how, for another guardrail that does something else with it; undefined for any other guardrail. */
export function kindBehind(guardrail: unknown): TextGuardrailKind | undefined {
  return typeof guardrail === 'object' && guardrail !== null ? kinds.get(guardrail) : undefined;
}

interface Judge {
  readonly kind: TextGuardrailKind;
  then(surface: Surface): TextAction;
  placeholder(finding: TextFinding, value: string): string;
  readonly reply: string | undefined;
}

/** A finding in the `content` of a subject. */
interface Found extends Span {
  readonly kind: string;
}

function redact(judge: Judge, subject: Subject): Verdict<'input'> | ReturnType<typeof rewrite<readonly Span[]>> {
  if (judge.then(subject.surface) !== 'redact') return allow();
  const found = findAll(judge, subject);
  return found.length === 0 ? allow() : rewrite(found, `${kindsOf(found)} in ${places[subject.surface]} was redacted`);
}

function refuse(judge: Judge, subject: Subject): Verdict | Verdict<'output'> {
  const action = judge.then(subject.surface);
  if (action === 'redact') return allow();
  const found = findAll(judge, subject);
  if (found.length === 0) return allow();
  const reason = `${judge.kind.name}: ${kindsOf(found)} stood in ${places[subject.surface]}`;
  if (action === 'ask') return ask(reason);
  const { reply } = judge;
  return action === 'deny' ? deny(reason, { reply }) : halt(reason, { reply });
}

function kindsOf(found: readonly Found[]): string {
  return [...new Set(found.map(({ kind }) => kind))].slice(0, 5).join(', ');
}

/** Findings as spans of the subject's content. */
function findAll(judge: Judge, subject: Subject): readonly Found[] {
  const { surface, content } = subject;
  if (isJson(subject)) return apart(jsonStrings(content).flatMap((string) => findInJson(judge, surface, string)));
  // A check on input is asked once for all items, whose texts are looked at one by one: nothing is found over the seam of two.
  const texts = surface === 'input' ? (subject as InputSubject).items.map(({ text }) => text) : [content];
  return texts.flatMap((text) =>
    findIn(judge, text, { surface }).map((finding) => spanOf(judge, finding, text.slice(finding.start, finding.end))),
  );
}

/** Throws for what is no finding, which refuses: a text that nobody has looked at well does not cross. */
function findIn({ kind }: Judge, text: string, place: TextPlace): readonly TextFinding[] {
  const found: unknown = kind.find(text, place);
  if (!Array.isArray(found)) throw new TypeError(`find of ${kind.name} gave no list`);
  for (const finding of found as readonly unknown[])
    if (!isFinding(finding, text)) throw new TypeError(`find of ${kind.name} gave no { start, end, kind } within the text`);
  return apart(found as readonly TextFinding[]);
}

function isFinding(given: unknown, text: string): boolean {
  const { start, end, kind } = (typeof given === 'object' && given !== null ? given : {}) as Partial<TextFinding>;
  if (typeof kind !== 'string' || kind === '') return false;
  return (
    Number.isInteger(start) &&
    Number.isInteger(end) &&
    (start as number) >= 0 &&
    (start as number) <= (end as number) &&
    (end as number) <= text.length
  );
}

function findInJson(judge: Judge, surface: Surface, string: ReturnType<typeof jsonStrings>[number]): readonly Found[] {
  const { text, key, isNumber } = string;
  return findIn(judge, text, { surface, key }).map((finding) => {
    if (isNumber) {
      // Half a number cannot be replaced: the whole goes.
      const { with: words, kind } = spanOf(judge, finding, text);
      return { start: string.offset(0), end: string.offset(text.length), with: JSON.stringify(words), kind };
    }
    const span = spanOf(judge, finding, text.slice(finding.start, finding.end));
    return {
      start: string.offset(finding.start),
      end: string.offset(finding.end),
      with: JSON.stringify(span.with).slice(1, -1),
      kind: span.kind,
    };
  });
}

function spanOf(judge: Judge, finding: TextFinding, value: string): Found {
  const { start, end, kind } = finding;
  return { start, end, with: finding.with ?? judge.placeholder(finding, value), kind };
}

/** Whether `content` is the JSON of what crosses, and not a text. */
export function isJson(subject: Subject): boolean {
  if (subject.surface === 'toolInput') return true;
  // Of a result of parts it is their text.
  if (subject.surface === 'toolOutput') return subject.output !== subject.content && isParsable(subject.content);
  return subject.surface === 'output' && subject.kind === 'answer' && subject.value !== subject.content;
}

function isParsable(content: string): boolean {
  try {
    JSON.parse(content);
    return true;
  } catch {
    return false;
  }
}

function readThen(
  where: string,
  on: readonly Surface[],
  { given, fallback }: { readonly given: TextGuardrailOptions['then']; readonly fallback: TextGuardrailKind['then'] },
): (surface: Surface) => TextAction {
  const bySurface = (value: typeof fallback | undefined): { readonly [K in Surface]?: TextAction } =>
    typeof value === 'object' && value !== null ? value : {};
  for (const one of [given, fallback]) if (typeof one === 'string' && !actions.includes(one)) throw badAction(where, one);
  if (given !== undefined && typeof given !== 'string' && typeof given !== 'object') throw badAction(where, given);
  for (const [surface, action] of Object.entries(bySurface(given))) {
    if (!(on as readonly string[]).includes(surface))
      throw optionFault(where, `then names ${surface}, which is no surface that it stands on: ${on.join(', ')}.`);
    if (action !== undefined && !actions.includes(action)) throw badAction(where, action);
  }
  const table = new Map<Surface, TextAction>();
  for (const surface of on) {
    const action =
      bySurface(given)[surface] ??
      (typeof given === 'string' ? given : undefined) ??
      bySurface(fallback)[surface] ??
      (typeof fallback === 'string' ? fallback : 'deny');
    if (action === 'ask' && !askable.includes(surface))
      throw optionFault(where, `then is 'ask' on ${surface}, where nobody can be asked. Give another there: then: { ${surface}: 'deny' }.`);
    table.set(surface, action);
  }
  return (surface) => table.get(surface) ?? 'deny';
}

function badAction(where: string, given: unknown): Error {
  const hint = typeof given === 'string' ? suggest(given, actions) : '';
  return optionFault(where, `then is none of ${actions.join(', ')}. ${hint}Give one, or an object with one for each surface.`);
}

function readPlaceholder(where: string, given: unknown): Judge['placeholder'] {
  if (given === undefined) return ({ kind }) => `[${kind}]`;
  if (typeof given === 'string') return () => given;
  if (typeof given === 'function') {
    return (finding, value) => {
      const made: unknown = (given as (finding: TextFinding, value: string) => unknown)(finding, value);
      if (typeof made !== 'string') throw new TypeError('a placeholder is no text');
      return made;
    };
  }
  throw optionFault(where, 'placeholder is neither a text nor a function. Give one of them, or leave it out.');
}
