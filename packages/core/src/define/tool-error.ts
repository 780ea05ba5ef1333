import { suggest } from '../errors.js';
import type { ErrorClass } from '../state/events.js';
import { describe, invalid, property } from './definition-reader.js';
import type { ToolError, ToolFailure } from './types.js';

const brand = Symbol.for('guardloop.tool-error');
const classes = Object.keys({
  invalid_input: true,
  unknown_tool: true,
  denied: true,
  rejected: true,
  timeout: true,
  aborted: true,
  rate_limited: true,
  not_found: true,
  unavailable: true,
  bad_result: true,
  failed: true,
} satisfies Record<ErrorClass, true>) as ErrorClass[];

/**
 * For a tool to throw or return: says how it failed. `summary` is one sentence for the model, which passes the guardrails as tool output.
 * Throws CONFIG_INVALID for a class that does not exist.
 */
export function toolError(summary: string, { errorClass = 'failed', retryable = false }: ToolFailure = {}): ToolError {
  if (!classes.includes(errorClass)) {
    invalid(
      `toolError was given the class ${describe(errorClass)}. ${typeof errorClass === 'string' ? suggest(errorClass, classes) : ''}The classes are ${classes.join(', ')}.`,
    );
  }
  const error = Object.assign(new Error(String(summary)), { name: 'ToolError', errorClass, retryable: retryable === true });
  return Object.defineProperty(error, brand, { value: true }) as unknown as ToolError;
}

/** What `toolError` made; undefined for anything else. */
export function readToolError(value: unknown): ToolError | undefined {
  return property(value, brand) === true ? (value as ToolError) : undefined;
}
