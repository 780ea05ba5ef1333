import type { JsonObject } from '../model/types.js';
import { toolSpecOf } from './definition.js';
import { property } from './definition-reader.js';
import type { Route, Tool } from './types.js';

/**
 * The JSON Schema of a tool's input, as a model is shown it: for proposals such as `suggestFlow`, and for what is put around tools. Undefined
 * while a schema that takes time is still being converted. Throws CONFIG_INVALID for what is no tool.
 */
export function inputSchemaOf(tool: Tool<never, string, unknown, Route>): JsonObject | undefined {
  return property(toolSpecOf(tool, 'The tool of inputSchemaOf').input, 'json') as JsonObject | undefined;
}
