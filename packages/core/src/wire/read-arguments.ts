import { jsonLoss } from '../model/json-loss.js';
import type { JsonValue } from '../model/types.js';
import { isTooDeep } from './json-depth.js';

/**
 * The arguments of a call, read; or their raw text, for core to refuse: what is no JSON, is nested too deep, or holds what no reading of it
 * gives, as a key that stands twice, or a whole number beyond the exact ones. What is recorded and sent back of a call is then what was read.
 */
export function readArguments(text: string): { readonly input: JsonValue } | { readonly unparsable: string } {
  if (isTooDeep(text)) return { unparsable: text };
  try {
    const input = JSON.parse(text) as JsonValue;
    return jsonLoss(text, input) === undefined ? { input } : { unparsable: text };
  } catch {
    return { unparsable: text };
  }
}
