import type { Fields, Problems } from './anthropic-fields.js';
import { isFields, listOf } from './anthropic-fields.js';

const refusedKeywords = [
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'maxItems',
  'uniqueItems',
  'patternProperties',
  'prefixItems',
  'propertyNames',
  'oneOf',
  'not',
  'if',
];
/** Of all strict schemas of a request together. */
const most = { tools: 20, optional: 24, unions: 16 };

/** What the API refuses a schema for that it is to hold the model to: of a structured answer, or of a strict tool. */
export function* checkStrictSchema(schema: unknown, place: string): Problems {
  if (!isFields(schema)) return yield `${place}: not a schema`;
  for (const keyword of refusedKeywords) if (schema[keyword] !== undefined) yield `${place}.${keyword}: not in structured output`;
  if (schema.type === 'object' && schema.additionalProperties !== false) yield `${place}.additionalProperties: must be false`;
  for (const [path, child] of children(schema)) yield* checkStrictSchema(child, `${place}.${path}`);
}

/** What it refuses all of them together for. */
export function* checkStrictSize({ tools, output_config: config }: Fields): Problems {
  const strict = listOf(tools).filter((tool) => isFields(tool) && tool.strict === true) as readonly Fields[];
  const format = isFields(config) && isFields(config.format) ? [config.format.schema] : [];
  const schemas = [...strict.map((tool) => tool.input_schema), ...format].filter(isFields);
  const nodes = schemas.flatMap(allIn);
  const optional = nodes.map(optionalIn).reduce((sum, count) => sum + count, 0);
  const unions = nodes.filter((node) => Array.isArray(node.type) || listOf(node.anyOf).length > 1).length;
  if (strict.length > most.tools) yield `tools: ${strict.length} are strict, and ${most.tools} are allowed`;
  if (optional > most.optional) yield `strict schemas: ${optional} optional parameters, and ${most.optional} are allowed`;
  if (unions > most.unions) yield `strict schemas: ${unions} parameters with union types, and ${most.unions} are allowed`;
}

function optionalIn({ properties, required }: Fields): number {
  return Object.keys(isFields(properties) ? properties : {}).filter((name) => !listOf(required).includes(name)).length;
}

function allIn(schema: Fields): readonly Fields[] {
  return [
    schema,
    ...children(schema)
      .map(([, child]) => child)
      .filter(isFields)
      .flatMap(allIn),
  ];
}

function children(schema: Fields): readonly (readonly [string, unknown])[] {
  const named = ['properties', '$defs', 'definitions', 'anyOf'].flatMap((keyword) =>
    Object.entries(schema[keyword] ?? {}).map(([name, child]): readonly [string, unknown] => [`${keyword}.${name}`, child]),
  );
  return schema.items === undefined ? named : [...named, ['items', schema.items]];
}
