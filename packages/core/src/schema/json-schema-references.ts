import type { JsonObject, JsonValue } from '../model/types.js';
import { atPointer, isList, isObject } from './json-schema-node.js';

/** Values of these are data, not schemas. */
const dataKeywords: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples', 'example']);
/** Values of these are schemas by name; the names are no keywords. */
const namedSchemas: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
]);
const unsupported = ['$dynamicRef', '$recursiveRef'];
const base = 'schema:/';

/** Where the references of one schema lead. */
export class SchemaReferences {
  /** Every object in the schema that may be a schema. */
  readonly nodes: readonly JsonObject[];
  private readonly targets = new Map<JsonObject, JsonValue>();
  private readonly resources = new Map<string, JsonObject>();
  private readonly anchors = new Map<string, JsonObject>();

  /** Throws an Error for a reference that leads nowhere or to elsewhere. */
  constructor(root: JsonObject) {
    const nodes = new Map<JsonObject, string>();
    this.resources.set(base, root);
    this.index(root, base, nodes);
    this.nodes = [...nodes.keys()];
    for (const [node, resource] of nodes) {
      const { $ref: reference } = node;
      if (typeof reference === 'string') this.targets.set(node, this.resolve(reference, resource));
      const keyword = unsupported.find((name) => node[name] !== undefined);
      if (keyword !== undefined) throw new Error(`${keyword} is not supported`);
    }
  }

  /** What the `$ref` of a node leads to. */
  target(node: JsonObject): JsonValue {
    return this.targets.get(node) ?? true;
  }

  private index(node: JsonObject, outer: string, nodes: Map<JsonObject, string>): void {
    const { $id: id, $anchor: anchor } = node;
    let resource = outer;
    if (typeof id === 'string' && !id.startsWith('#')) {
      resource = absolute(id, outer);
      this.resources.set(resource, node);
    }
    if (typeof anchor === 'string') this.anchors.set(`${resource}#${anchor}`, node);
    nodes.set(node, resource);
    for (const [key, value] of Object.entries(node)) {
      if (dataKeywords.has(key)) continue;
      const inner = isList(value) ? value : isObject(value) ? (namedSchemas.has(key) ? Object.values(value) : [value]) : [];
      for (const element of inner) if (isObject(element)) this.index(element, resource, nodes);
    }
  }

  private resolve(reference: string, from: string): JsonValue {
    const [url = '', fragment = ''] = absolute(reference, from).split('#');
    const resource = this.resources.get(url);
    let found: JsonValue | undefined;
    if (fragment === '') found = resource;
    else if (fragment.startsWith('/'))
      found = atPointer(resource, decode(fragment)) ?? atPointer(this.resources.get(base), decode(fragment));
    else found = this.anchors.get(`${url}#${fragment}`);
    if (found === undefined) throw new Error(`the reference ${reference.slice(0, 100)} leads to nothing in this schema`);
    return found;
  }
}

function absolute(reference: string, from: string): string {
  if (reference.startsWith('#')) return from + reference;
  try {
    return new URL(reference, from).href;
  } catch {
    return reference;
  }
}

function decode(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}
