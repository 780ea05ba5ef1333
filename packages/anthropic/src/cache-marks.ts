import type { JsonObject, JsonValue } from '@guardloop/core/model';
import { GuardloopError } from '@guardloop/core/model';
import { isObject } from './blocks.js';

/** The API takes four in a request. */
const mostMarks = 4;
const fiveMinutes: JsonObject = { type: 'ephemeral' };

/**
 * Marks for the prompt cache: the end of the system text, which all conversations of an agent share, and, by the API itself, the end of the
 * request. What the caller has marked (provider tools, extra fields) goes before: ours are left out where there would be more than four, or
 * where one would outlive a mark that stands before it. Throws `CONFIG_INVALID` where the caller alone marks more than four.
 */
export function withCacheMarks(body: JsonObject, cache: 'auto' | 'off'): JsonObject {
  const given = [...marksIn(body.tools), ...marksIn(body.system), ...(isObject(body.cache_control) ? [body.cache_control] : [])];
  if (given.length > mostMarks) {
    throw new GuardloopError(
      'CONFIG_INVALID',
      `providerTools and settings.extra mark ${given.length} places for the prompt cache, and Anthropic takes ${mostMarks}. Take cache_control away from some.`,
    );
  }
  if (cache === 'off') return body;
  const mark = isObject(body.cache_control) ? body.cache_control : fiveMinutes;
  const isAtEnd = isObject(body.cache_control) || given.length < mostMarks;
  const marked = isAtEnd ? { ...body, cache_control: mark } : body;
  const sum = isObject(body.cache_control) ? given.length : given.length + 1;
  const outlives = mark.ttl === '1h' && marksIn(body.tools).some(({ ttl }) => ttl !== '1h');
  if (typeof body.system !== 'string' || sum >= mostMarks || outlives) return marked;
  return { ...marked, system: [{ type: 'text', text: body.system, cache_control: mark }] };
}

function marksIn(value: JsonValue | undefined): readonly JsonObject[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((entry: JsonValue) => (isObject(entry) && isObject(entry.cache_control) ? [entry.cache_control] : []));
}
