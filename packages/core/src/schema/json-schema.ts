// Checks values against a plain JSON Schema (draft 2020-12, with what older drafts wrote otherwise). A schema is untrusted: it may come from
// another server. It is copied, never changed, and bounded in depth, size and work.
import type { JsonObject, JsonValue } from '../model/types.js';
import type { SchemaIssue } from './compiled.js';
import { expectedAt, isMissing, missingWords, noOtherFields, placeAt } from './expectation.js';
import { isList, isObject, own } from './json-schema-node.js';
import { SchemaReferences } from './json-schema-references.js';
import { equalJson, fitsFormat, isMultipleOf, isType } from './json-values.js';
import { checkTypes } from './schema-types.js';

/** Steps of one check, all branches counted. */
export const mostSteps = 500_000;
const mostIssues = 50;
/** Of schemas within schemas at one value: more is a schema that refers to itself in a circle. */
const mostDepth = 400;

interface Misfit {
  readonly path: readonly PropertyKey[];
  /** The schema node that says what was expected there. */
  readonly node: JsonValue;
  readonly isExtra?: boolean;
}

type Path = readonly PropertyKey[];

/** A schema made ready: every type is one, every reference leads somewhere, every pattern compiles. */
export class JsonSchemaChecker {
  private readonly root: JsonObject;
  private readonly references: SchemaReferences;
  private readonly patterns = new Map<string, RegExp>();

  /** Throws an Error that says what in the schema cannot be used. `root` is a frozen copy. */
  constructor(root: JsonObject) {
    this.root = root;
    this.references = new SchemaReferences(root);
    checkTypes(root);
    for (const node of this.references.nodes) this.prepare(node);
  }

  private prepare(node: JsonObject): void {
    const { pattern, patternProperties } = node;
    const patterns = [
      ...(typeof pattern === 'string' ? [pattern] : []),
      ...(isObject(patternProperties) ? Object.keys(patternProperties) : []),
    ];
    for (const source of patterns) {
      if (this.patterns.has(source)) continue;
      this.patterns.set(source, compilePattern(source));
    }
  }

  /**
   * Whether a value fits one node of the schema, closed: with no fields that its objects do not name, where they do not say that others are
   * wanted. The steps of several checks add up in `work`; where they are too many, the answer is no.
   */
  fits(node: JsonValue, value: JsonValue, { work, isClosed }: { readonly work: { steps: number }; readonly isClosed: boolean }): boolean {
    const check = new Check(this.references, this.patterns, { steps: work.steps, isClosed });
    check.apply(node, value, { path: [], depth: 0 });
    work.steps = check.steps;
    return !check.isExhausted && check.misfits.length === 0;
  }

  /** What a node refers to, along references; the node itself where it does not, undefined for a circle. */
  target(node: JsonObject): JsonValue | undefined {
    let at: JsonValue = node;
    for (let step = 0; isObject(at) && at.$ref !== undefined; step += 1) {
      if (step > mostDepth) return undefined;
      at = this.references.target(at);
    }
    return at;
  }

  /** What does not fit; empty for a value that fits. */
  check(value: JsonValue): readonly SchemaIssue[] {
    const check = new Check(this.references, this.patterns);
    check.apply(this.root, value, { path: [], depth: 0 });
    if (check.isExhausted) return [{ path: '', expected: 'an input that this schema can be checked with in reasonable time' }];
    const issues = new Map<string, SchemaIssue>();
    for (const { path, node, isExtra } of check.misfits) {
      const place = placeAt(this.root, path);
      if (issues.has(place.path)) continue;
      const nodes = { path: place.path, nodes: [node] };
      const words = (): string => expectedAt(this.root, nodes) ?? expectedAt(this.root, place) ?? 'another value';
      const expected = isExtra ? noOtherFields(this.root, nodes) : words() + (isMissing(value, path) ? missingWords : '');
      issues.set(place.path, { path: place.path, expected });
    }
    return [...issues.values()];
  }
}

function compilePattern(source: string): RegExp {
  try {
    return new RegExp(source, 'u');
  } catch {
    try {
      return new RegExp(source);
    } catch {
      throw new Error(`the pattern ${source.slice(0, 100)} is no regular expression`);
    }
  }
}

/** Whether an object names its fields, and no other schema beside it could name more. */
function namesAllFields({ properties, patternProperties, $ref, allOf, anyOf, oneOf, if: condition }: JsonObject): boolean {
  return isObject(properties) && [patternProperties, $ref, allOf, anyOf, oneOf, condition].every((beside) => beside === undefined);
}

/** A constant tells which branch of a union is meant. */
const isTagMisfit = ({ node }: Misfit): boolean => isObject(node) && node.const !== undefined;

interface At {
  readonly path: Path;
  readonly depth: number;
  /** One of several schemas for the value: it does not name all fields. */
  readonly isPart?: boolean | undefined;
}

class Check {
  misfits: Misfit[] = [];
  isExhausted = false;
  steps: number;
  private readonly references: SchemaReferences;
  private readonly patterns: ReadonlyMap<string, RegExp>;

  private readonly isClosed: boolean;

  constructor(references: SchemaReferences, patterns: ReadonlyMap<string, RegExp>, { steps, isClosed } = { steps: 0, isClosed: false }) {
    this.references = references;
    this.patterns = patterns;
    this.steps = steps;
    this.isClosed = isClosed;
  }

  private misfit(node: JsonValue, path: Path): void {
    if (this.misfits.length < mostIssues) this.misfits.push({ path, node });
  }

  /** Collects the misfits of one schema apart from the others. */
  private misfitsOf(node: JsonValue, value: JsonValue, at: At): readonly Misfit[] {
    const outer = this.misfits;
    this.misfits = [];
    this.apply(node, value, at);
    const found = this.misfits;
    this.misfits = outer;
    return found;
  }

  private fits(node: JsonValue, value: JsonValue, at: At): boolean {
    return this.misfitsOf(node, value, at).length === 0;
  }

  apply(node: JsonValue, value: JsonValue, at: At): void {
    this.steps += 1;
    if (this.steps > mostSteps || at.depth > mostDepth) this.isExhausted = true;
    if (this.isExhausted || node === true) return;
    if (!isObject(node)) {
      this.misfit(false, at.path);
      return;
    }
    const { path, isPart = false } = at;
    const inner: At = { path, depth: at.depth + 1, isPart };
    if (value === null && node.nullable === true) return;
    const before = this.misfits.length;
    this.applyPlain(node, value, at.path);
    if (this.misfits.length > before) return;
    this.applyBranches(node, value, inner);
    if (isList(value)) this.applyToList(node, value, inner);
    else if (isObject(value)) this.applyToObject(node, value, inner);
  }

  private applyPlain(node: JsonObject, value: JsonValue, path: Path): void {
    const { type, enum: choices } = node;
    const isFitting =
      (type === undefined || (isList(type) ? type.some((each) => isType(each, value)) : isType(type, value))) &&
      (!isList(choices) || choices.some((choice) => equalJson(choice, value))) &&
      (node.const === undefined || equalJson(node.const, value)) &&
      (typeof value !== 'number' || this.fitsNumber(node, value)) &&
      (typeof value !== 'string' || this.fitsString(node, value));
    if (!isFitting) this.misfit(node, path);
  }

  private fitsNumber(node: JsonObject, value: number): boolean {
    const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf } = node;
    // Draft 4 wrote the exclusive bounds as flags.
    return (
      (typeof minimum !== 'number' || (above === true ? value > minimum : value >= minimum)) &&
      (typeof maximum !== 'number' || (below === true ? value < maximum : value <= maximum)) &&
      (typeof above !== 'number' || value > above) &&
      (typeof below !== 'number' || value < below) &&
      (typeof multipleOf !== 'number' || isMultipleOf(value, multipleOf))
    );
  }

  private fitsString(node: JsonObject, value: string): boolean {
    const { minLength, maxLength, pattern, format } = node;
    const characters = (): number => Array.from(value).length;
    return (
      (typeof minLength !== 'number' || (value.length >= minLength && (value.length >= minLength * 2 || characters() >= minLength))) &&
      (typeof maxLength !== 'number' || value.length <= maxLength || (value.length <= maxLength * 2 && characters() <= maxLength)) &&
      (typeof pattern !== 'string' || this.patterns.get(pattern)?.test(value) === true) &&
      (typeof format !== 'string' || fitsFormat(format, value))
    );
  }

  private applyBranches(node: JsonObject, value: JsonValue, at: At): void {
    const { allOf, anyOf, oneOf, not, if: condition } = node;
    if (node.$ref !== undefined) this.apply(this.references.target(node), value, at);
    if (isList(allOf)) for (const branch of allOf) this.apply(branch, value, { ...at, isPart: true });
    if (isList(anyOf)) this.applyAlternatives({ node, branches: anyOf, mostFitting: anyOf.length }, value, at);
    if (isList(oneOf)) this.applyAlternatives({ node, branches: oneOf, mostFitting: 1 }, value, at);
    if (not !== undefined && this.fits(not, value, at)) this.misfit({}, at.path);
    if (condition === undefined) return;
    const branch = this.fits(condition, value, at) ? node.then : node.else;
    if (branch !== undefined) this.apply(branch, value, at);
  }

  /** Where only one branch is meant (its tag fits, or its misfits all lie deeper), its misfits say more than the list of branches. */
  private applyAlternatives(
    { node, branches, mostFitting }: { readonly node: JsonObject; readonly branches: readonly JsonValue[]; readonly mostFitting: number },
    value: JsonValue,
    at: At,
  ): void {
    const found = branches.map((branch) => this.misfitsOf(branch, value, at));
    const fitting = found.filter((misfits) => misfits.length === 0).length;
    if (fitting >= 1 && fitting <= mostFitting) return;
    const near = fitting > 0 ? [] : found.filter((misfits) => misfits.every(({ path }) => path.length > at.path.length));
    const tagged = near.filter((misfits) => !misfits.some(isTagMisfit));
    const meant = tagged.length === 1 ? tagged[0] : near.length === 1 ? near[0] : undefined;
    const tag = near[0]?.find(isTagMisfit);
    if (meant) this.misfits.push(...meant);
    else if (tag && tagged.length === 0)
      this.misfits.push({
        path: tag.path,
        node: { anyOf: near.flatMap((misfits) => misfits.filter(isTagMisfit).map((misfit) => misfit.node)) },
      });
    else this.misfit(node, at.path);
  }

  private applyToList(node: JsonObject, list: readonly JsonValue[], at: At): void {
    const { minItems, maxItems, uniqueItems, contains } = node;
    if (
      (typeof minItems === 'number' && list.length < minItems) ||
      (typeof maxItems === 'number' && list.length > maxItems) ||
      (uniqueItems === true && this.hasRepeats(list))
    ) {
      this.misfit(node, at.path);
    }
    const prefix = isList(node.prefixItems) ? node.prefixItems : isList(node.items) ? node.items : [];
    const rest = isList(node.items) ? node.additionalItems : node.items;
    for (const [index, element] of list.entries()) {
      const schema = prefix[index] ?? rest;
      if (schema !== undefined) this.apply(schema, element, { path: [...at.path, index], depth: at.depth });
    }
    if (contains !== undefined) {
      const { minContains = 1, maxContains = Number.POSITIVE_INFINITY } = node;
      const fitting = list.filter((element) => this.fits(contains, element, at)).length;
      if (fitting < Number(minContains) || fitting > Number(maxContains)) this.misfit(node, at.path);
    }
    const { unevaluatedItems } = node;
    if (unevaluatedItems === undefined) return;
    const seen = this.seenItems(node, list, at);
    for (const [index, element] of list.entries())
      if (!seen.has(index)) this.apply(unevaluatedItems, element, { path: [...at.path, index], depth: at.depth });
  }

  private hasRepeats(list: readonly JsonValue[]): boolean {
    const plain = new Set<JsonValue>();
    const nested: JsonValue[] = [];
    for (const element of list) {
      const isNested = typeof element === 'object' && element !== null;
      this.steps += isNested ? nested.length : 1;
      if (this.steps > mostSteps) this.isExhausted = true;
      if (this.isExhausted) return false;
      if (isNested ? nested.some((other) => equalJson(other, element)) : plain.has(element)) return true;
      if (isNested) nested.push(element);
      else plain.add(element);
    }
    return false;
  }

  private applyToObject(node: JsonObject, object: JsonObject, at: At): void {
    this.applySizes(node, object, at.path);
    const { propertyNames, additionalProperties, unevaluatedProperties } = node;
    for (const [key, field] of Object.entries(object)) {
      if (field === undefined) continue;
      const inside: At = { path: [...at.path, key], depth: at.depth };
      const schemas = this.fieldSchemas(node, key);
      for (const schema of schemas) this.apply(schema, field, inside);
      if (propertyNames !== undefined && !this.fits(propertyNames, key, at)) this.misfits.push({ path: at.path, node, isExtra: true });
      if (schemas.length > 0) continue;
      const others = additionalProperties ?? !(this.isClosed && at.isPart !== true && namesAllFields(node));
      if (others === false) this.misfits.push({ path: at.path, node, isExtra: true });
      else if (others !== true) this.apply(others, field, inside);
    }
    this.applyDependents(node, object, at);
    if (unevaluatedProperties === undefined) return;
    const seen = this.seenFields(node, object, at);
    for (const [key, field] of Object.entries(object)) {
      if (field === undefined || seen.has(key)) continue;
      if (unevaluatedProperties === false) this.misfits.push({ path: at.path, node, isExtra: true });
      else this.apply(unevaluatedProperties, field, { path: [...at.path, key], depth: at.depth });
    }
  }

  private applySizes(node: JsonObject, object: JsonObject, path: Path): void {
    const { required, minProperties, maxProperties } = node;
    if (isList(required)) {
      for (const key of required) {
        if (typeof key === 'string' && own(object, key) === undefined) this.misfit(this.fieldSchemas(node, key)[0] ?? {}, [...path, key]);
      }
    }
    const size = typeof minProperties === 'number' || typeof maxProperties === 'number' ? Object.keys(object).length : 0;
    if ((typeof minProperties === 'number' && size < minProperties) || (typeof maxProperties === 'number' && size > maxProperties))
      this.misfit(node, path);
  }

  /** The schemas that `properties` and `patternProperties` have for a field. */
  private fieldSchemas(node: JsonObject, key: string): readonly JsonValue[] {
    const { properties, patternProperties } = node;
    const named = isObject(properties) ? own(properties, key) : undefined;
    if (!isObject(patternProperties)) return named === undefined ? [] : [named];
    const matching = Object.entries(patternProperties).flatMap(([source, schema]) =>
      schema !== undefined && this.patterns.get(source)?.test(key) ? [schema] : [],
    );
    return named === undefined ? matching : [named, ...matching];
  }

  private applyDependents(node: JsonObject, object: JsonObject, at: At): void {
    for (const keyword of ['dependentRequired', 'dependentSchemas', 'dependencies']) {
      const dependents = node[keyword];
      if (!isObject(dependents)) continue;
      for (const [key, dependent] of Object.entries(dependents)) {
        if (dependent === undefined || own(object, key) === undefined) continue;
        if (!isList(dependent)) this.apply(dependent, object, at);
        else
          for (const needed of dependent)
            if (typeof needed === 'string' && own(object, needed) === undefined) this.misfit({}, [...at.path, needed]);
      }
    }
  }

  /** The schemas that apply in place beside a node's own keywords and that the value fits. */
  private fittingBranches(node: JsonObject, value: JsonValue, at: At): readonly JsonObject[] {
    const { allOf, anyOf, oneOf, if: condition, dependentSchemas } = node;
    const candidates: JsonValue[] = [];
    if (node.$ref !== undefined) candidates.push(this.references.target(node));
    for (const branches of [allOf, anyOf, oneOf]) if (isList(branches)) candidates.push(...branches);
    if (condition !== undefined) {
      const isMet = this.fits(condition, value, at);
      if (isMet) candidates.push(condition);
      const branch = isMet ? node.then : node.else;
      if (branch !== undefined) candidates.push(branch);
    }
    if (isObject(dependentSchemas) && isObject(value)) {
      for (const [key, schema] of Object.entries(dependentSchemas))
        if (schema !== undefined && own(value, key) !== undefined) candidates.push(schema);
    }
    return candidates.filter((branch): branch is JsonObject => isObject(branch) && this.fits(branch, value, at));
  }

  private seenFields(node: JsonObject, object: JsonObject, at: At): ReadonlySet<string> {
    const inner: At = { path: at.path, depth: at.depth + 1 };
    const seen = new Set<string>();
    if (inner.depth > mostDepth) return seen;
    for (const key of Object.keys(object))
      if (node.additionalProperties !== undefined || this.fieldSchemas(node, key).length > 0) seen.add(key);
    for (const branch of this.fittingBranches(node, object, inner)) {
      if (branch.unevaluatedProperties !== undefined) return new Set(Object.keys(object));
      for (const key of this.seenFields(branch, object, inner)) seen.add(key);
    }
    return seen;
  }

  private seenItems(node: JsonObject, list: readonly JsonValue[], at: At): ReadonlySet<number> {
    const inner: At = { path: at.path, depth: at.depth + 1 };
    const seen = new Set<number>();
    if (inner.depth > mostDepth) return seen;
    const { prefixItems, items, contains } = node;
    const known = items !== undefined && !isList(items) ? list.length : isList(prefixItems) ? prefixItems.length : 0;
    for (const [index, element] of list.entries())
      if (index < known || (contains !== undefined && this.fits(contains, element, at))) seen.add(index);
    for (const branch of this.fittingBranches(node, list, inner)) {
      if (branch.unevaluatedItems !== undefined) return new Set(list.keys());
      for (const index of this.seenItems(branch, list, inner)) seen.add(index);
    }
    return seen;
  }
}
