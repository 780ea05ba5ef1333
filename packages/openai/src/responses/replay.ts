import type { JsonObject, JsonValue } from '@guardloop/core/model';

/**
 * Which reasoning items go back: those with encrypted content (`encrypted`), all as they came (`plain`, for servers that give reasoning in
 * plain text), or none.
 */
export type ReasoningItems = 'encrypted' | 'plain' | 'none';

/** What a request takes back. */
export interface Replaying {
  readonly reasoning: ReasoningItems;
  /** The server that the request goes to: no other can read the reasoning that it has encrypted. */
  readonly server: string;
}

/** The items of an answer as they are sent back, and what of it was left out, in a sentence. */
export interface Replay {
  readonly items: readonly JsonObject[];
  readonly lost: string | undefined;
}

/** The field of a recorded reasoning item that names the server which made it. Never sent. */
const serverField = 'guardloop_server';
/** Items that the API does not take back in a request without provider-held state, or that wait for an answer nobody can give. */
const unreplayable = new Set(['image_generation_call', 'mcp_approval_request']);
/** Items that say all they have to say without their id, and may stand without the reasoning that came with them; how their ids begin. */
const selfContained: ReadonlyMap<unknown, string> = new Map([
  ['message', 'msg'],
  ['function_call', 'fc'],
]);

/** The items as they are recorded: reasoning names its server. */
export function recorded(output: readonly JsonObject[], server: string): readonly JsonObject[] {
  return output.map((item) => (item.type === 'reasoning' ? { ...item, [serverField]: server } : item));
}

/**
 * The form in which the recorded items of one answer may go back to the API with `store: false`.
 *
 * The API binds a reasoning item to its id, and what follows it to that reasoning item by their ids. So either an answer goes back as it
 * came, ids included, or its reasoning is left out with everything that depends on it: the ids of messages and calls, and the provider's
 * own tool calls.
 */
export function replayOf(output: readonly JsonObject[], { reasoning: kept, server }: Replaying): Replay {
  const items = output.map(withoutServer);
  const replayable = items.filter(({ type }) => typeof type !== 'string' || !unreplayable.has(type));
  const hasAll = replayable.length === items.length;
  const reasoning = output.filter(({ type }) => type === 'reasoning');
  if (reasoning.length === 0) {
    return {
      items: replayable.map((item) => (hasOddId(item) ? withoutId(item) : item)),
      lost: hasAll ? undefined : "A call of one of the provider's own tools was left out: the API does not take it back.",
    };
  }
  const why = whyUnreadable(reasoning, kept, server) ?? (hasAll && !isDangling(items) ? undefined : 'what it led to cannot go back');
  if (why === undefined) return { items, lost: undefined };
  return { items: withoutReasoning(items), lost: `The reasoning of this answer was left out, with the ids bound to it: ${why}.` };
}

function whyUnreadable(reasoning: readonly JsonObject[], kept: ReasoningItems, server: string): string | undefined {
  if (kept === 'none') return 'this model is given none';
  if (reasoning.some((item) => item[serverField] !== undefined && item[serverField] !== server)) return 'another server made it';
  return kept === 'plain' || reasoning.every(isEncrypted) ? undefined : 'it came without its encrypted content';
}

/** The API wants what reasoning led to behind it. */
function isDangling(items: readonly JsonObject[]): boolean {
  return items.at(-1)?.type === 'reasoning';
}

/** Only what was said and called, bound to nothing. */
export function withoutReasoning(output: readonly JsonObject[]): readonly JsonObject[] {
  return output.filter(({ type }) => selfContained.has(type)).map(withoutId);
}

/** The ids of items that go as they came. */
export function itemIds(items: readonly JsonObject[]): readonly string[] {
  return items.flatMap(({ id }) => (typeof id === 'string' && id !== '' ? [id] : []));
}

function isEncrypted({ encrypted_content: content }: JsonObject): boolean {
  return typeof content === 'string' && content !== '';
}

/** An id of a server that imitates the API, which the API refuses. */
function hasOddId({ type, id }: JsonObject): boolean {
  const prefix = selfContained.get(type);
  return prefix !== undefined && id !== undefined && !(typeof id === 'string' && id.startsWith(prefix) && id.length <= 64);
}

/** The status goes with the id: the API gives both to items that it keeps. */
function withoutId(item: JsonObject): JsonObject {
  const { id: _id, status: _status, ...rest } = item;
  return rest;
}

function withoutServer(item: JsonObject): JsonObject {
  if (item[serverField] === undefined) return item;
  const { [serverField]: _server, ...rest } = item;
  return rest;
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
