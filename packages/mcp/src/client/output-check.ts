import type { JsonObject, JsonValue } from '@guardloop/core';
import { jsonSchemaCheck } from '@guardloop/core/model';
import { withoutSlowPatterns } from './linear-patterns.js';

const mostSaid = 5;

/**
 * Checks structured results against what the server declared, in bounded work: the server writes both. Gives what does not fit, without a
 * value. Throws an Error for a schema that cannot be used.
 */
export function outputCheck(schema: JsonObject): (structured: JsonValue) => string | undefined {
  const check = jsonSchemaCheck(withoutSlowPatterns(schema));
  return (structured) => {
    const issues = check(structured);
    if (issues.length === 0) return undefined;
    const said = issues.slice(0, mostSaid).map(({ path, expected }) => `${path === '' ? 'the result' : path}: expected ${expected}`);
    return `${said.join('; ')}${issues.length > mostSaid ? `; and ${issues.length - mostSaid} more` : ''}.`;
  };
}
