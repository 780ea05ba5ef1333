import { isPlain } from './is-plain.js';

/** Under this registered symbol core keeps what a tool is made of; it has no other way to the schema of a tool that is not called yet. */
const spec = Symbol.for('guardloop.spec');
/** What may allow arguments that `properties` does not name. */
const widening = ['patternProperties', 'anyOf', 'oneOf', 'allOf', '$ref', 'if'] as const;

type Fields = { readonly [name: string]: unknown };
const fieldsOf = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null && isPlain(value) ? (value as Fields) : undefined;

/** Names of the arguments that a tool's schema has; undefined where it takes others too, or is not known. */
export function argumentsOf(tool: object): readonly string[] | undefined {
  const { input } = fieldsOf((tool as { readonly [spec]?: unknown })[spec]) ?? {};
  const schema = fieldsOf((input as { readonly json?: unknown } | undefined)?.json);
  const properties = fieldsOf(schema?.properties);
  if (schema === undefined || properties === undefined || widening.some((keyword) => keyword in schema)) return undefined;
  const { additionalProperties = false } = schema;
  return additionalProperties === false ? Object.keys(properties) : undefined;
}
