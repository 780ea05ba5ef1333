import { property } from './definition-reader.js';
import type { Detailed } from './types.js';

const brand = Symbol.for('guardloop.detailed');

/**
 * A tool's result with details for the application: the model sees `output`; `details` stands in `tool.end` and is guarded like it.
 * Both become plain JSON.
 */
export function withDetails<R, D>(output: R, details: D): Detailed<R, D> {
  return Object.freeze(Object.defineProperty({ output, details }, brand, { value: true })) as unknown as Detailed<R, D>;
}

/** What `withDetails` was given; undefined for anything else. */
export function readDetailed(value: unknown): { readonly output: unknown; readonly details: unknown } | undefined {
  return property(value, brand) === true ? (value as { readonly output: unknown; readonly details: unknown }) : undefined;
}
