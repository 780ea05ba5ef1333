import type { JsonObject, JsonValue } from '@guardloop/core';
import { withoutSlowPatterns } from './linear-patterns.js';
import { oneLine } from './show-text.js';

/**
 * Checks structured results against what the server declared, by the SDK's validator, which is made when it is first needed. The schema has
 * passed core's bounds. A schema that the validator does not take says so for every result.
 */
export function outputCheck(schema: JsonObject): (structured: JsonValue | undefined) => Promise<string | undefined> {
  let making: Promise<(value: unknown) => string | undefined> | undefined;
  return async (structured) => {
    making ??= make(schema);
    return (await making)(structured);
  };
}

async function make(schema: JsonObject): Promise<(value: unknown) => string | undefined> {
  const { AjvJsonSchemaValidator } = await import('@modelcontextprotocol/sdk/validation/ajv');
  try {
    // The validator knows one draft and would look for others by name; an `$id` would make it take one schema for another.
    const { $schema: _draft, $id: _id, ...rest } = withoutSlowPatterns(schema);
    const validate = new AjvJsonSchemaValidator().getValidator(JSON.parse(JSON.stringify(rest)) as { readonly type: 'object' });
    return (value) => {
      const checked = validate(value);
      return checked.valid ? undefined : oneLine(String(checked.errorMessage ?? 'it does not fit'), 500);
    };
  } catch {
    return () => 'the declared form itself cannot be used';
  }
}
