import { suggest } from '../errors.js';
import type { ErrorClass } from '../state/events.js';
import { DefinitionReader, describe, invalid, property } from './definition-reader.js';
import type { ToolError, ToolFailure } from './types.js';

const brand = Symbol.for('guardloop.tool-error');
/** It was said in so many words that it is not retryable. */
const finalBrand = Symbol.for('guardloop.tool-error.final');
export const errorClasses = Object.keys({
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

const optionNames = ['errorClass', 'retryable'] as const;

/**
 * For a tool to throw or return: says how it failed. `summary` is one sentence for the model, which passes the guardrails as tool output.
 * Throws CONFIG_INVALID for an option or a class that does not exist.
 */
export function toolError(summary: string, failure: ToolFailure = {}): ToolError {
  new DefinitionReader({ place: 'toolError' }, failure, optionNames);
  const { errorClass = 'failed', retryable } = failure;
  if (!errorClasses.includes(errorClass)) {
    invalid(
      `toolError was given the class ${describe(errorClass)}. ${typeof errorClass === 'string' ? suggest(errorClass, errorClasses) : ''}The classes are ${errorClasses.join(', ')}.`,
    );
  }
  const error = Object.assign(new Error(String(summary)), { name: 'ToolError', errorClass, retryable: retryable === true });
  if (retryable === false) Object.defineProperty(error, finalBrand, { value: true });
  return Object.defineProperty(error, brand, { value: true }) as unknown as ToolError;
}

/** What `toolError` made; undefined for anything else. */
export function readToolError(value: unknown): ToolError | undefined {
  return property(value, brand) === true ? (value as ToolError) : undefined;
}

/** The failure says that trying again is of no use; where `retryable` was left out, it says nothing. */
export function isFinal(error: ToolError): boolean {
  return property(error, finalBrand) === true;
}
