import type { Route, Tool } from '@guardloop/core';
import { inputSchemaOf } from '@guardloop/core';
import { isPlain } from './is-plain.js';

/** What may allow arguments that `properties` does not name. */
const widening = ['patternProperties', 'anyOf', 'oneOf', 'allOf', '$ref', 'if'] as const;

type Fields = { readonly [name: string]: unknown };
const fieldsOf = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null && isPlain(value) ? (value as Fields) : undefined;

/** Names of the arguments that a tool's schema has; undefined where it takes others too, or is not known. */
export function argumentsOf(tool: Tool<never, string, unknown, Route>): readonly string[] | undefined {
  const schema = fieldsOf(inputSchemaOf(tool));
  const properties = fieldsOf(schema?.properties);
  if (schema === undefined || properties === undefined || widening.some((keyword) => keyword in schema)) return undefined;
  const { additionalProperties = false } = schema;
  return additionalProperties === false ? Object.keys(properties) : undefined;
}
