import type { AssistantMessage, JsonObject, JsonValue, Message, Part, ToolMessage, UserMessage } from '@guardloop/core/model';
import {
  isWireName,
  OpenCalls,
  shortHash,
  wellFormed,
  wellFormedJson,
  wellFormedJsonText,
  wellFormedText,
  wireName,
} from '@guardloop/core/model';
import type OpenAI from 'openai';
import type { Warning, WirePart } from './parts.js';
import { wireContent } from './parts.js';
import type { Replaying } from './replay.js';
import { isObject, itemIds, replayOf, withoutReasoning } from './replay.js';
import { textsOf } from './whole-item.js';

export type WireItem = OpenAI.Responses.ResponseInputItem;

/** The maker of native messages, and the name under which `settings.extra` reaches this adapter. */
export const responsesProvider = 'openai.responses';

/** What a request holds already, and no item may repeat. */
interface Taken {
  isCallId(id: string): boolean;
  isItemId(id: string): boolean;
}

interface AssistantForm {
  /** Ids of the calls, one for each, in call order. */
  readonly callIds: readonly string[];
  /** Empty where the answer had neither text nor call: then there is nothing to say. */
  readonly items: readonly JsonObject[];
  /** Ids of items that stand as they came. */
  readonly itemIds: readonly string[];
}

interface ResultForm {
  readonly callId: string;
  readonly output: string | WirePart[];
}

/**
 * Keeps the wire form of every item, made once in its life, and the wire transcript of every `messages` array, to which each request
 * adds only what is new. One for each model.
 */
export class Transcripts {
  readonly #replaying: Replaying;
  readonly #users = new WeakMap<UserMessage, WireItem>();
  readonly #answers = new WeakMap<AssistantMessage, AssistantForm>();
  readonly #results = new WeakMap<ToolMessage, ResultForm>();
  readonly #byMessages = new WeakMap<readonly Message[], Transcript>();
  #warnings: Warning[] = [];

  constructor(replaying: Replaying) {
    this.#replaying = replaying;
  }

  /**
   * The input items of a view, without core's note. Valid until the next call; copy them to keep them. Throws `INTERNAL`, with the item's id,
   * for a call without a result and a result without a call.
   */
  encode(messages: readonly Message[]): readonly WireItem[] {
    const kept = this.#byMessages.get(messages);
    const transcript = kept?.isPrefixOf(messages) === true ? kept : new Transcript(this);
    // Kept only once all is encoded: what was begun and thrown away leaves nothing behind.
    this.#byMessages.delete(messages);
    transcript.catchUp(messages);
    this.#byMessages.set(messages, transcript);
    return transcript.items;
  }

  /** What was dropped or changed of the items that were encoded for the first time since this was asked. */
  takeWarnings(): readonly Warning[] {
    const taken = this.#warnings;
    this.#warnings = [];
    return taken;
  }

  user(message: UserMessage): WireItem {
    let item = this.#users.get(message);
    if (item === undefined) {
      item = { type: 'message', role: 'user', content: wireContent(message.parts, this.#warner(message, 'part')) };
      this.#users.set(message, item);
    }
    return item;
  }

  /** A kept form that would repeat an id of the request is made anew for it. */
  assistant(message: AssistantMessage, taken: Taken): AssistantForm {
    const kept = this.#answers.get(message);
    if (kept !== undefined && !kept.callIds.some((id) => taken.isCallId(id)) && !kept.itemIds.some((id) => taken.isItemId(id))) return kept;
    const callIds = callIdsOf(message, (id) => taken.isCallId(id));
    const items = this.#nativeItems(message, callIds, { taken, warn: kept === undefined ? this.#warner(message, 'native') : () => {} });
    const form: AssistantForm = {
      callIds,
      items: items ?? neutralItems(message, callIds),
      itemIds: itemIds(items ?? []),
    };
    if (kept === undefined) this.#answers.set(message, form);
    return form;
  }

  result(message: ToolMessage, callId: string): WireItem {
    let form = this.#results.get(message);
    if (form === undefined) {
      form = { callId, output: wireContent(resultParts(message), this.#warner(message, 'part')) };
      this.#results.set(message, form);
    }
    return { type: 'function_call_output', call_id: callId, output: form.output };
  }

  #warner({ id }: Message, about: string): (message: string) => void {
    return (message) => this.#warnings.push({ type: 'warning', about, message, item: id });
  }

  /** The provider's own items as they came, if they are ours and whole. Only ids that the API would refuse are put right. */
  #nativeItems(
    { native, text, calls }: AssistantMessage,
    callIds: readonly string[],
    { taken, warn }: { readonly taken: Taken; readonly warn: (message: string) => void },
  ): readonly JsonObject[] | undefined {
    if (native === undefined) return undefined;
    if (native.provider !== responsesProvider) {
      warn(
        'The message that another provider made of this answer was left out: it goes back to its maker only. Its text and calls were sent.',
      );
      return undefined;
    }
    const output = itemsOf(native.message);
    if (calls.length === 0 && text === '') return undefined;
    if (output === undefined || !holdsCalls(output, calls.length) || saidText(output) !== text) {
      warn("The provider's own message of this answer was left out: it does not say what the answer says. Its text and calls were sent.");
      return undefined;
    }
    const { items: replayed, lost } = replayOf(output, this.#replaying);
    const ids = itemIds(replayed);
    const isRepeated = new Set(ids).size < ids.length || ids.some((id) => taken.isItemId(id));
    if (lost !== undefined) warn(lost);
    else if (isRepeated)
      warn('The ids of this answer, with the reasoning bound to them, were left out: an item of the request has the same.');
    const items = isRepeated ? withoutReasoning(replayed) : replayed;
    let index = 0;
    return items.map((item) => {
      const clean = wellFormed(item);
      if (item.type !== 'function_call') return clean;
      const callId = callIds[index] ?? '';
      index += 1;
      return withCallId(clean, callId);
    });
  }
}

/** The wire form of one growing view. */
class Transcript implements Taken {
  readonly items: WireItem[] = [];
  readonly #forms: Transcripts;
  readonly #callIds = new Set<string>();
  readonly #itemIds = new Set<string>();
  readonly #open = new OpenCalls();
  #openIds: readonly string[] = [];
  /** Results of the last answer, in call order: they follow once all are there. */
  #results: WireItem[] = [];
  #count = 0;
  #first: Message | undefined;
  #last: Message | undefined;

  constructor(forms: Transcripts) {
    this.#forms = forms;
  }

  isPrefixOf(messages: readonly Message[]): boolean {
    return this.#count <= messages.length && messages[0] === this.#first && messages[this.#count - 1] === this.#last;
  }

  catchUp(messages: readonly Message[]): void {
    for (const message of messages.slice(this.#count)) {
      if (message.role === 'tool') this.#answer(message);
      else this.#append(message);
    }
    this.#close();
    this.#count = messages.length;
    this.#first = messages[0];
    this.#last = messages.at(-1);
  }

  isCallId(id: string): boolean {
    return this.#callIds.has(id);
  }

  isItemId(id: string): boolean {
    return this.#itemIds.has(id);
  }

  #append(message: UserMessage | AssistantMessage): void {
    this.#close();
    if (message.role === 'user') {
      this.items.push(this.#forms.user(message));
      return;
    }
    const { items, callIds, itemIds } = this.#forms.assistant(message, this);
    for (const item of items) this.items.push(item as unknown as WireItem);
    for (const id of callIds) this.#callIds.add(id);
    for (const id of itemIds) this.#itemIds.add(id);
    this.#openIds = callIds;
    this.#open.open(message);
  }

  #answer(message: ToolMessage): void {
    const index = this.#open.answer(message);
    this.#results[index] = this.#forms.result(message, this.#openIds[index] ?? '');
  }

  #close(): void {
    this.#open.close();
    for (const result of this.#results) this.items.push(result);
    this.#results = [];
  }
}

/** The provider's id where it is legal and not taken in the request, else one that depends on the item alone. */
function callIdsOf(message: AssistantMessage, isTaken: (id: string) => boolean): readonly string[] {
  const ids: string[] = [];
  for (const [index, { providerId = '' }] of message.calls.entries()) {
    let id = providerId;
    for (let attempt = 0; !isWireName(id) || isTaken(id) || ids.includes(id); attempt += 1) {
      id = `call_${shortHash(JSON.stringify([message.id, index, providerId, attempt]))}`;
    }
    ids.push(id);
  }
  return ids;
}

function neutralItems({ text, calls }: AssistantMessage, callIds: readonly string[]): readonly JsonObject[] {
  return [
    ...(text === '' ? [] : [{ type: 'message', role: 'assistant', content: wellFormedText(text) }]),
    ...calls.map((call, index) => ({
      type: 'function_call',
      call_id: callIds[index] ?? '',
      name: wireName(call.name),
      arguments: wellFormedJson(call.input),
    })),
  ];
}

/** The call as it came, unless the API would refuse its id, its name or a lone surrogate in its arguments. */
function withCallId(call: JsonObject, callId: string): JsonObject {
  const name = wireName(String(call.name));
  const input = wellFormedJsonText(String(call.arguments));
  const isSame = call.call_id === callId && call.name === name && call.arguments === input;
  return isSame ? call : { ...call, call_id: callId, name, arguments: input };
}

function itemsOf(message: JsonValue): readonly JsonObject[] | undefined {
  if (!Array.isArray(message)) return undefined;
  const items: readonly JsonValue[] = message;
  return items.every(isObject) ? items : undefined;
}

/** True if the items hold as many calls as core knows of, each as the API takes it. */
function holdsCalls(items: readonly JsonObject[], count: number): boolean {
  const calls = items.filter(({ type }) => type === 'function_call');
  return calls.length === count && calls.every(({ name, arguments: input }) => typeof name === 'string' && isObjectText(input));
}

/** What the messages among the items say. */
function saidText(items: readonly JsonObject[]): string {
  return items.map(({ type, content }) => (type === 'message' ? textsOf(content).join('') : '')).join('');
}

function isObjectText(text: JsonValue | undefined): boolean {
  if (typeof text !== 'string') return false;
  try {
    return isObject(JSON.parse(text) as JsonValue);
  } catch {
    return false;
  }
}

function resultParts({ content, note }: ToolMessage): readonly Part[] {
  const parts: readonly Part[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  return note === undefined ? parts : [...parts, { type: 'text', text: note }];
}
