import type { JsonValue } from '../model/types.js';
import type { SchemaIssue } from './compiled.js';
import { copySchema } from './copy-schema.js';
import { JsonSchemaChecker } from './json-schema.js';
import { rawIssue } from './raw-input.js';

/**
 * Makes a check of values against a JSON Schema from anywhere, a server's own too. The schema is copied, and bounded in depth and size; each
 * check is bounded in work. Gives what does not fit, without a value: empty where all fits. Patterns are native regular expressions: leave
 * out those that may take long. Throws an Error that says what in the schema cannot be used.
 */
export function jsonSchemaCheck(schema: object): (value: JsonValue) => readonly SchemaIssue[] {
  const checker = new JsonSchemaChecker(copySchema(schema));
  return (value) => {
    const refused = rawIssue(value);
    return refused ? [refused] : checker.check(value);
  };
}
