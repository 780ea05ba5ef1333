import type { JsonObject, JsonValue } from '@guardloop/core/model';

/** Thrown inside a conversion where the API's subset has no word for something. */
class Inexpressible extends Error {}

const formats = new Set(['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid']);
const types = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);
/** Taken over as they are. */
const plain = new Set(['title', 'default']);
/** What the API does not take but what only narrows a value: said in the description, and checked by core when the answer is there. */
const limits = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'contentEncoding',
]);
const silent = new Set(['$schema', '$id', '$comment', 'examples', 'deprecated', 'readOnly', 'writeOnly']);

interface Walk {
  readonly root: JsonObject;
  /** References that are being followed, against schemas that contain themselves. */
  readonly following: readonly string[];
}

const converted = new WeakMap<JsonObject, JsonObject | 'inexpressible'>();

/**
 * A JSON Schema in the subset that the API's structured output takes, or undefined if it cannot say the same: open objects (records),
 * tuples, schemas that contain themselves, intersections. Limits on numbers and lengths become words.
 */
export function outputSchema(schema: JsonObject): JsonObject | undefined {
  let result = converted.get(schema);
  if (result === undefined) {
    try {
      result = convert(schema, { root: schema, following: [] });
    } catch (error) {
      if (!(error instanceof Inexpressible)) throw error;
      result = 'inexpressible';
    }
    converted.set(schema, result);
  }
  return result === 'inexpressible' ? undefined : result;
}

function convert(schema: JsonValue | undefined, walk: Walk): JsonObject {
  if (!isObject(schema)) throw new Inexpressible();
  if (typeof schema.$ref === 'string') return follow(schema, schema.$ref, walk);
  const options = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(schema.type)) return { anyOf: schema.type.map((type: JsonValue) => convert({ ...schema, type }, walk)) };
  const words = describe(schema);
  if (Array.isArray(options)) {
    refuseOthers(schema, ['anyOf', 'oneOf', '$defs', 'definitions']);
    return { anyOf: options.map((option: JsonValue) => convert(option, walk)), ...words };
  }
  if (schema.const !== undefined || schema.enum !== undefined) return { ...literals(schema), ...words };
  const { type } = schema;
  if (typeof type !== 'string' || !types.has(type)) throw new Inexpressible();
  if (type === 'object') return { ...convertObject(schema, walk), ...words };
  if (type === 'array') {
    refuseOthers(schema, ['type', 'items']);
    return { type, items: convert(schema.items, walk), ...words };
  }
  refuseOthers(schema, ['type', 'format']);
  return { type, ...(typeof schema.format === 'string' && formats.has(schema.format) ? { format: schema.format } : {}), ...words };
}

function convertObject(schema: JsonObject, walk: Walk): JsonObject {
  refuseOthers(schema, ['type', 'properties', 'required', 'additionalProperties', '$defs', 'definitions']);
  if (schema.additionalProperties !== undefined && schema.additionalProperties !== false) throw new Inexpressible();
  const properties = isObject(schema.properties) ? schema.properties : {};
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, convert(property, walk)])),
    ...(schema.required === undefined ? {} : { required: schema.required }),
    additionalProperties: false,
  };
}

function literals(schema: JsonObject): JsonObject {
  refuseOthers(schema, ['type', 'const', 'enum']);
  const values = schema.const === undefined ? schema.enum : [schema.const];
  if (!Array.isArray(values) || values.some((value) => typeof value === 'object' && value !== null)) throw new Inexpressible();
  return schema.const === undefined ? { enum: values } : { const: schema.const };
}

/** References are replaced by what they mean. */
function follow(schema: JsonObject, reference: string, walk: Walk): JsonObject {
  if (!reference.startsWith('#/') || walk.following.includes(reference)) throw new Inexpressible();
  const target = reference
    .slice(2)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<JsonValue | undefined>((value, step) => (isObject(value) ? value[step] : undefined), walk.root);
  const { $ref: _, ...besides } = schema;
  refuseOthers(besides, ['$defs', 'definitions']);
  return { ...convert(target, { root: walk.root, following: [...walk.following, reference] }), ...describe(besides) };
}

function refuseOthers(schema: JsonObject, known: readonly string[]): void {
  for (const key of Object.keys(schema)) {
    if (!known.includes(key) && !plain.has(key) && !limits.has(key) && !silent.has(key) && key !== 'description') throw new Inexpressible();
  }
}

/** Title, default and description, the latter with what the API cannot check. */
function describe(schema: JsonObject): JsonObject {
  const stated = Object.entries(schema).filter(([key, value]) => isStated(key, value));
  const words = [
    ...(typeof schema.description === 'string' && schema.description !== '' ? [schema.description] : []),
    ...(stated.length === 0 ? [] : [`(${stated.map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join(', ')})`]),
  ];
  const kept = Object.entries(schema).filter(([key]) => plain.has(key));
  return { ...Object.fromEntries(kept), ...(words.length === 0 ? {} : { description: words.join(' ') }) };
}

function isStated(key: string, value: JsonValue | undefined): boolean {
  if (key === 'format') return typeof value === 'string' && !formats.has(value);
  return limits.has(key) && Math.abs(Number(value)) !== Number.MAX_SAFE_INTEGER;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
