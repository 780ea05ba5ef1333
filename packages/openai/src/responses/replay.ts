import type { JsonObject, JsonValue } from '@guardloop/core/model';

/**
 * Which reasoning items go back: those with encrypted content (`encrypted`), all as they came (`plain`, for servers that give reasoning in
 * plain text), or none.
 */
export type ReasoningItems = 'encrypted' | 'plain' | 'none';

/** The items of an answer as they are sent back, and what of it was left out. */
export interface Replay {
  readonly items: readonly JsonObject[];
  readonly lost: 'nothing' | 'reasoning' | 'items';
}

/** Items that the API does not take back in a request without provider-held state, or that wait for an answer nobody can give. */
const unreplayable = new Set(['image_generation_call', 'mcp_approval_request']);
/** Items that say all they have to say without their id, and may stand without the reasoning that came with them. */
const selfContained = new Set(['message', 'function_call']);

/**
 * The form in which the output items of one answer may go back to the API with `store: false`.
 *
 * The API binds a reasoning item to its id, and what follows it to that reasoning item by their ids. So either an answer goes back as it
 * came, ids included, or its reasoning is left out with everything that depends on it: the ids of messages and calls, and the provider's
 * own tool calls.
 */
export function replayOf(output: readonly JsonObject[], kept: ReasoningItems): Replay {
  const reasoning = output.filter(({ type }) => type === 'reasoning');
  const replayable = output.filter(({ type }) => typeof type !== 'string' || !unreplayable.has(type));
  if (reasoning.length === 0) return { items: replayable, lost: replayable.length === output.length ? 'nothing' : 'items' };
  const isWhole = replayable.length === output.length && output.at(-1)?.type !== 'reasoning';
  const isKept = kept !== 'none' && reasoning.every((item) => kept === 'plain' || isEncrypted(item));
  return isWhole && isKept ? { items: output, lost: 'nothing' } : { items: withoutReasoning(output), lost: 'reasoning' };
}

/** Only what was said and called, bound to nothing. */
export function withoutReasoning(output: readonly JsonObject[]): readonly JsonObject[] {
  return output.filter(({ type }) => typeof type === 'string' && selfContained.has(type)).map(withoutId);
}

/** The id of an item that stands in a request as it came; none for items that went without. */
export function itemId(item: JsonObject): string | undefined {
  return typeof item.id === 'string' && item.id !== '' ? item.id : undefined;
}

function isEncrypted({ encrypted_content: content }: JsonObject): boolean {
  return typeof content === 'string' && content !== '';
}

/** The status goes with the id: the API gives both to items that it keeps. */
function withoutId(item: JsonObject): JsonObject {
  const { id: _id, status: _status, ...rest } = item;
  return rest;
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
