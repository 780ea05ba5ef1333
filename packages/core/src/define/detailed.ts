import { property } from './definition-reader.js';
import type { Detailed, PartialWords } from './types.js';

const brand = Symbol.for('guardloop.detailed');

/** What a tool gave in one of its wrappings. */
export interface Wrapped {
  readonly output: unknown;
  /** Present where there are details. */
  readonly details?: unknown;
  /** Present where the output is a part, and says so. */
  readonly words?: PartialWords;
}

/** Puts more around what a tool gives; what is already around it stays. */
export function wrap(output: unknown, more: Omit<Wrapped, 'output'>): Wrapped {
  const inner = readDetailed(output);
  return Object.freeze(Object.defineProperty({ ...(inner ?? { output }), ...more }, brand, { value: true }));
}

/**
 * A tool's result with details for the application: the model sees `output`; `details` stands in `tool.end` and is guarded like it.
 * Both become plain JSON.
 */
export function withDetails<R, D>(output: R, details: D): Detailed<R, D> {
  return wrap(output, { details }) as unknown as Detailed<R, D>;
}

/** What `withDetails` or `partial` was given; undefined for anything else. */
export function readDetailed(value: unknown): Wrapped | undefined {
  return property(value, brand) === true ? (value as Wrapped) : undefined;
}
