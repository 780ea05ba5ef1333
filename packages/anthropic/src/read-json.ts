import type { JsonValue } from '@guardloop/core/model';
import { isTooDeep } from '@guardloop/core/model';

/** The value, or undefined for text that is no JSON or is nested too deep. */
export function parse(json: string): JsonValue | undefined {
  if (isTooDeep(json)) return undefined;
  try {
    return JSON.parse(json) as JsonValue;
  } catch {
    return undefined;
  }
}
