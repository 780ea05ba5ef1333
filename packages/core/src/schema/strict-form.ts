import type { JsonObject, JsonValue, StrictRules } from '../model/types.js';
import { Alternatives, fieldNames, haveSameFields, kindsOf, mostAlternatives, requiredOf } from './alternatives.js';
import { atPointer, isList, isObject } from './json-schema-node.js';
import { isType } from './json-values.js';
import { annotated, isNarrowing, narrowed } from './schema-words.js';
import { measure } from './strict-size.js';

/** A schema in a provider's strict form, or why it has none. */
export type StrictForm =
  | {
      readonly isStrict: true;
      readonly schema: JsonObject;
      /** Fields that may be left out, where the form lets them. */
      readonly optional: number;
      /** Places where one of several types fits. */
      readonly unions: number;
    }
  | {
      readonly isStrict: false;
      /** For example `lines[].note`; empty for the root. */
      readonly path: string;
      /** What stands in the way there. */
      readonly keyword: string;
      /** In words, with what to do. Names nothing but the schema's own. */
      readonly why: string;
    };

/** Of schemas in schemas, definitions counted apart: the walk goes no deeper, whatever the rules say. */
const mostDepth = 100;
const mostNodes = 10_000;
const forms = new WeakMap<StrictRules, WeakMap<JsonObject, StrictForm>>();

/**
 * Says a schema in a provider's strict form without changing what it means: every input that fits the form fits the schema once the nulls
 * are taken out that stand for an absent field, as core does before it parses, and every input of fields that the schema names can be said
 * in it. Objects are closed where they name their fields and do not say that others are wanted. Never throws, never changes its argument;
 * the same schema and rules give the same object.
 */
export function strictForm(schema: JsonObject, rules: StrictRules): StrictForm {
  let known = forms.get(rules);
  if (known === undefined) forms.set(rules, (known = new WeakMap()));
  let form = known.get(schema);
  if (form === undefined) {
    form = Object.freeze(convert(schema, rules));
    known.set(schema, form);
  }
  return form;
}

function convert(schema: JsonObject, rules: StrictRules): StrictForm {
  try {
    return new Conversion(schema, rules).whole();
  } catch (thrown) {
    if (thrown instanceof Refusal) return { isStrict: false, path: thrown.path, keyword: thrown.keyword, why: thrown.message };
    throw thrown;
  }
}

class Refusal extends Error {
  readonly path: string;
  readonly keyword: string;

  constructor(path: string, keyword: string, why: string) {
    super(why);
    this.path = path;
    this.keyword = keyword;
  }
}

interface At {
  readonly path: string;
  readonly depth: number;
}
interface Definition {
  readonly container: '$defs' | 'definitions';
  readonly name: string;
  readonly given: JsonValue;
  readonly at: At;
}

const annotations: ReadonlySet<string> = new Set([
  ...['title', 'description', 'default', 'examples', 'example', 'deprecated', 'readOnly', 'writeOnly', 'discriminator'],
  ...['$schema', '$id', '$comment', '$anchor', '$defs', 'definitions'],
]);
const record = 'It takes fields of any name. Name the fields, or make it a list of entries with a name and a value.';
const condition = 'It makes one part of the input depend on another. Write the cases as alternatives.';
const tuple = 'Its elements differ by their position. Make it an object with a field for each.';
const refused: Readonly<Record<string, string>> = {
  patternProperties: record,
  propertyNames: record,
  unevaluatedProperties: record,
  not: 'It says what does not fit. Say what fits.',
  if: condition,
  then: condition,
  else: condition,
  dependentRequired: condition,
  dependentSchemas: condition,
  dependencies: condition,
  prefixItems: tuple,
  additionalItems: tuple,
  unevaluatedItems: tuple,
  contains: 'It says what some elements of a list are. Say what all of them are.',
  $dynamicRef: 'It refers to what is known only later. Refer to a definition in $defs.',
  $recursiveRef: 'It refers to what is known only later. Refer to a definition in $defs.',
};

class Conversion {
  readonly #schema: JsonObject;
  readonly #rules: StrictRules;
  readonly #alternatives: Alternatives;
  readonly #waiting: Definition[] = [];
  readonly #definitions = new Map<string, { readonly from: Definition; readonly converted: JsonObject }>();
  /** Definitions, by what refers to them. The root is `#`. */
  readonly #references = new Map<string, Set<string>>();
  #within = '#';
  #nodes = 0;
  #optional = 0;
  #unions = 0;

  constructor(schema: JsonObject, rules: StrictRules) {
    this.#schema = schema;
    this.#rules = rules;
    this.#alternatives = new Alternatives(schema);
  }

  whole(): StrictForm {
    const root = this.#rootNode();
    const known = new Set<string>();
    const converted = this.#convert(root, { path: '', depth: 1 });
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const pointer = pointerOf(next);
      if (known.has(pointer)) continue;
      known.add(pointer);
      this.#within = pointer;
      this.#definitions.set(pointer, { from: next, converted: this.#convert(next.given, next.at) });
    }
    this.#refuseCircles();
    const schema = { ...converted, ...this.#definitionFields() };
    const over = measure(schema, this.#rules.limits);
    if (over !== undefined) this.#refuse({ path: '', depth: 0 }, over.keyword, over.why);
    return { isStrict: true, schema, optional: this.#optional, unions: this.#unions };
  }

  #refuse({ path }: At, keyword: string, why: string): never {
    throw new Refusal(path, keyword, why);
  }

  /** What the root stands for, without references around it. */
  #rootNode(): JsonObject {
    const at: At = { path: '', depth: 0 };
    let node = this.#schema;
    for (let step = 0; typeof node.$ref === 'string'; step += 1) {
      const { $ref: reference, ...beside } = node;
      this.#refuseBeside(beside, at, '$ref');
      const target = this.#target(reference, at)?.given;
      if (!isObject(target) || step > mostDepth) return this.#refuse(at, '$ref', 'It refers to nothing but itself.');
      node = { ...target, ...beside };
    }
    if (this.#rules.root === 'object') {
      const union = ['anyOf', 'oneOf'].find((keyword) => node[keyword] !== undefined);
      if (union !== undefined) this.#refuse(at, union, 'The root is a union. Put it into a field of an object.');
      if (node.type !== 'object') this.#refuse(at, 'type', 'The root is no object. Put it into a field of an object.');
    }
    return node;
  }

  #convert(given: JsonValue | undefined, at: At): JsonObject {
    this.#nodes += 1;
    if (this.#nodes > mostNodes) this.#refuse(at, 'size', `The schema has more than ${mostNodes} parts. Simplify it.`);
    const deepest = Math.min(this.#rules.limits.depth, mostDepth);
    if (at.depth > deepest) this.#refuse(at, 'depth', `The schema is nested more than ${deepest} levels deep. Make it flatter.`);
    if (!isObject(given))
      return this.#refuse(at, 'type', given === false ? 'Nothing fits it. Leave it out.' : 'Anything fits it. Say its type.');
    if (given.$id !== undefined && given !== this.#schema)
      this.#refuse(at, '$id', 'It is a schema of its own inside another, so its references may mean something else. Remove its $id.');
    if (given.nullable === true) {
      const { nullable: _flag, ...rest } = given;
      return this.#nullable(this.#convert(rest, at));
    }
    for (const [keyword, why] of Object.entries(refused)) {
      if (given[keyword] !== undefined && !(keyword.startsWith('unevaluated') && given[keyword] === false)) this.#refuse(at, keyword, why);
    }
    if (given.$ref !== undefined) return this.#reference(given, at);
    if (given.allOf !== undefined && !isWords(given.allOf)) return this.#only(given, at);
    if (given.anyOf !== undefined || given.oneOf !== undefined) return this.#union(given, at);
    if (given.enum !== undefined || given.const !== undefined) return this.#literals(given, at);
    return this.#typed(given, at);
  }

  #typed(node: JsonObject, at: At): JsonObject {
    const { type } = node;
    if (isList(type)) return this.#ofSeveralTypes(node, type, at);
    switch (type) {
      case 'object':
        return this.#object(node, at);
      case 'array':
        return this.#array(node, at);
      case 'string':
      case 'number':
      case 'integer':
      case 'boolean':
      case 'null':
        return { type, ...narrowed(node, type, this.#rules) };
      default:
        return this.#refuse(at, 'type', type === undefined ? 'Anything fits it. Say its type.' : 'Its type is none that JSON has.');
    }
  }

  #ofSeveralTypes(node: JsonObject, types: readonly JsonValue[], at: At): JsonObject {
    const solid = types.filter((type) => type !== 'null');
    const [first] = solid;
    const converted =
      solid.length === 1 && first !== undefined
        ? this.#typed({ ...node, type: first }, at)
        : this.#union({ anyOf: solid.map((type) => ({ ...withoutWords(node), type })), ...wordsOf(node) }, at);
    return solid.length === types.length ? converted : this.#nullable(converted);
  }

  #object(node: JsonObject, at: At): JsonObject {
    const { properties, additionalProperties } = node;
    const isOpen = additionalProperties !== undefined && additionalProperties !== false;
    const namesFields = isObject(properties) && (Object.keys(properties).length > 0 || at.path === '');
    if (isOpen || (additionalProperties === undefined && !namesFields)) this.#refuse(at, 'additionalProperties', record);
    const fields = isObject(properties) ? properties : {};
    const required = new Set(requiredOf(node));
    const unnamed = [...required].find((name) => !Object.hasOwn(fields, name));
    if (unnamed !== undefined)
      this.#refuse(at, 'required', 'It needs a field of which it does not say the type. Say it in its properties.');
    const converted = Object.entries(fields).map(([name, field]): [string, JsonObject] => [
      name,
      this.#field(field, required.has(name), { path: at.path === '' ? name : `${at.path}.${name}`, depth: at.depth + 1 }),
    ]);
    const isComplete = this.#rules.absent === 'null';
    return {
      type: 'object',
      properties: Object.fromEntries(converted),
      ...(isComplete || required.size > 0 ? { required: isComplete ? Object.keys(fields) : [...required] } : {}),
      additionalProperties: false,
      ...narrowed(node, 'object', this.#rules),
    };
  }

  #field(field: JsonValue | undefined, isRequired: boolean, at: At): JsonObject {
    const converted = this.#convert(field, at);
    if (isRequired) return converted;
    if (this.#rules.absent === 'optional') {
      this.#optional += 1;
      return converted;
    }
    if (this.#alternatives.acceptNull(field))
      this.#refuse(
        at,
        'required',
        `It may be left out, and it may be null: ${this.#rules.provider} has null for both. Make it one of the two.`,
      );
    return this.#nullable(converted);
  }

  #array(node: JsonObject, at: At): JsonObject {
    const { items } = node;
    if (isList(items)) this.#refuse(at, 'items', tuple);
    if (items === undefined) this.#refuse(at, 'items', 'Its elements may be anything. Say their type.');
    const converted = this.#convert(items, { path: `${at.path}[]`, depth: at.depth + 1 });
    return { type: 'array', items: converted, ...narrowed(node, 'array', this.#rules) };
  }

  #literals(node: JsonObject, at: At): JsonObject {
    const { type } = node;
    const keyword = node.const === undefined ? 'enum' : 'const';
    const listed = node.const === undefined ? node.enum : [node.const];
    const given = isList(listed) ? listed : this.#refuse(at, 'enum', 'It is no list. List the values that fit.');
    if (given.some((value) => typeof value === 'object' && value !== null))
      this.#refuse(at, keyword, 'One of its values is an object or a list. Describe it with its fields.');
    const isFitting = (value: JsonValue): boolean =>
      type === undefined || (isList(type) ? type.some((each) => isType(each, value)) : isType(type, value));
    const values = [...new Set(given)].filter(isFitting);
    const solid = (['string', 'number', 'boolean'] as const).flatMap((kind) => {
      const own = values.filter((value) => typeof value === kind);
      const [only] = own;
      if (only === undefined) return [];
      return [{ type: kind, ...(keyword === 'const' ? { const: only } : { enum: own }) }];
    });
    const words = annotated(node, this.#rules, Object.entries(node).filter(isStated));
    const [first] = solid;
    if (first === undefined)
      return values.length > 0 ? { type: 'null', ...words } : this.#refuse(at, keyword, 'No value fits it. Leave it out.');
    const whole = solid.length === 1 ? { ...first, ...words } : { anyOf: solid, ...words };
    if (solid.length > 1) this.#unions += 1;
    return values.includes(null) ? this.#nullable(whole) : whole;
  }

  #union(node: JsonObject, at: At): JsonObject {
    const { anyOf, oneOf, type, ...beside } = node;
    const keyword = anyOf === undefined ? 'oneOf' : 'anyOf';
    if (anyOf !== undefined && oneOf !== undefined) this.#refuse(at, 'oneOf', 'It stands beside anyOf. Write one union.');
    this.#refuseBeside(beside, at, keyword);
    const given = anyOf ?? oneOf;
    if (!isList(given) || given.length === 0) return this.#refuse(at, keyword, 'It has no alternatives. Name them.');
    if (given.length > mostAlternatives) this.#refuse(at, keyword, `It has more than ${mostAlternatives} alternatives. Name fewer.`);
    const branches = type === undefined ? given : given.map((branch) => withType(branch, type));
    if (branches.length > 1) this.#unions += 1;
    const converted = branches.map((branch) => this.#convert(branch, { path: at.path, depth: at.depth + 1 }));
    this.#compare(keyword, branches, at);
    return { anyOf: converted, ...annotated(node, this.#rules) };
  }

  /** Refuses alternatives that the strict form would confuse. */
  #compare(keyword: 'anyOf' | 'oneOf', branches: readonly JsonValue[], at: At): void {
    const leaves = branches.map((branch) => this.#alternatives.leaves(branch));
    for (const [index, ones] of leaves.entries()) {
      for (const [one, other] of leaves
        .slice(index + 1)
        .flatMap((others) => others.flatMap((other) => ones.map((one) => [one, other] as const)))) {
        if (this.#alternatives.areDisjoint(one, other)) {
          if (!this.#rules.sameFirstField && this.#alternatives.beginAlike(one, other))
            this.#refuse(at, keyword, `Two of its alternatives begin with the same field. Put the field first that tells them apart.`);
          continue;
        }
        if (keyword === 'oneOf')
          this.#refuse(at, 'oneOf', 'Its alternatives may overlap. Give each a field with a constant of its own, or make it an anyOf.');
        this.#refuseConfused(one, other, at);
      }
    }
  }

  #refuseConfused(one: JsonObject, other: JsonObject, at: At): void {
    const areObjects = [one, other].every((leaf) => fieldNames(leaf).length > 0 && kindsOf(leaf).has('object'));
    if (areObjects && !this.#rules.sameFirstField && this.#alternatives.beginAlike(one, other))
      this.#refuse(at, 'anyOf', 'Two of its alternatives begin with the same field. Put a field first that tells them apart.');
    if (this.#rules.absent === 'optional' || (areObjects && !haveSameFields(one, other))) return;
    if ([one, other].some((leaf) => this.#alternatives.hasOptionalFields(leaf)))
      this.#refuse(
        at,
        'anyOf',
        'With null for what is left out, its alternatives could not be told apart. Give each a field with a constant of its own.',
      );
  }

  /** An `allOf` of one part is that part. */
  #only(node: JsonObject, at: At): JsonObject {
    const { allOf, type, ...beside } = node;
    const [part, ...others] = isList(allOf) ? allOf : [];
    if (part === undefined || others.length > 0)
      return this.#refuse(at, 'allOf', 'It is made of several parts that must all fit. Write them as one.');
    this.#refuseBeside(beside, at, 'allOf');
    const whole = type === undefined ? part : withType(part, type);
    return isObject(whole)
      ? this.#convert(whole.$ref === undefined ? { ...whole, ...wordsOf(node) } : { ...wordsOf(node), ...whole }, at)
      : this.#convert(whole, at);
  }

  #reference(node: JsonObject, at: At): JsonObject {
    const { $ref: reference, ...beside } = node;
    this.#refuseBeside(beside, at, '$ref');
    const definition = this.#target(reference, at);
    const pointer = definition === undefined ? '#' : pointerOf(definition);
    const known = this.#references.get(this.#within) ?? new Set();
    this.#references.set(this.#within, known.add(pointer));
    if (definition !== undefined) this.#waiting.push(definition);
    const words = annotated(beside, this.#rules);
    if (Object.keys(words).length === 0) return { $ref: String(reference) };
    // Beside a reference nothing may stand.
    this.#unions += 1;
    return { anyOf: [{ $ref: String(reference) }], ...words };
  }

  /** The definition that is referred to; undefined for the root. */
  #target(reference: JsonValue | undefined, at: At): Definition | undefined {
    if (reference === '#') return undefined;
    const path = typeof reference === 'string' ? /^#\/(\$defs|definitions)\/([^/]+)$/.exec(reference) : null;
    const given = path === null || /%/.test(path[2] ?? '') ? undefined : atPointer(this.#schema, String(reference).slice(1));
    if (given === undefined)
      return this.#refuse(at, '$ref', 'It refers to something else than a definition of this schema. Put that into $defs.');
    const container = path?.[1] === 'definitions' ? 'definitions' : '$defs';
    return { container, name: (path?.[2] ?? '').replace(/~1/g, '/').replace(/~0/g, '~'), given, at: { path: at.path, depth: 2 } };
  }

  #refuseBeside(beside: JsonObject, at: At, keyword: string): void {
    const other = Object.keys(beside).find((key) => !annotations.has(key) && !key.startsWith('x-') && beside[key] !== undefined);
    if (other !== undefined) this.#refuse(at, keyword, `It stands beside ${other}. Write the two as one.`);
  }

  #nullable(schema: JsonObject): JsonObject {
    const { title, description, default: preset, ...rest } = schema;
    if (typeof schema.type === 'string' && schema.type !== 'object' && schema.type !== 'array' && schema.const === undefined) {
      if (schema.type === 'null') return schema;
      this.#unions += 1;
      return { ...schema, type: [schema.type, 'null'], ...(isList(schema.enum) ? { enum: [...schema.enum, null] } : {}) };
    }
    if (isList(schema.type)) return schema;
    if (isList(rest.anyOf)) {
      const hasNull = rest.anyOf.some((branch) => isObject(branch) && branch.type === 'null');
      return hasNull ? schema : { ...schema, anyOf: [...rest.anyOf, { type: 'null' }] };
    }
    this.#unions += 1;
    const words = Object.entries({ title, description, default: preset }).filter(([, value]) => value !== undefined);
    return { anyOf: [rest, { type: 'null' }], ...Object.fromEntries(words) };
  }

  #refuseCircles(): void {
    if (this.#rules.recursive) return;
    const done = new Set<string>();
    const visit = (pointer: string, above: readonly string[]): void => {
      if (above.includes(pointer)) {
        const at = this.#definitions.get(pointer)?.from.at ?? { path: '', depth: 0 };
        this.#refuse(at, '$ref', `It contains itself, which ${this.#rules.provider} does not take. Limit how deep it goes.`);
      }
      if (done.has(pointer)) return;
      for (const next of this.#references.get(pointer) ?? []) visit(next, [...above, pointer]);
      done.add(pointer);
    };
    visit('#', []);
  }

  /** The definitions that are referred to, in the schema's order. */
  #definitionFields(): JsonObject {
    const fields: Record<string, JsonObject> = {};
    for (const container of ['$defs', 'definitions'] as const) {
      const { [container]: given } = this.#schema;
      const names = isObject(given) ? Object.keys(given) : [];
      const kept = names.flatMap((name): [string, JsonObject][] => {
        const found = this.#definitions.get(pointerOf({ container, name }));
        return found === undefined ? [] : [[name, found.converted]];
      });
      if (kept.length > 0) fields[container] = Object.fromEntries(kept);
    }
    return fields;
  }
}

function pointerOf({ container, name }: Pick<Definition, 'container' | 'name'>): string {
  return `#/${container}/${name}`;
}

function isStated(entry: [string, JsonValue | undefined]): entry is [string, JsonValue] {
  return isNarrowing(entry[0]) && entry[1] !== undefined;
}

/** An `allOf` whose parts only narrow is said in words. */
function isWords(allOf: JsonValue): boolean {
  return isList(allOf) && allOf.length > 0 && allOf.every((part) => isObject(part) && Object.keys(part).every(isNarrowing));
}

function withType(branch: JsonValue, type: JsonValue): JsonValue {
  const isOpen = isObject(branch) && ['type', '$ref', 'anyOf', 'oneOf', 'allOf'].every((keyword) => branch[keyword] === undefined);
  return isOpen ? { type, ...branch } : branch;
}

function wordsOf({ title, description, default: preset }: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries({ title, description, default: preset }).filter(([, value]) => value !== undefined));
}

function withoutWords({ title: _title, description: _description, default: _default, ...rest }: JsonObject): JsonObject {
  return rest;
}
