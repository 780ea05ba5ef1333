import type { JsonObject, JsonValue } from '../model/types.js';
import { isList, isObject, resolveReference } from './json-schema-node.js';

const objectKeywords = ['properties', 'required', 'additionalProperties', 'patternProperties', 'minProperties'];

/** True where every value that fits is an object, as far as the schema tells. */
export function isObjectSchema(root: JsonObject, given: JsonValue | undefined, depth = 0): boolean {
  const node = resolveReference(root, given);
  if (!isObject(node) || depth > 16) return false;
  const { type, anyOf, oneOf, allOf } = node;
  if (type !== undefined) return type === 'object' || (isList(type) && type.length === 1 && type[0] === 'object');
  const branches = anyOf ?? oneOf;
  if (isList(branches) && branches.length > 0 && branches.every((branch) => isObjectSchema(root, branch, depth + 1))) return true;
  return (
    (isList(allOf) && allOf.some((part) => isObjectSchema(root, part, depth + 1))) ||
    objectKeywords.some((keyword) => node[keyword] !== undefined)
  );
}

/** The schema with `type: 'object'` at its root, where model providers want it; undefined for a schema that lets anything but objects in. */
export function withObjectRoot(json: JsonObject): JsonObject | undefined {
  if (json.type === 'object') return json;
  if (!isObjectSchema(json, json)) return undefined;
  const target = json.$ref === undefined ? json : resolveReference(json, json);
  if (!isObject(target)) return undefined;
  const { $ref: _reference, ...siblings } = json;
  return Object.freeze({ ...siblings, ...target, type: 'object' });
}

/** True where the root is an object of which some field must be given. */
export function needsFields(json: JsonObject): boolean {
  const { required, minProperties } = json;
  return (isList(required) && required.length > 0) || (typeof minProperties === 'number' && minProperties > 0);
}
