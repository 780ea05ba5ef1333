// The values of a call's arguments, one by one: what a policy has to find a source for.
import type { JsonObject, JsonValue } from '@guardloop/core';

/** One scalar of a call's input. */
export interface ArgumentValue {
  /** The argument's path: `recipients[0]`, `attachments[0].file_id`. Names that no schema would have are shown as `…`. */
  readonly path: string;
  readonly value: string | number;
}

const plainName = /^[\w-]{1,40}$/;
const deepest = 64;

/**
 * The texts and numbers under the named arguments (`all`: under every one), nested ones too. Of nested objects, field names that are no plain
 * identifiers are values as well. `true`, `false`, `null` and empty texts name nothing and are left out.
 */
export function argumentValues(input: JsonObject, names: readonly string[] | 'all'): readonly ArgumentValue[] {
  const found: ArgumentValue[] = [];
  for (const [name, value] of Object.entries(input)) {
    const isNamed = names === 'all' || names.includes(name);
    if (isNamed && value !== undefined) collect(value, { path: plainName.test(name) ? name : '…', depth: 0 }, found);
  }
  return found;
}

/** Texts of the arguments that are not named: the content of what is written or sent. */
export function contentValues(input: JsonObject, names: readonly string[] | 'all'): readonly ArgumentValue[] {
  if (names === 'all') return [];
  const others = Object.keys(input).filter((name) => !names.includes(name));
  return argumentValues(input, others).filter(({ value }) => typeof value === 'string');
}

function collect(value: JsonValue, { path, depth }: { readonly path: string; readonly depth: number }, found: ArgumentValue[]): void {
  if (typeof value === 'string') {
    if (value.trim() !== '') found.push({ path, value });
  } else if (typeof value === 'number') {
    found.push({ path, value });
  } else if (typeof value === 'object' && value !== null) {
    if (depth >= deepest) {
      // Nothing can be said of what lies deeper: it is a value that no source has.
      found.push({ path, value: '\u0000' });
      return;
    }
    if (Array.isArray(value)) {
      for (const [index, item] of (value as readonly JsonValue[]).entries())
        collect(item, { path: `${path}[${index}]`, depth: depth + 1 }, found);
      return;
    }
    for (const [name, item] of Object.entries(value as JsonObject)) {
      const isPlain = plainName.test(name);
      if (!isPlain) found.push({ path, value: name });
      if (item !== undefined) collect(item, { path: isPlain ? `${path}.${name}` : `${path}.…`, depth: depth + 1 }, found);
    }
  }
}
