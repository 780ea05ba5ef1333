import type { JsonObject, JsonValue } from '../model/types.js';
import { atPointer, isObject } from './json-schema-node.js';
import type { At } from './strict-refusal.js';
import { refuseStrict } from './strict-refusal.js';

/** A definition that something refers to. */
interface Definition {
  readonly pointer: string;
  readonly given: JsonValue;
  /** The place that refers to it first. */
  readonly at: At;
}

const root = '#';
const containers = ['$defs', 'definitions'] as const;

/** The definitions of a schema as far as it refers to them. */
export class StrictDefinitions {
  readonly #schema: JsonObject;
  readonly #waiting: Definition[] = [];
  readonly #found = new Map<string, Definition>();
  readonly #converted = new Map<string, JsonObject>();
  /** What refers to what. */
  readonly #references = new Map<string, Set<string>>();
  #within = root;

  constructor(schema: JsonObject) {
    this.#schema = schema;
  }

  /** What a reference leads to: the root, or a definition of the schema. */
  target(reference: JsonValue | undefined, at: At): JsonValue {
    if (reference === root) return this.#schema;
    const isLocal = typeof reference === 'string' && /^#\/(\$defs|definitions)\/[^/%]+$/.test(reference);
    const found = isLocal ? atPointer(this.#schema, reference.slice(1)) : undefined;
    return found ?? refuseStrict(at, '$ref', 'It refers to something else than a definition of this schema. Put that into $defs.');
  }

  /** Notes that what is being converted refers to a target. */
  refer(pointer: string, at: At): void {
    const given = this.target(pointer, at);
    const from = this.#references.get(this.#within) ?? new Set();
    this.#references.set(this.#within, from.add(pointer));
    if (pointer === root || this.#found.has(pointer)) return;
    const definition: Definition = { pointer, given, at: { path: at.path, depth: 2 } };
    this.#found.set(pointer, definition);
    this.#waiting.push(definition);
  }

  /** Converts all that was referred to, and what that refers to. */
  convertAll(convert: (given: JsonValue, at: At) => JsonObject): void {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      this.#within = next.pointer;
      this.#converted.set(next.pointer, convert(next.given, next.at));
    }
  }

  /** The place of a definition that contains itself. */
  circle(): At | undefined {
    const done = new Set<string>();
    const visit = (pointer: string, above: readonly string[]): At | undefined => {
      if (above.includes(pointer)) return this.#found.get(pointer)?.at ?? { path: '', depth: 0 };
      if (done.has(pointer)) return undefined;
      for (const next of this.#references.get(pointer) ?? []) {
        const circle = visit(next, [...above, pointer]);
        if (circle !== undefined) return circle;
      }
      done.add(pointer);
      return undefined;
    };
    return visit(root, []);
  }

  /** As they stand in the schema. */
  fields(): JsonObject {
    const fields: Record<string, JsonObject> = {};
    for (const container of containers) {
      const { [container]: given } = this.#schema;
      const kept = Object.keys(isObject(given) ? given : {}).flatMap((name): [string, JsonObject][] => {
        const converted = this.#converted.get(`#/${container}/${name.replace(/~/g, '~0').replace(/\//g, '~1')}`);
        return converted === undefined ? [] : [[name, converted]];
      });
      if (kept.length > 0) fields[container] = Object.fromEntries(kept);
    }
    return fields;
  }
}
