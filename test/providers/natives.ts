import type { AssistantMessage, JsonValue, Message, RunEvent } from '@guardloop/core';

/** The assistant items of a transcript, from the one with this index on. */
export function answersOf(messages: readonly Message[], from = 0): readonly AssistantMessage[] {
  return messages.filter((message) => message.role === 'assistant').slice(from);
}

/** The pieces of a provider's own message, as they stand in a request: blocks, items, or the message whole. */
export function piecesOf({ native }: AssistantMessage): readonly string[] {
  if (native === undefined) return [];
  const { message } = native;
  const pieces: readonly JsonValue[] = Array.isArray(message) ? (message as readonly JsonValue[]) : [message];
  return pieces.map((piece) => JSON.stringify(withoutMark(piece)));
}

/** What only the maker of a message can read in it: signatures, and what is encrypted. */
export function secretsOf({ native }: AssistantMessage): readonly string[] {
  return [...JSON.stringify(native?.message ?? null).matchAll(/"(?:signature|encrypted_content|data)":"([^"]+)"/g)].map(
    ([, secret]) => `${secret}`,
  );
}

/** The Responses adapter notes beside an item which server encrypted it; the server itself is not told. */
function withoutMark(piece: JsonValue): JsonValue {
  if (typeof piece !== 'object' || piece === null || !('guardloop_server' in piece)) return piece;
  const { guardloop_server: _, ...rest } = piece;
  return rest;
}

/** The items that the run was warned about, in order. */
export function warnedItems(events: readonly RunEvent[], about = 'native'): readonly (string | undefined)[] {
  return events.flatMap((event) => (event.type === 'model.warning' && event.about === about ? [event.item] : []));
}
