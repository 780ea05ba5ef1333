import type { JsonObject, JsonValue, StrictRules } from '../model/types.js';
import { Alternatives, requiredOf } from './alternatives.js';
import { isList, isObject } from './json-schema-node.js';
import { isType } from './json-values.js';
import { annotated, isNarrowing, narrowed } from './schema-words.js';
import { StrictDefinitions } from './strict-definitions.js';
import type { At } from './strict-refusal.js';
import { recordWords, refuseBeside, refuseKeywords, refuseStrict, tupleWords } from './strict-refusal.js';
import { measure } from './strict-size.js';
import { refuseConfused } from './strict-unions.js';

/** What a conversion gives. */
export interface Converted {
  readonly schema: JsonObject;
  /** Fields that may be left out, where the form lets them. */
  readonly optional: number;
  /** Places where one of several types fits. */
  readonly unions: number;
}

/** Of schemas in schemas, definitions counted apart: the walk goes no deeper, whatever the rules say. */
export const deepestSchema = 100;
const mostNodes = 10_000;

/** One conversion of a schema into a strict form. Throws StrictRefusal. */
export class StrictConversion {
  readonly #schema: JsonObject;
  readonly #rules: StrictRules;
  readonly #alternatives: Alternatives;
  readonly #definitions: StrictDefinitions;
  #nodes = 0;
  #optional = 0;
  #unions = 0;

  constructor(schema: JsonObject, rules: StrictRules) {
    this.#schema = schema;
    this.#rules = rules;
    this.#alternatives = new Alternatives(schema);
    this.#definitions = new StrictDefinitions(schema);
  }

  whole(): Converted {
    const converted = this.#convert(this.#rootNode(), { path: '', depth: 1 });
    this.#definitions.convertAll((given, at) => this.#convert(given, at));
    const circle = this.#rules.recursive ? undefined : this.#definitions.circle();
    if (circle !== undefined)
      refuseStrict(circle, '$ref', `It contains itself, which ${this.#rules.provider} does not take. Limit how deep it goes.`);
    const schema = { ...converted, ...this.#definitions.fields() };
    const over = measure(schema, this.#rules.limits);
    if (over !== undefined) refuseStrict({ path: '', depth: 0 }, over.keyword, over.why);
    return { schema, optional: this.#optional, unions: this.#unions };
  }

  /** What the root stands for, without references around it. */
  #rootNode(): JsonObject {
    const at: At = { path: '', depth: 0 };
    let node = this.#schema;
    for (let step = 0; typeof node.$ref === 'string'; step += 1) {
      const { $ref: reference, ...beside } = node;
      refuseBeside(beside, at, '$ref');
      const target = this.#definitions.target(reference, at);
      if (!isObject(target) || step > deepestSchema) return refuseStrict(at, '$ref', 'It refers to nothing but itself.');
      node = { ...target, ...beside };
    }
    if (this.#rules.root === 'object') {
      const union = ['anyOf', 'oneOf'].find((keyword) => node[keyword] !== undefined);
      if (union !== undefined) refuseStrict(at, union, 'The root is a union. Put it into a field of an object.');
      if (node.type !== 'object') refuseStrict(at, 'type', 'The root is no object. Put it into a field of an object.');
    }
    return node;
  }

  #convert(given: JsonValue | undefined, at: At): JsonObject {
    this.#nodes += 1;
    if (this.#nodes > mostNodes) refuseStrict(at, 'size', `The schema has more than ${mostNodes} parts. Simplify it.`);
    const deepest = Math.min(this.#rules.limits.depth, deepestSchema);
    if (at.depth > deepest) refuseStrict(at, 'depth', `The schema is nested more than ${deepest} levels deep. Make it flatter.`);
    if (!isObject(given))
      return refuseStrict(at, 'type', given === false ? 'Nothing fits it. Leave it out.' : 'Anything fits it. Say its type.');
    if (given.$id !== undefined && given !== this.#schema)
      refuseStrict(at, '$id', 'It is a schema of its own inside another, so its references may mean something else. Remove its $id.');
    if (given.nullable === true) {
      const { nullable: _flag, ...rest } = given;
      return this.#nullable(this.#convert(rest, at));
    }
    refuseKeywords(given, at);
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
        return refuseStrict(at, 'type', type === undefined ? 'Anything fits it. Say its type.' : 'Its type is none that JSON has.');
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
    if (isOpen || (additionalProperties === undefined && !namesFields)) refuseStrict(at, 'additionalProperties', recordWords);
    const fields = isObject(properties) ? properties : {};
    const required = new Set(requiredOf(node));
    const unnamed = [...required].find((name) => !Object.hasOwn(fields, name));
    if (unnamed !== undefined)
      refuseStrict(at, 'required', 'It needs a field of which it does not say the type. Say it in its properties.');
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
      refuseStrict(
        at,
        'required',
        `It may be left out, and it may be null: ${this.#rules.provider} has null for both. Make it one of the two.`,
      );
    return this.#nullable(converted);
  }

  #array(node: JsonObject, at: At): JsonObject {
    const { items } = node;
    if (isList(items)) refuseStrict(at, 'items', tupleWords);
    if (items === undefined) refuseStrict(at, 'items', 'Its elements may be anything. Say their type.');
    const converted = this.#convert(items, { path: `${at.path}[]`, depth: at.depth + 1 });
    return { type: 'array', items: converted, ...narrowed(node, 'array', this.#rules) };
  }

  #literals(node: JsonObject, at: At): JsonObject {
    const { type } = node;
    const keyword = node.const === undefined ? 'enum' : 'const';
    const listed = node.const === undefined ? node.enum : [node.const];
    const given = isList(listed) ? listed : refuseStrict(at, 'enum', 'It is no list. List the values that fit.');
    if (given.some((value) => typeof value === 'object' && value !== null))
      refuseStrict(at, keyword, 'One of its values is an object or a list. Describe it with its fields.');
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
      return values.length > 0 ? { type: 'null', ...words } : refuseStrict(at, keyword, 'No value fits it. Leave it out.');
    const whole = solid.length === 1 ? { ...first, ...words } : { anyOf: solid, ...words };
    if (solid.length > 1) this.#unions += 1;
    return values.includes(null) ? this.#nullable(whole) : whole;
  }

  #union(node: JsonObject, at: At): JsonObject {
    const { anyOf, oneOf, type, ...beside } = node;
    const keyword = anyOf === undefined ? 'oneOf' : 'anyOf';
    if (anyOf !== undefined && oneOf !== undefined) refuseStrict(at, 'oneOf', 'It stands beside anyOf. Write one union.');
    refuseBeside(beside, at, keyword);
    const given = anyOf ?? oneOf;
    if (!isList(given) || given.length === 0) return refuseStrict(at, keyword, 'It has no alternatives. Name them.');
    const branches = type === undefined ? given : given.map((branch) => withType(branch, type));
    if (branches.length > 1) this.#unions += 1;
    const converted = branches.map((branch) => this.#convert(branch, { path: at.path, depth: at.depth + 1 }));
    refuseConfused({ keyword, branches, at }, this.#alternatives, this.#rules);
    return { anyOf: converted, ...annotated(node, this.#rules) };
  }

  /** An `allOf` of one part is that part. */
  #only(node: JsonObject, at: At): JsonObject {
    let whole = node;
    for (let step = 0; whole.allOf !== undefined && !isWords(whole.allOf); step += 1) {
      const { allOf, type, ...beside } = whole;
      const [part, ...others] = isList(allOf) ? allOf : [];
      if (!isObject(part) || others.length > 0 || step > deepestSchema)
        return refuseStrict(at, 'allOf', 'It is made of several parts that must all fit. Write them as one.');
      refuseBeside(beside, at, 'allOf');
      whole = { ...(type === undefined ? part : (withType(part, type) as JsonObject)), ...wordsOf(whole) };
    }
    return this.#convert(whole, at);
  }

  #reference(node: JsonObject, at: At): JsonObject {
    const { $ref: given, ...beside } = node;
    const reference = typeof given === 'string' ? given : '';
    refuseBeside(beside, at, '$ref');
    this.#definitions.refer(reference, at);
    const words = annotated(beside, this.#rules);
    if (Object.keys(words).length === 0) return { $ref: reference };
    // Beside a reference nothing may stand.
    this.#unions += 1;
    return { anyOf: [{ $ref: reference }], ...words };
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
