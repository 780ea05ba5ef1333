import type { JsonObject, JsonValue } from '../model/types.js';
import { isList, isObject } from './json-schema-node.js';

const types: ReadonlySet<JsonValue | undefined> = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);
const named = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies'];
const direct = [
  'additionalItems',
  'additionalProperties',
  'allOf',
  'anyOf',
  'contains',
  'else',
  'if',
  'items',
  'not',
  'oneOf',
  'prefixItems',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
];

/**
 * Providers refuse every request with a type that JSON Schema does not have, and no value would fit it. Looks where schemas stand: what
 * stands under words of others, such as the `errorMessage` of a form, is none, whatever its `type` says.
 */
export function checkTypes(root: JsonObject): void {
  const waiting: JsonValue[] = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (!isObject(node)) continue;
    checkType(node.type);
    for (const key of named) if (isObject(node[key])) waiting.push(...Object.values(node[key]).filter(isObject));
    for (const key of direct) {
      const inner = node[key];
      if (isList(inner)) waiting.push(...inner.filter(isObject));
      else if (isObject(inner)) waiting.push(inner);
    }
  }
}

function checkType(type: JsonValue | undefined): void {
  if (type === undefined || types.has(type)) return;
  const list = isList(type) ? type : undefined;
  if (list !== undefined && list.length > 0 && list.every((each) => types.has(each))) return;
  const told = JSON.stringify(list?.find((each) => !types.has(each)) ?? type).slice(0, 100);
  throw new Error(`the type ${told} is none of ${[...types].join(', ')}`);
}
