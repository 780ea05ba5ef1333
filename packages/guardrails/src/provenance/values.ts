// The values of a call's arguments, one by one: what a policy has to find a source for.
import type { JsonObject, JsonValue } from '@guardloop/core';

/** One value of a call's input that needs a source. */
export interface ArgumentValue {
  /** The argument's path: `recipients[0]`, `attachments[0].file_id`. Names that are data are shown as `…`. */
  readonly path: string;
  /** `true` and the empty text say nothing by themselves: the user must have spoken of the argument, by its name. */
  readonly value: string | number | true;
}

/** Which arguments are read, and which names in them are names of the schema. */
export interface ArgumentsRead {
  readonly names: readonly string[] | 'all';
  /** Names of the schema's fields, at any depth. Empty: it has none, and every plain identifier is taken for one. */
  readonly fields: readonly string[];
}

const plainName = /^[\w-]{1,40}$/;
const deepest = 64;

/**
 * The texts, numbers and `true` under the named arguments (`all`: under every one), nested ones too. Names of fields that no schema has are
 * values as well. `false`, `null` and empty lists name nothing and are left out.
 */
export function argumentValues(input: JsonObject, read: ArgumentsRead): readonly ArgumentValue[] {
  const found: ArgumentValue[] = [];
  const walk: Walk = { found, isName: nameTest(read.fields) };
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined || (read.names !== 'all' && !read.names.includes(name))) continue;
    if (walk.isName(name)) collect(value, { path: name, depth: 0 }, walk);
    else {
      found.push({ path: '…', value: name });
      collect(value, { path: '…', depth: 0 }, walk);
    }
  }
  return found;
}

function nameTest(fields: readonly string[]): (name: string) => boolean {
  return fields.length === 0 ? (name) => plainName.test(name) : (name) => fields.includes(name);
}

/** Texts of the arguments that are not named: the content of what is written or sent. */
export function contentValues(
  input: JsonObject,
  { names, fields }: ArgumentsRead,
): readonly (ArgumentValue & { readonly value: string })[] {
  if (names === 'all') return [];
  const others = Object.keys(input).filter((name) => !names.includes(name));
  return argumentValues(input, { names: others, fields }).filter(
    (each): each is ArgumentValue & { readonly value: string } => typeof each.value === 'string',
  );
}

interface Walk {
  readonly found: ArgumentValue[];
  isName(name: string): boolean;
}

function collect(value: JsonValue, { path, depth }: { readonly path: string; readonly depth: number }, walk: Walk): void {
  const { found } = walk;
  if (typeof value === 'string') found.push({ path, value: value.trim() === '' ? '' : value });
  else if (typeof value === 'number' || value === true) found.push({ path, value });
  else if (typeof value === 'object' && value !== null) {
    if (depth >= deepest) {
      // Nothing can be said of what lies deeper: it is a value that no source has.
      found.push({ path, value: '\u0000' });
      return;
    }
    if (Array.isArray(value)) {
      for (const [index, item] of (value as readonly JsonValue[]).entries())
        collect(item, { path: `${path}[${index}]`, depth: depth + 1 }, walk);
    } else collectFields(value as JsonObject, { path, depth: depth + 1 }, walk);
  }
}

function collectFields(object: JsonObject, { path, depth }: { readonly path: string; readonly depth: number }, walk: Walk): void {
  for (const [name, item] of Object.entries(object)) {
    const isName = walk.isName(name);
    if (!isName) walk.found.push({ path: `${path}.…`, value: name });
    if (item !== undefined) collect(item, { path: `${path}.${isName ? name : '…'}`, depth }, walk);
  }
}
