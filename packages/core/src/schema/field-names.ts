import type { JsonObject, JsonValue } from '../model/types.js';
import { isList, isObject } from './json-schema-node.js';

/** What a schema says of values, and not of their fields. */
const values: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples']);

/** Adds the names of all fields that a schema names, at whatever depth and in whichever branch. */
export function fieldNames(schema: JsonObject, names: Set<string>): void {
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'properties' && isObject(value)) {
      for (const [name, field] of Object.entries(value)) {
        names.add(name);
        visit(field, names);
      }
    } else if (!values.has(keyword)) visit(value, names);
  }
}

function visit(node: JsonValue | undefined, names: Set<string>): void {
  if (isList(node)) for (const each of node) visit(each, names);
  else if (isObject(node)) fieldNames(node, names);
}
