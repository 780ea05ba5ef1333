import type {
  AssistantMessage,
  FilePart,
  ImagePart,
  JsonObject,
  JsonValue,
  Message,
  Part,
  ToolMessage,
  UserMessage,
} from '@guardloop/core/model';
import { GuardloopError, shortHash, wellFormed, wellFormedJson, wellFormedJsonText, wellFormedText, wireName } from '@guardloop/core/model';
import type OpenAI from 'openai';
import type { WirePart } from './parts.js';
import { standIn, wirePart } from './parts.js';

export type WireMessage = OpenAI.Chat.ChatCompletionMessageParam;
type WireCall = OpenAI.Chat.ChatCompletionMessageFunctionToolCall;

/** The maker of native messages, and the name under which `settings.extra` reaches this adapter. */
export const chatProvider = 'openai.chat';

interface AssistantForm {
  /** One for each call, in call order. */
  readonly ids: readonly string[];
  /** Undefined where the answer had neither text nor call: such a message is not legal, and says nothing. */
  readonly message: WireMessage | undefined;
}

interface ToolForm {
  readonly message: OpenAI.Chat.ChatCompletionToolMessageParam;
  readonly media: readonly (ImagePart | FilePart)[];
}

/**
 * Keeps the wire form of every item, made once in its life, and the wire transcript of every `messages` array, to which each request
 * adds only what is new. One for each model, because the dialect shapes the forms.
 */
export class Transcripts {
  readonly #replayReasoning: boolean;
  readonly #forms = new WeakMap<Message, WireMessage | AssistantForm | ToolForm>();
  readonly #byMessages = new WeakMap<readonly Message[], Transcript>();

  constructor(options: { readonly replayReasoning: boolean }) {
    this.#replayReasoning = options.replayReasoning;
  }

  /** The wire messages of a view, without instructions and note. Valid until the next call; copy it to keep it. */
  encode(messages: readonly Message[]): readonly WireMessage[] {
    let transcript = this.#byMessages.get(messages);
    if (transcript === undefined || !transcript.isPrefixOf(messages)) {
      transcript = new Transcript(this);
      this.#byMessages.set(messages, transcript);
    }
    return transcript.catchUp(messages);
  }

  user(message: UserMessage): WireMessage {
    return this.#form(message, () => ({ role: 'user', content: userContent(message.parts) })) as WireMessage;
  }

  /** `isTaken` tells which wire ids the request already holds: a kept form that would repeat one is made anew for it. */
  assistant(message: AssistantMessage, isTaken: (id: string) => boolean): AssistantForm {
    const kept = this.#forms.get(message) as AssistantForm | undefined;
    if (kept !== undefined && !kept.ids.some(isTaken)) return kept;
    const ids = wireIds(message, isTaken);
    const form: AssistantForm = { ids, message: this.#nativeForm(message, ids) ?? neutralForm(message, ids) };
    if (kept === undefined) this.#forms.set(message, form);
    return form;
  }

  tool(message: ToolMessage, wireId: string): ToolForm {
    const form = this.#form(message, () => toolForm(message, wireId)) as ToolForm;
    return form.message.tool_call_id === wireId ? form : { ...form, message: { ...form.message, tool_call_id: wireId } };
  }

  #form(message: Message, make: () => WireMessage | ToolForm): WireMessage | AssistantForm | ToolForm {
    let form = this.#forms.get(message);
    if (form === undefined) {
      form = make();
      this.#forms.set(message, form);
    }
    return form;
  }

  /** The provider's own message, byte for byte, if it is ours and whole; only ids that the API would refuse are put right. */
  #nativeForm(message: AssistantMessage, ids: readonly string[]): WireMessage | undefined {
    if (message.native?.provider !== chatProvider) return undefined;
    const native = message.native.message;
    if (!isObject(native) || native.role !== 'assistant') return undefined;
    const { content, tool_calls: calls, ...reasoning } = native;
    if (content !== null && typeof content !== 'string') return undefined;
    const nativeCalls = calls ?? [];
    if (!Array.isArray(nativeCalls) || nativeCalls.length !== ids.length || (ids.length === 0 && (content ?? '') === '')) return undefined;
    const wireCalls: WireCall[] = [];
    for (const [index, call] of (nativeCalls as readonly JsonValue[]).entries()) {
      const wireCall = nativeCall(call, ids[index] ?? '', this.#replayReasoning);
      if (wireCall === undefined) return undefined;
      wireCalls.push(wireCall);
    }
    return {
      role: 'assistant',
      ...(this.#replayReasoning ? (wellFormed(reasoning) as JsonObject) : {}),
      content: content === null ? null : wellFormedText(content),
      ...(wireCalls.length === 0 ? {} : { tool_calls: wireCalls }),
    } as WireMessage;
  }
}

/** The wire form of one growing view. */
class Transcript {
  readonly #forms: Transcripts;
  readonly #wire: WireMessage[] = [];
  readonly #ids = new Set<string>();
  #count = 0;
  #last: Message | undefined;
  /** The calls of the last assistant message that wait for their results. */
  #open: { readonly callId: string; readonly wireId: string }[] = [];
  /** Images and files of the results of this turn: they follow once all its calls are answered. */
  #media: WirePart[] = [];

  constructor(forms: Transcripts) {
    this.#forms = forms;
  }

  isPrefixOf(messages: readonly Message[]): boolean {
    return this.#count <= messages.length && (this.#count === 0 || messages[this.#count - 1] === this.#last);
  }

  catchUp(messages: readonly Message[]): readonly WireMessage[] {
    for (; this.#count < messages.length; this.#count += 1) {
      const message = messages[this.#count];
      if (message === undefined) break;
      this.#append(message);
      this.#last = message;
    }
    this.#assertAnswered();
    return this.#wire;
  }

  #append(message: Message): void {
    if (message.role === 'tool') {
      this.#appendResult(message);
      return;
    }
    this.#assertAnswered();
    if (message.role === 'user') {
      this.#wire.push(this.#forms.user(message));
      return;
    }
    const form = this.#forms.assistant(message, (id) => this.#ids.has(id));
    if (form.message === undefined) return;
    this.#wire.push(form.message);
    for (const id of form.ids) this.#ids.add(id);
    this.#open = message.calls.map((call, index) => ({ callId: call.id, wireId: form.ids[index] ?? '' }));
  }

  #appendResult(message: ToolMessage): void {
    const index = this.#open.findIndex((call) => call.callId === message.callId);
    const [call] = index === -1 ? [] : this.#open.splice(index, 1);
    if (call === undefined) {
      throw new GuardloopError(
        'INTERNAL',
        `The result of call ${message.callId} (tool ${message.tool}) stands after no assistant message that holds this call unanswered. A view or filter must keep each call together with its result.`,
      );
    }
    const form = this.#forms.tool(message, call.wireId);
    this.#wire.push(form.message);
    if (form.media.length > 0) {
      this.#media.push({ type: 'text', text: wellFormedText(`From the result of tool ${message.tool} (call ${call.wireId}):`) });
      this.#media.push(...form.media.map((part) => wellFormed(wirePart(part) as unknown as JsonObject) as unknown as WirePart));
    }
    if (this.#open.length > 0 || this.#media.length === 0) return;
    this.#wire.push({ role: 'user', content: this.#media });
    this.#media = [];
  }

  #assertAnswered(): void {
    const [call] = this.#open;
    if (call === undefined) return;
    throw new GuardloopError(
      'INTERNAL',
      `Call ${call.callId} has no result directly after its assistant message. A view or filter must keep each call together with its result.`,
    );
  }
}

/** The API takes ids of at most 40 characters of this kind. */
const legalId = /^[a-zA-Z0-9_-]{1,40}$/;

/** The provider's id where it is legal and not taken in the request, else one that depends on the item alone. */
function wireIds(message: AssistantMessage, isTaken: (id: string) => boolean): readonly string[] {
  const ids: string[] = [];
  for (const [index, call] of message.calls.entries()) {
    let id = call.providerId ?? '';
    for (let attempt = 0; !legalId.test(id) || isTaken(id) || ids.includes(id); attempt += 1) {
      id = `call_${shortHash(JSON.stringify([message.id, index, call.providerId ?? '', attempt]))}`;
    }
    ids.push(id);
  }
  return ids;
}

function neutralForm(message: AssistantMessage, ids: readonly string[]): WireMessage | undefined {
  const text = wellFormedText(message.text);
  if (message.calls.length === 0) return text === '' ? undefined : { role: 'assistant', content: text };
  const calls = message.calls.map(
    (call, index): WireCall => ({
      id: ids[index] ?? '',
      type: 'function',
      function: { name: wireName(call.name), arguments: wellFormedJson(call.input) },
    }),
  );
  return { role: 'assistant', content: text === '' ? null : text, tool_calls: calls };
}

function nativeCall(call: JsonValue, id: string, keepsExtensions: boolean): WireCall | undefined {
  if (!isObject(call) || !isObject(call.function)) return undefined;
  const { name, arguments: input } = call.function;
  if (typeof name !== 'string' || typeof input !== 'string' || !isObjectText(input)) return undefined;
  const { id: _id, type: _type, function: _function, ...extensions } = call;
  return {
    id,
    type: 'function',
    function: { name: wireName(name), arguments: wellFormedJsonText(input) },
    ...(keepsExtensions ? (wellFormed(extensions) as JsonObject) : {}),
  };
}

function userContent(parts: readonly Part[]): string | WirePart[] {
  const filled = parts.filter((part) => part.type !== 'text' || part.text !== '');
  if (filled.every((part) => part.type === 'text')) return wellFormedText(filled.map((part) => part.text).join('\n'));
  return filled.map((part) => wellFormed(wirePart(part) as unknown as JsonObject) as unknown as WirePart);
}

function toolForm(message: ToolMessage, wireId: string): ToolForm {
  const parts: readonly Part[] = typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content;
  const texts = parts.map((part) => (part.type === 'text' ? part.text : standIn(part)));
  if (message.note !== undefined) texts.push(message.note);
  return {
    message: { role: 'tool', tool_call_id: wireId, content: wellFormedText(texts.filter((text) => text !== '').join('\n')) },
    media: parts.filter((part) => part.type !== 'text'),
  };
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
