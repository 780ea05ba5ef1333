import type { JsonObject, JsonValue } from '@guardloop/core/model';

/** Keywords of the subset that the API takes with `strict: true`, whatever the type. Any other keyword sends the schema non-strict. */
const plainKeywords = new Set([
  '$schema',
  'type',
  'title',
  'description',
  'enum',
  'const',
  'pattern',
  'format',
  'multipleOf',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minItems',
  'maxItems',
]);
const formats = new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid']);
const allTypes: ReadonlySet<JsonValue> = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);
const limits = { depth: 10, properties: 5_000, enumValues: 1_000 };

const known = new WeakMap<JsonObject, boolean>();

/**
 * True if the API takes the schema with `strict: true` as it is: every object closed, every property required, only keywords of the
 * subset, within its limits. A schema is never changed to fit: what does not fit is sent non-strict, and core validates the answer.
 */
export function fitsStrictSubset(schema: JsonObject): boolean {
  const before = known.get(schema);
  if (before !== undefined) return before;
  const fits = schema.type === 'object' && new SubsetCheck(schema).accepts(schema, 1);
  known.set(schema, fits);
  return fits;
}

class SubsetCheck {
  readonly #root: JsonObject;
  #properties = 0;
  #enumValues = 0;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  accepts(schema: JsonValue | undefined, depth: number): boolean {
    if (!isObject(schema) || depth > limits.depth) return false;
    if (schema.$ref !== undefined) return this.#acceptsReference(schema);
    const types = typesOf(schema);
    if (types.length === 0 && schema.anyOf === undefined && schema.enum === undefined && schema.const === undefined) return false;
    if (!types.every((type) => allTypes.has(type))) return false;
    if (types.includes('object') && !this.#acceptsObject(schema, depth)) return false;
    if (types.includes('array') && schema.items === undefined) return false;
    return Object.keys(schema).every((keyword) => this.#acceptsKeyword(schema, keyword, depth));
  }

  #acceptsObject(schema: JsonObject, depth: number): boolean {
    const properties = schema.properties ?? {};
    const required = schema.required ?? [];
    if (schema.additionalProperties !== false || !isObject(properties) || !Array.isArray(required)) return false;
    const names = Object.keys(properties);
    this.#properties += names.length;
    if (this.#properties > limits.properties || names.length !== new Set(required).size) return false;
    return names.every((name) => required.includes(name) && this.accepts(properties[name], depth + 1));
  }

  #acceptsKeyword(schema: JsonObject, keyword: string, depth: number): boolean {
    const value = schema[keyword];
    switch (keyword) {
      case 'format':
        return typeof value === 'string' && formats.has(value);
      case 'enum':
        this.#enumValues += Array.isArray(value) ? value.length : 0;
        return Array.isArray(value) && value.length > 0 && this.#enumValues <= limits.enumValues;
      case 'properties':
      case 'required':
      case 'additionalProperties':
        return typesOf(schema).includes('object');
      case 'items':
        return this.accepts(value, depth + 1);
      case 'anyOf':
        return depth > 1 && Array.isArray(value) && value.length > 0 && value.every((option) => this.accepts(option, depth + 1));
      case '$defs':
      case 'definitions':
        return depth === 1 && isObject(value) && Object.values(value).every((definition) => this.accepts(definition, 2));
      default:
        return plainKeywords.has(keyword);
    }
  }

  #acceptsReference(schema: JsonObject): boolean {
    const { $ref } = schema;
    if (typeof $ref !== 'string' || Object.keys(schema).some((key) => key !== '$ref')) return false;
    if ($ref === '#') return true;
    const match = /^#\/(\$defs|definitions)\/([^/~%]+)$/.exec($ref);
    const definitions = match?.[1] === undefined ? undefined : this.#root[match[1]];
    return isObject(definitions) && match?.[2] !== undefined && Object.hasOwn(definitions, match[2]);
  }
}

function typesOf(schema: JsonObject): readonly JsonValue[] {
  if (schema.type === undefined) return [];
  return Array.isArray(schema.type) ? schema.type : [schema.type];
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
