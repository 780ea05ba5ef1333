import type { JsonObject, JsonValue } from '../model/types.js';
import { isList, isObject } from './json-schema-node.js';

/** Levels of nesting of a schema, lists of fields counted too. */
const maxSchemaDepth = 200;
const maxSchemaNodes = 20_000;

/** A frozen copy of a JSON Schema. Throws an Error for what is no JSON, or too deep or large to be one. */
export function copySchema(schema: object): JsonObject {
  let nodes = 0;
  const copy = (value: unknown, depth: number): JsonValue | undefined => {
    nodes += 1;
    if (depth > maxSchemaDepth) throw new Error(`it is nested more than ${maxSchemaDepth} levels deep`);
    if (nodes > maxSchemaNodes) throw new Error(`it has more than ${maxSchemaNodes} parts`);
    if (value === null || typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value)))
      return value;
    if (isList(value)) return Object.freeze(value.map((element) => copy(element, depth + 1) ?? null));
    if (!isObject(value)) return undefined;
    const fields: Record<string, JsonValue> = {};
    for (const key of Object.keys(value)) {
      if (key === '__proto__') continue;
      const copied = copy(value[key], depth + 1);
      if (copied !== undefined) fields[key] = copied;
    }
    return Object.freeze(fields);
  };
  const { $schema: _dialect, ...rest } = schema as { readonly [key: string]: unknown };
  return copy(rest, 0) as JsonObject;
}
