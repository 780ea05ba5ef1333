import type { AssistantMessage, JsonObject, JsonValue } from '@guardloop/core/model';
import { safeWord, wellFormed, wellFormedJsonText, wellFormedText, wireName } from '@guardloop/core/model';
import type OpenAI from 'openai';
import type { WireMessage } from './role-order.js';

export type WireCall = OpenAI.Chat.ChatCompletionMessageFunctionToolCall;

/** The maker of native messages, and the name under which `settings.extra` reaches this adapter. */
export const chatProvider = 'openai.chat';

/** The field of a native message that names the server whose extension fields it holds. Never sent. */
export const serverField = 'guardloop_server';

/** How a native message is sent back. */
export interface Replay {
  /** The server that this request goes to. */
  readonly server: string;
  /** Whether extension fields go back to the server that sent them. */
  readonly replayReasoning: boolean;
}

/** The provider's own message in the form in which it goes back, or why it does not. */
export interface ReplayedMessage {
  readonly message: WireMessage | undefined;
  /** What of it was left out, in a sentence. */
  readonly dropped: string | undefined;
}

/**
 * The provider's own message, byte for byte, if it is ours and whole; only ids that the API would refuse are put right. `ids` holds one for
 * each call. Undefined where the answer holds none.
 */
export function replayed({ native, calls }: AssistantMessage, ids: readonly string[], replay: Replay): ReplayedMessage | undefined {
  if (native === undefined) return undefined;
  if (native.provider !== chatProvider) {
    const maker = safeWord(native.provider) ?? 'another provider';
    return { message: undefined, dropped: `The message of ${maker} was left out; its text and calls were sent instead.` };
  }
  const isKept = replay.replayReasoning && isMadeBy(native.message, replay.server);
  const message = wholeMessage(native.message, ids, isKept);
  if (message === undefined || ids.length !== calls.length)
    return { message: undefined, dropped: 'The recorded message of the provider is not whole; its text and calls were sent instead.' };
  if (isKept || !holdsExtensions(native.message)) return { message, dropped: undefined };
  const why = replay.replayReasoning ? 'another server made it' : 'replayReasoning is off';
  return { message, dropped: `The reasoning of an answer was left out: ${why}.` };
}

function wholeMessage(native: JsonValue, ids: readonly string[], isKept: boolean): WireMessage | undefined {
  if (!isObject(native) || native.role !== 'assistant') return undefined;
  const { content, tool_calls: calls = [], [serverField]: _server, ...extensions } = native;
  if (content !== null && typeof content !== 'string') return undefined;
  if (!Array.isArray(calls) || calls.length !== ids.length || (ids.length === 0 && (content ?? '') === '')) return undefined;
  const wireCalls: WireCall[] = [];
  for (const [index, call] of (calls as readonly JsonValue[]).entries()) {
    const wireCall = wholeCall(call, ids[index] ?? '', isKept);
    if (wireCall === undefined) return undefined;
    wireCalls.push(wireCall);
  }
  return {
    ...(isKept ? wellFormed(extensions) : {}),
    role: 'assistant',
    content: content === null ? null : wellFormedText(content),
    ...(wireCalls.length === 0 ? {} : { tool_calls: wireCalls }),
  };
}

function wholeCall(call: JsonValue, id: string, isKept: boolean): WireCall | undefined {
  if (!isObject(call) || !isObject(call.function)) return undefined;
  const { name, arguments: input } = call.function;
  if (typeof name !== 'string' || typeof input !== 'string' || !isObjectText(input)) return undefined;
  const { id: _id, type: _type, function: _function, ...extensions } = call;
  return {
    ...(isKept ? wellFormed(extensions) : {}),
    id,
    type: 'function',
    function: { name: wireName(name), arguments: wellFormedJsonText(input) },
  };
}

/** A message without the name of its server was recorded before servers were told apart. */
function isMadeBy(native: JsonValue, server: string): boolean {
  return isObject(native) && (native[serverField] === undefined || native[serverField] === server);
}

const ownFields: ReadonlySet<string> = new Set(['role', 'content', 'tool_calls', serverField]);
const ownCallFields: ReadonlySet<string> = new Set(['id', 'type', 'function']);

function holdsExtensions(native: JsonValue): boolean {
  if (!isObject(native)) return false;
  if (Object.keys(native).some((field) => !ownFields.has(field))) return true;
  const calls: JsonValue = native.tool_calls ?? [];
  return (
    Array.isArray(calls) && calls.some((call: JsonValue) => isObject(call) && Object.keys(call).some((field) => !ownCallFields.has(field)))
  );
}

function isObjectText(text: string): boolean {
  try {
    return isObject(JSON.parse(text) as JsonValue);
  } catch {
    return false;
  }
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
