import type { JsonObject, JsonValue } from '../model/types.js';
import { isList, isObject, resolveReference } from './json-schema-node.js';

interface Found {
  readonly root: JsonObject;
  readonly names: Set<string>;
  readonly seen: Set<JsonObject>;
}

/** The fields that a schema of an object names, in whichever branch; undefined where it lets in others, or names none. Never throws. */
export function argumentNames(root: JsonObject): ReadonlySet<string> | undefined {
  const found: Found = { root, names: new Set(), seen: new Set() };
  return isOpen(root, found) || found.names.size === 0 ? undefined : found.names;
}

/** Adds the names in one part of the schema; true where it says that others are let in, or leads to elsewhere. */
function isOpen(node: JsonValue | undefined, found: Found): boolean {
  if (!isObject(node)) return node !== false;
  if (found.seen.has(node)) return false;
  found.seen.add(node);
  const { properties, additionalProperties: additional, patternProperties } = node;
  if (isObject(properties)) for (const name of Object.keys(properties)) found.names.add(name);
  let isAnyOpen = (additional !== undefined && additional !== false) || patternProperties !== undefined;
  for (const branch of branchesOf(node, found.root)) if (isOpen(branch, found)) isAnyOpen = true;
  return isAnyOpen;
}

/** The schemas that describe the same object as this one. */
function branchesOf(node: JsonObject, root: JsonObject): readonly (JsonValue | undefined)[] {
  const branches: (JsonValue | undefined)[] = [node.allOf, node.anyOf, node.oneOf].flatMap((list) => (isList(list) ? list : []));
  for (const branch of [node.if, node.then, node.else]) if (isObject(branch)) branches.push(branch);
  if (isObject(node.dependentSchemas)) branches.push(...Object.values(node.dependentSchemas));
  if (typeof node.$ref === 'string') branches.push(resolveReference(root, node));
  return branches;
}
