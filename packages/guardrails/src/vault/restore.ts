import type { AroundInfo, Route, Tool } from '@guardloop/core';
import { aroundTool, toolError } from '@guardloop/core';
import { optionFault, suggest } from '@guardloop/core/model';
import type { Conversation } from './conversation.js';
import { isPlain } from './is-plain.js';
import type { PlaceholderLike } from './placeholders.js';
import { placeholdersLike } from './placeholders.js';
import { argumentsOf } from './tool-arguments.js';

/** Names of a tool's arguments; any text where the type of its input is not known. */
export type FieldOf<I> = unknown extends I ? string : I extends object ? keyof I & string : string;

/** Options of a vault's `restore`. */
export interface RestoreOptions<F extends string = string> {
  /**
   * Arguments in which placeholders become values, all that is inside them included: a list, or for each the kinds that it takes (`email`, as
   * the finders name them). In all others placeholders stay.
   */
  readonly fields: readonly F[] | { readonly [K in F]?: string | readonly string[] };
}

interface Restoring<C> {
  conversationOf(info: { readonly context: C; readonly run: string }): Promise<Conversation>;
  /** Where nothing is to be waited for. */
  readyConversation(info: { readonly context: C; readonly run: string }): Conversation | undefined;
  hide(conversation: Conversation, text: string): string | Promise<string>;
  /** Kinds of values that there can be; undefined: not known. */
  readonly kinds: ReadonlySet<string> | undefined;
}

/** `undefined`: all kinds. */
export type Fields = ReadonlyMap<string, ReadonlySet<string> | undefined>;

/** A tool of the same type that is given values for placeholders, and whose results have placeholders for values; and the fields that it restores. */
export function restoring<K, C, N extends string, I, A extends Route>(
  by: Restoring<K>,
  tool: Tool<C, N, I, A>,
  options: RestoreOptions,
): { readonly made: Tool<C & K, N, I, A>; readonly fields: Fields } {
  const where = `vault.restore(${typeof tool?.name === 'string' ? tool.name : '…'})`;
  const fields = readFields(where, options);
  const made = aroundTool<C, N, I, A, K>(tool, {
    input: async (input, info: AroundInfo<K>) => restoreFields(await by.conversationOf(info), input, fields),
    text: (text, info: AroundInfo<K>) => {
      const ready = by.readyConversation(info);
      return ready === undefined ? by.conversationOf(info).then((conversation) => by.hide(conversation, text)) : by.hide(ready, text);
    },
  });
  checkFields(where, fields, { names: argumentsOf(tool), kinds: by.kinds });
  return { made, fields };
}

function checkFields(
  where: string,
  fields: Fields,
  { names, kinds: known }: { readonly names: readonly string[] | undefined; readonly kinds: ReadonlySet<string> | undefined },
): void {
  for (const [name, kinds] of fields) {
    if (names !== undefined && !names.includes(name))
      throw optionFault(
        where,
        `fields names ${name}, which is no argument of the tool. ${suggest(name, names)}Its arguments are ${names.join(', ') || 'none'}.`,
      );
    const unknown = known && [...(kinds ?? [])].find((kind) => !known.has(kind));
    if (known === undefined || unknown === undefined) continue;
    const hint = suggest(unknown, [...known]);
    throw optionFault(
      where,
      `fields.${name} takes ${unknown}, which is no kind that \`hides\` finds. ${hint}${hint === '' ? `They are ${shown([...known])}. ` : ''}Name kinds that only \`put\` gives in the vault's \`kinds\`.`,
    );
  }
}

const mostShown = 20;
const shown = (all: readonly string[]): string =>
  all.length > mostShown ? `${all.slice(0, mostShown).join(', ')} and ${all.length - mostShown} more` : all.join(', ') || 'none';

function readFields(where: string, options: RestoreOptions): Fields {
  const given: unknown = options?.fields;
  const isNames = Array.isArray(given) && given.length > 0 && given.every((name) => typeof name === 'string' && name !== '');
  if (isNames) return new Map((given as readonly string[]).map((name) => [name, undefined]));
  if (typeof given !== 'object' || given === null || Array.isArray(given) || Object.keys(given).length === 0)
    throw optionFault(where, "fields names no argument. Give a list, such as ['to'], or the kinds that each takes: { to: 'email' }.");
  return new Map(
    Object.entries(given).map(([name, kinds]: [string, unknown]) => {
      const list: unknown = typeof kinds === 'string' ? [kinds] : kinds;
      if (!Array.isArray(list) || list.length === 0 || !list.every((kind) => typeof kind === 'string'))
        throw optionFault(where, `fields.${name} is neither a kind nor a list of kinds. Give such as 'email'.`);
      return [name, new Set(list as readonly string[])];
    }),
  );
}

function restoreFields(conversation: Conversation, input: unknown, fields: Fields): unknown {
  if (typeof input !== 'object' || input === null) return input;
  const restored: Record<string, unknown> = { ...input };
  for (const [name, kinds] of fields) {
    if (Object.hasOwn(restored, name))
      restored[name] = restoreValue(restored[name], (text) => restoreText(conversation, text, { name, kinds }));
  }
  return restored;
}

function restoreValue(value: unknown, restore: (text: string) => string): unknown {
  if (typeof value === 'string') return restore(value);
  if (Array.isArray(value)) return value.map((element: unknown) => restoreValue(element, restore));
  if (typeof value !== 'object' || value === null || !isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, restoreValue(field, restore)]));
}

interface Field {
  readonly name: string;
  readonly kinds: ReadonlySet<string> | undefined;
}

/** Why a placeholder is not put back; undefined where it is, or where it is none. */
function faultOf(conversation: Conversation, { like, text }: PlaceholderIn, { name, kinds }: Field): string | undefined {
  const { placeholder, label, isExact, start, end } = like;
  const entry = conversation.valueOf(placeholder);
  if (entry === undefined)
    return isExact || conversation.hasLabel(label)
      ? `${name} holds a placeholder that stands for nothing in this conversation. Copy one exactly as you were shown it.`
      : undefined;
  if (kinds !== undefined && !kinds.has(entry.kind))
    return `${name} takes a placeholder for ${[...kinds].join(' or ')}, and holds one for ${entry.kind}.`;
  return entry.value.includes('@') && isJoined(text, start, end)
    ? `${name} holds a placeholder for an address that is joined to other text, which makes another address of it.`
    : undefined;
}

interface PlaceholderIn {
  readonly like: PlaceholderLike;
  readonly text: string;
}

/** Why a call would fail for a placeholder in its input; undefined where it would not. */
export function faultInInput(conversation: Conversation, input: unknown, fields: Fields): string | undefined {
  let fault: string | undefined;
  if (typeof input !== 'object' || input === null) return undefined;
  for (const [name, kinds] of fields) {
    if (!Object.hasOwn(input, name)) continue;
    restoreValue((input as Readonly<Record<string, unknown>>)[name], (text) => {
      for (const like of placeholdersLike(text)) fault ??= faultOf(conversation, { like, text }, { name, kinds });
      return text;
    });
  }
  return fault;
}

/**
 * The text with values, also for placeholders that were written in another case or spaced: from outside none of these forms comes in. Throws a
 * tool's error, which names the field, for one that stands for nothing, or for a value of another kind.
 */
function restoreText(conversation: Conversation, text: string, field: Field): string {
  let made = '';
  let at = 0;
  for (const like of placeholdersLike(text)) {
    const fault = faultOf(conversation, { like, text }, field);
    if (fault !== undefined) throw toolError(fault, { errorClass: 'invalid_input', retryable: true });
    const entry = conversation.valueOf(like.placeholder);
    if (entry === undefined) continue;
    made += text.slice(at, like.start) + entry.value;
    at = like.end;
  }
  return made + text.slice(at);
}

// Each looks at two characters.
const goesOn = /^(?:[\p{L}\p{N}@+-]|\.[\p{L}\p{N}])/u;
const beganBefore = /[\p{L}\p{N}@.+-]$/u;

/** `[EMAIL_1].evil.example` would be somebody else's address, with the value in it. */
function isJoined(text: string, start: number, end: number): boolean {
  return goesOn.test(text.slice(end, end + 3)) || beganBefore.test(text.slice(Math.max(0, start - 2), start));
}
