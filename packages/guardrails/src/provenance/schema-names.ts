import type { JsonObject } from '@guardloop/core';

const known = new WeakMap<JsonObject, readonly string[]>();
const mentioned = /["'`]([A-Za-z_][\w-]{0,39})["'`]/g;
const deepest = 64;

/**
 * Names that a schema gives to fields, at any depth, and those that its descriptions put in quotes, where an object is described in words alone:
 * `an attachment has a field "file_id"`. Empty of a schema that names none.
 */
export function namesOfSchema(schema: JsonObject): readonly string[] {
  let names = known.get(schema);
  if (names === undefined) {
    const found = new Set<string>();
    visit(schema, { found, depth: 0 });
    names = [...found];
    known.set(schema, names);
  }
  return names;
}

function visit(node: unknown, { found, depth }: { readonly found: Set<string>; readonly depth: number }): void {
  if (typeof node !== 'object' || node === null || depth > deepest) return;
  for (const [keyword, value] of Object.entries(node)) {
    if (keyword === 'properties' && typeof value === 'object' && value !== null && !Array.isArray(value)) {
      for (const [name, field] of Object.entries(value)) {
        found.add(name);
        visit(field, { found, depth: depth + 1 });
      }
    } else if (keyword === 'description' && typeof value === 'string') {
      if (found.size > 0) for (const [, name = ''] of value.matchAll(mentioned)) found.add(name);
    } else if (!isValues(keyword)) visit(value, { found, depth: depth + 1 });
  }
}

/** Keywords whose values are data and no schemas. */
const isValues = (keyword: string): boolean => keyword === 'enum' || keyword === 'const' || keyword === 'default' || keyword === 'examples';
