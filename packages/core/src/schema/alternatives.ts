// What can be told of the alternatives of a union from their schemas alone.
import type { JsonObject, JsonValue } from '../model/types.js';
import { isList, isObject, own, resolveReference } from './json-schema-node.js';

const kinds = ['object', 'array', 'string', 'number', 'boolean', 'null'] as const;
type Kind = (typeof kinds)[number];
const mostDepth = 8;
/** Of all comparisons of one schema: where more are needed, alternatives count as not told apart. */
const mostSteps = 50_000;
const deepestSearch = 200;
export const mostAlternatives = 200;

const kindOfType = (type: JsonValue): JsonValue => (type === 'integer' ? 'number' : type);
const kindOfValue = (value: JsonValue): Kind =>
  value === null ? 'null' : isList(value) ? 'array' : (typeof value as Exclude<Kind, 'array' | 'null'>);

/** The kinds of values that fit, as far as a schema that is no union tells. */
export function kindsOf(node: JsonObject): ReadonlySet<JsonValue> {
  const nothing = node.nullable === true ? ['null'] : [];
  const values = valuesOf(node);
  if (values !== undefined) return new Set([...values.map(kindOfValue), ...nothing]);
  const { type } = node;
  if (type === undefined) return new Set(node.properties === undefined ? kinds : ['object']);
  return new Set([...(isList(type) ? type : [type]).map(kindOfType), ...nothing]);
}

function valuesOf(node: JsonObject): readonly JsonValue[] | undefined {
  return node.const !== undefined ? [node.const] : isList(node.enum) ? node.enum : undefined;
}

export function fieldOf({ properties }: JsonObject, name: string): JsonValue | undefined {
  return isObject(properties) ? own(properties, name) : undefined;
}

export function requiredOf({ required }: JsonObject): readonly string[] {
  return isList(required) ? required.filter((name) => typeof name === 'string') : [];
}

export function fieldNames({ properties }: JsonObject): readonly string[] {
  return isObject(properties) ? Object.keys(properties) : [];
}

/** One needs a field that the other does not let in. */
function excludes(one: JsonObject, other: JsonObject): boolean {
  return other.additionalProperties === false && requiredOf(one).some((name) => fieldOf(other, name) === undefined);
}

/** Compares alternatives of one schema. Bounded, whatever the schema. */
export class Alternatives {
  readonly #root: JsonObject;
  #steps = 0;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  /** The alternatives in a node, those of nested unions among them; the node itself where it is no union. */
  leaves(given: JsonValue | undefined, depth = 0): readonly JsonObject[] {
    this.#steps += 1;
    const node = resolveReference(this.#root, given);
    if (!isObject(node) || depth > mostDepth || this.#steps > mostSteps) return [];
    const { allOf, anyOf, oneOf, type, properties } = node;
    const isWrapped = isList(allOf) && allOf.length === 1 && type === undefined && properties === undefined;
    const branches = isWrapped ? allOf : isList(anyOf) ? anyOf : isList(oneOf) ? oneOf : undefined;
    if (branches === undefined) return [node];
    const leaves: JsonObject[] = [];
    for (const branch of branches) {
      if (leaves.length > mostAlternatives) break;
      leaves.push(...this.leaves(branch, depth + 1));
    }
    return leaves;
  }

  /** True where null fits, or may fit. */
  acceptNull(given: JsonValue | undefined): boolean {
    const leaves = this.leaves(given);
    const own = resolveReference(this.#root, given);
    return leaves.length === 0 || (isObject(own) && own.nullable === true) || leaves.some((leaf) => kindsOf(leaf).has('null'));
  }

  /** True where no value can fit both. */
  areDisjoint(left: JsonValue | undefined, right: JsonValue | undefined, depth = 0): boolean {
    if (depth > mostDepth) return false;
    const [ones, others] = [this.leaves(left), this.leaves(right)];
    return ones.length > 0 && others.length > 0 && ones.every((one) => others.every((other) => this.#areApart(one, other, depth)));
  }

  #areApart(one: JsonObject, other: JsonObject, depth: number): boolean {
    this.#steps += 1;
    if (this.#steps > mostSteps) return false;
    const shared = [...kindsOf(one)].filter((kind) => kindsOf(other).has(kind));
    if (shared.length === 0) return true;
    const [values, otherValues] = [valuesOf(one), valuesOf(other)];
    if (values !== undefined && otherValues !== undefined) return values.every((value) => !otherValues.includes(value));
    if (shared.some((kind) => kind !== 'object')) return false;
    const required = new Set(requiredOf(other));
    const areTold = requiredOf(one).some(
      (name) => required.has(name) && this.areDisjoint(fieldOf(one, name) ?? {}, fieldOf(other, name) ?? {}, depth + 1),
    );
    return areTold || excludes(one, other) || excludes(other, one);
  }

  /** True where both begin with a field of one name that does not tell them apart. */
  beginAlike(one: JsonObject, other: JsonObject): boolean {
    const [first] = fieldNames(one);
    return first !== undefined && first === fieldNames(other)[0] && !this.areDisjoint(fieldOf(one, first), fieldOf(other, first));
  }

  /** True where some object in it has a field that may be left out. */
  hasOptionalFields(given: JsonValue | undefined, seen = new Set<JsonValue>(), depth = 0): boolean {
    const node = resolveReference(this.#root, given);
    if (!isObject(node) || seen.has(node)) return false;
    if (depth > deepestSearch) return true;
    seen.add(node);
    const required = new Set(requiredOf(node));
    const names = fieldNames(node);
    if (names.some((name) => !required.has(name))) return true;
    const parts = [node.anyOf, node.oneOf, node.allOf].flatMap((list) => (isList(list) ? list : []));
    return [...names.map((name) => fieldOf(node, name)), ...parts, node.items].some((child) =>
      this.hasOptionalFields(child, seen, depth + 1),
    );
  }
}
