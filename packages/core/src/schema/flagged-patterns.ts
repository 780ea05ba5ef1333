import type { JsonObject, JsonValue } from '../model/types.js';
import { isList, isObject } from './json-schema-node.js';
import type { ZodNode } from './zod-nodes.js';
import { regexesIn } from './zod-nodes.js';

/** Flags without which a pattern fits other texts. */
const telling = /[imsy]/;
/** Keywords whose values are no schemas, and those whose fields are schemas. */
const values = new Set(['const', 'enum', 'default', 'examples']);
const maps = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);

/**
 * The JSON Schema of a zod schema with the patterns in words that zod writes without their flags: JSON Schema has none, and a model that is
 * held to `^[a-z]+$` cannot say what `/^[a-z]+$/i` lets pass. The same object where there is none.
 */
export function withoutFlaggedPatterns(json: JsonObject, schema: ZodNode): JsonObject {
  const flagged = new Map<string, RegExp>();
  for (const regex of regexesIn(schema)) if (telling.test(regex.flags)) flagged.set(regex.source, regex);
  return flagged.size === 0 ? json : (inWords(json, flagged) as JsonObject);
}

function inWords(node: JsonValue, flagged: ReadonlyMap<string, RegExp>): JsonValue {
  if (isList(node)) return Object.freeze(node.map((item) => inWords(item, flagged)));
  if (!isObject(node)) return node;
  const taken = (part: JsonValue | undefined): readonly RegExp[] => {
    const regex = isObject(part) && typeof part.pattern === 'string' ? flagged.get(part.pattern) : undefined;
    return regex === undefined ? [] : [regex];
  };
  // Several patterns stand side by side, each alone in its part.
  const parts = isList(node.allOf) ? node.allOf : [];
  const left = parts.filter((part) => taken(part).length === 0);
  const regexes = [...taken(node), ...parts.flatMap(taken)];
  const { pattern, allOf, description, ...rest } = node;
  const words = [...(typeof description === 'string' ? [description] : []), ...regexes.map((regex) => `(pattern: ${String(regex)})`)];
  const kept: JsonObject = {
    ...rest,
    ...(pattern === undefined || taken(node).length > 0 ? {} : { pattern }),
    ...(left.length === 0 ? {} : { allOf: left }),
    ...(words.length === 0 ? {} : { description: words.join(' ') }),
  };
  return mapped(kept, (field, key) => {
    if (values.has(key)) return field;
    return maps.has(key) && isObject(field) ? mapped(field, (schema) => inWords(schema, flagged)) : inWords(field, flagged);
  });
}

function mapped(fields: JsonObject, made: (field: JsonValue, key: string) => JsonValue): JsonObject {
  return Object.freeze(Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, made(field ?? null, key)])));
}
