// Strict forms have every field required, with null for an absent one; and models write such a null without them too.
import type { JsonObject, JsonValue } from '../model/types.js';
import { fieldNames, fieldOf, kindsOf, requiredOf } from './alternatives.js';
import { JsonSchemaChecker, mostSteps } from './json-schema.js';
import { isList, isObject, own } from './json-schema-node.js';
import { maxInputDepth } from './raw-input.js';

/** Of schemas in schemas and values in values together. */
const deepest = 4 * maxInputDepth;

/**
 * For a JSON Schema, the function that gives an input without the nulls of fields that may be left out and may not be null: such a null
 * says only that the field is absent. In a union that alternative counts that the input fits. The function gives its argument where nothing
 * is to be taken out, never changes it, and never throws. `json` is asked for when the first null comes.
 */
export function absentNulls(json: () => JsonObject): (raw: JsonValue) => JsonValue {
  let checker: JsonSchemaChecker | undefined;
  return (raw) => {
    if (!hasNull(raw, 0)) return raw;
    try {
      checker ??= new JsonSchemaChecker(json());
      return new Removal(checker).without(json(), raw, 0);
    } catch {
      // A pattern that another library wrote, and that is none here.
      return raw;
    }
  };
}

/** Deeper inputs are refused before they are parsed. */
function hasNull(value: JsonValue | undefined, depth: number): boolean {
  if (value === null) return true;
  if (typeof value !== 'object' || depth > maxInputDepth) return false;
  return Object.values(value).some((field) => hasNull(field, depth + 1));
}

/** An alternative of a union, and the value as it has it. */
interface Branch {
  readonly node: JsonObject;
  readonly value: JsonValue;
}

class Removal {
  readonly #checker: JsonSchemaChecker;
  readonly #work = { steps: 0 };

  constructor(checker: JsonSchemaChecker) {
    this.#checker = checker;
  }

  without(node: JsonValue | undefined, value: JsonValue, depth: number): JsonValue {
    this.#work.steps += 1;
    if (typeof value !== 'object' || value === null || !isObject(node)) return value;
    if (depth > deepest || this.#work.steps > mostSteps) return value;
    const { $ref: reference, allOf, anyOf, oneOf } = node;
    let result = isList(value) ? this.#list(node, value, depth) : this.#object(node, value as JsonObject, depth);
    if (reference !== undefined) result = this.without(this.#checker.target(node), result, depth + 1);
    if (isList(allOf)) for (const part of allOf) result = this.without(part, result, depth + 1);
    for (const branches of [anyOf, oneOf]) if (isList(branches)) result = this.#union(branches, result, depth);
    return result;
  }

  #list(node: JsonObject, list: readonly JsonValue[], depth: number): JsonValue {
    const prefix = isList(node.prefixItems) ? node.prefixItems : isList(node.items) ? node.items : [];
    const rest = isList(node.items) ? node.additionalItems : node.items;
    let isChanged = false;
    const elements = list.map((element, index) => {
      const changed = this.without(prefix[index] ?? rest, element, depth + 1);
      isChanged ||= changed !== element;
      return changed;
    });
    return isChanged ? elements : list;
  }

  #object(node: JsonObject, object: JsonObject, depth: number): JsonValue {
    const { additionalProperties } = node;
    const required = requiredOf(node);
    let isChanged = false;
    const fields = Object.entries(object).flatMap(([name, field]): [string, JsonValue][] => {
      if (field === undefined) return [];
      const schema = fieldOf(node, name);
      if (field === null) {
        const stays = schema === undefined || required.includes(name) || this.#fits(schema, null, false);
        isChanged ||= !stays;
        return stays ? [[name, field]] : [];
      }
      const changed = this.without(schema ?? additionalProperties, field, depth + 1);
      isChanged ||= changed !== field;
      return [[name, changed]];
    });
    return isChanged ? Object.fromEntries(fields) : object;
  }

  /** A value that fits an alternative stays as it is; else it is as an alternative has it that it then fits, first one that names just its fields. */
  #union(given: readonly JsonValue[], value: JsonValue, depth: number): JsonValue {
    const kind = isList(value) ? 'array' : 'object';
    const nodes = given.map((branch) => this.#plain(branch)).filter((node) => node !== undefined);
    const branches = nodes
      .filter((node) => kindsOf(node).has(kind) && mayBeMeant(node, value))
      .map((node): Branch => ({ node, value: this.without(node, value, depth + 1) }));
    const [only] = branches;
    if (only === undefined || branches.every((branch) => branch.value === value)) return value;
    if (branches.length === 1) return only.value;
    const exact = branches.filter(({ node }) => isObject(value) && namesJust(node, value));
    for (const isClosed of [true, false]) {
      if (branches.some(({ node }) => this.#fits(node, value, isClosed))) return value;
      const fitting = [...exact, ...branches].find((branch) => this.#fits(branch.node, branch.value, isClosed));
      if (fitting !== undefined) return fitting.value;
    }
    return value;
  }

  /** What a branch is, along a reference that stands alone. */
  #plain(branch: JsonValue): JsonObject | undefined {
    const node = isObject(branch) && Object.keys(branch).length === 1 ? this.#checker.target(branch) : branch;
    return isObject(node) ? node : undefined;
  }

  #fits(node: JsonValue, value: JsonValue, isClosed: boolean): boolean {
    return this.#checker.fits(node, value, { work: this.#work, isClosed });
  }
}

/** No constant of the schema says otherwise. */
function mayBeMeant(node: JsonObject, value: JsonValue): boolean {
  if (!isObject(value)) return true;
  return fieldNames(node).every((name) => {
    const schema = fieldOf(node, name);
    const field = own(value, name);
    return !isObject(schema) || schema.const === undefined || field === undefined || field === null || field === schema.const;
  });
}

function namesJust(node: JsonObject, value: JsonObject): boolean {
  const names = Object.keys(value);
  return fieldNames(node).length === names.length && names.every((name) => fieldOf(node, name) !== undefined);
}
