import type { JsonObject, JsonValue } from '../model/types.js';
import { looksAround } from '../schema/schema-words.js';

/** A tool's schema as provider APIs take it where they do not hold the model to it. */
export interface WireToolSchema {
  readonly schema: JsonObject;
  /** True where the branches of the tool's own schema are not told apart in it. Core checks every input with the tool's own. */
  readonly isWidened: boolean;
}

type Nodes = Record<string, JsonValue | undefined>;

const inMaps = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
const inLists = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const alone = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames', 'unevaluatedProperties'];
const notAtRoot = ['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const'];
const maxDepth = 500;
const maxReferences = 32;

const known = new WeakMap<JsonObject, WireToolSchema>();

/**
 * The schema of a tool's input for an API that refuses `anyOf`, `oneOf`, `allOf`, `not`, `enum` and `const` at the root (OpenAI:
 * langchain-ai/langchainjs#9804, Anthropic: anthropics/claude-code#5878), a root without `properties` (OpenAI: spring-projects/spring-ai#4776),
 * arrays without `items` (OpenAI: sigoden/aichat#1049) and patterns that look around (OpenAI: vercel/ai#21037). What is missing is written
 * out as `{}`, which means the same; such a pattern goes into the description. At the root, the properties of all branches are offered
 * together, each as the branches that have it say it, and those that every branch requires are required. Everything else stays as it is, and
 * so does the object where nothing had to change.
 */
export function wireToolSchema(schema: JsonObject): WireToolSchema {
  let made = known.get(schema);
  if (made === undefined) {
    const whole = withItems(schema, 0);
    const isWidened = notAtRoot.some((keyword) => whole[keyword] !== undefined);
    const flat = isWidened ? defined(new Flattener(whole).flattened(whole)) : whole;
    const isComplete = flat.type === 'object' && flat.properties !== undefined;
    made = { schema: isComplete ? flat : { ...flat, type: 'object', properties: flat.properties ?? {} }, isWidened };
    known.set(schema, made);
  }
  return made;
}

function withItems(node: JsonObject, depth: number): JsonObject {
  if (depth > maxDepth) return node;
  const changed: Nodes = {};
  const child = (value: JsonValue | undefined): JsonValue | undefined => (isObject(value) ? withItems(value, depth + 1) : value);
  const ways: readonly (readonly [readonly string[], (value: JsonValue | undefined) => JsonValue | undefined])[] = [
    [alone, child],
    [inMaps, (value) => mapped(value, child)],
    [inLists, (value) => listed(value, child)],
  ];
  for (const [keywords, made] of ways) {
    for (const keyword of keywords) {
      const after = made(node[keyword]);
      if (after !== node[keyword]) changed[keyword] = after;
    }
  }
  if (node.items === undefined && typesOf(node).includes('array')) changed.items = {};
  if (typeof node.pattern === 'string' && looksAround.test(node.pattern)) Object.assign(changed, inWords(node, node.pattern));
  return Object.keys(changed).length === 0 ? node : defined({ ...node, ...changed });
}

function inWords({ description }: JsonObject, pattern: string): Nodes {
  const words = `(pattern: ${JSON.stringify(pattern)})`;
  return { pattern: undefined, description: typeof description === 'string' && description !== '' ? `${description} ${words}` : words };
}

function mapped(value: JsonValue | undefined, child: (value: JsonValue | undefined) => JsonValue | undefined): JsonValue | undefined {
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, entry]) => [key, child(entry)] as const);
  return entries.every(([key, entry]) => entry === value[key]) ? value : Object.fromEntries(entries);
}

function listed(value: JsonValue | undefined, child: (value: JsonValue | undefined) => JsonValue | undefined): JsonValue | undefined {
  if (!isList(value)) return value;
  const entries = value.map((entry) => child(entry) ?? null);
  return entries.every((entry, index) => entry === value[index]) ? value : entries;
}

/** Writes nodes without combinators: what their branches say of properties, said together. Each node is written once. */
class Flattener {
  readonly #root: JsonObject;
  readonly #made = new Map<JsonObject, JsonObject>();

  constructor(root: JsonObject) {
    this.#root = root;
  }

  flattened(given: JsonObject): JsonObject {
    const known = this.#made.get(given);
    if (known !== undefined) return known;
    // What refers to itself fits anything inside itself.
    this.#made.set(given, { type: 'object' });
    const { anyOf, oneOf, allOf, not: _not, enum: _enum, const: _const, ...own } = resolved(this.#root, given);
    let flat: JsonObject = own;
    for (const part of this.#parts(allOf)) flat = both(flat, part);
    for (const branches of [this.#parts(anyOf), this.#parts(oneOf)]) if (branches.length > 0) flat = both(flat, either(branches));
    this.#made.set(given, flat);
    return flat;
  }

  #parts(list: JsonValue | undefined): readonly JsonObject[] {
    if (!isList(list)) return [];
    return list.flatMap((branch) => (isObject(branch) ? [this.flattened(branch)] : branch === false ? [] : [{}]));
  }
}

/** What fits both: every property of the two, each as both say it. */
function both(one: JsonObject, other: JsonObject): JsonObject {
  return {
    ...one,
    ...closing([one, other].some(isClosed) && [one, other].every((part) => isClosed(part) || !hasProperties(part))),
    ...(other.patternProperties === undefined ? {} : matching([one, other])),
    properties: joined([one, other], 'allOf'),
    ...requiring([...new Set([...requiredOf(one), ...requiredOf(other)])]),
  };
}

/** What fits any of them: every property of all, each as any says it. */
function either(branches: readonly JsonObject[]): JsonObject {
  return {
    type: 'object',
    ...closing(branches.every(isClosed)),
    ...matching(branches),
    properties: joined(branches, 'anyOf'),
    ...requiring(requiredOf(branches[0] ?? {}).filter((name) => branches.every((branch) => requiredOf(branch).includes(name)))),
  };
}

function joined(parts: readonly JsonObject[], how: 'anyOf' | 'allOf'): JsonObject {
  const found = new Map<string, Map<string, JsonValue>>();
  for (const part of parts) {
    for (const [name, schema] of Object.entries(isObject(part.properties) ? part.properties : {})) {
      const forms = found.get(name) ?? new Map<string, JsonValue>();
      found.set(name, forms.set(JSON.stringify(schema), schema ?? {}));
    }
  }
  // What a pattern of another branch lets be anything may be anything.
  const free = how === 'anyOf' ? parts.filter((part) => part.patternProperties !== undefined) : [];
  for (const [name, forms] of found)
    if (free.some(({ properties }) => !isObject(properties) || !Object.hasOwn(properties, name))) forms.set('{}', {});
  return Object.fromEntries(
    [...found].map(([name, forms]) => {
      const [first = {}, ...others] = forms.values();
      return [name, others.length === 0 ? first : { [how]: [first, ...others] }];
    }),
  );
}

/** Without the keywords that were taken out. */
function defined(schema: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined));
}

function closing(isClosedTogether: boolean): JsonObject {
  return { additionalProperties: isClosedTogether ? false : undefined };
}

function requiring(names: readonly string[]): JsonObject {
  return { required: names.length === 0 ? undefined : names };
}

/** The patterns of all parts, of what may stand under them nothing said. */
function matching(parts: readonly JsonObject[]): JsonObject {
  const patterns = parts.flatMap(({ patternProperties }) => (isObject(patternProperties) ? Object.keys(patternProperties) : []));
  return patterns.length === 0 ? {} : { patternProperties: Object.fromEntries(patterns.map((pattern) => [pattern, {}])) };
}

function isClosed(part: JsonObject): boolean {
  return part.additionalProperties === false && part.patternProperties === undefined;
}

function hasProperties(part: JsonObject): boolean {
  return isObject(part.properties) && Object.keys(part.properties).length > 0;
}

function requiredOf(part: JsonObject): readonly string[] {
  return isList(part.required) ? part.required.filter((name) => typeof name === 'string') : [];
}

function resolved(root: JsonObject, node: JsonObject): JsonObject {
  let at: JsonValue | undefined = node;
  for (let step = 0; step < maxReferences && isObject(at) && typeof at.$ref === 'string'; step += 1) {
    const { $ref: path, ...siblings }: JsonObject & { readonly $ref: string } = { ...at, $ref: at.$ref };
    const target: JsonValue | undefined = path === '#' ? root : path.startsWith('#/') ? pointed(root, path.slice(2)) : undefined;
    at = isObject(target) ? (Object.keys(siblings).length === 0 ? target : { ...target, ...siblings }) : siblings;
  }
  return isObject(at) ? at : {};
}

function pointed(root: JsonObject, pointer: string): JsonValue | undefined {
  let at: JsonValue | undefined = root;
  for (const step of pointer.split('/').map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))) {
    if (!isObject(at) || !Object.hasOwn(at, step)) return undefined;
    at = at[step];
  }
  return at;
}

function typesOf(node: JsonObject): readonly JsonValue[] {
  return isList(node.type) ? node.type : node.type === undefined ? [] : [node.type];
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}
