import type { AssistantMessage, Message, Part, ToolMessage, UserMessage } from '@guardloop/core/model';
import { OpenCalls, shortHash, wellFormedJson, wellFormedText, wireName } from '@guardloop/core/model';
import type OpenAI from 'openai';
import type { Dialect } from './dialect.js';
import type { Replay, WireCall } from './native.js';
import { replayed } from './native.js';
import type { Warning, WirePart } from './parts.js';
import { encodePart, standIn } from './parts.js';
import type { WireMessage } from './role-order.js';
import { addInTurn } from './role-order.js';

interface AssistantForm {
  /** One for each call, in call order. */
  readonly ids: readonly string[];
  /** Undefined where the answer had neither text nor call: such a message is not legal, and says nothing. */
  readonly message: WireMessage | undefined;
}

interface ToolForm {
  readonly message: OpenAI.Chat.ChatCompletionToolMessageParam;
  readonly tool: string;
  /** Images and files, which follow once all calls of the turn are answered. */
  readonly media: readonly WirePart[];
}

/** What a transcript is encoded for. */
export type TranscriptDialect = Pick<Dialect, 'callIds' | 'roleOrder' | 'callContent' | 'media'> & Replay;

/** The wire messages of a view. Valid until the next call; copy them to keep them. */
export interface EncodedTranscript {
  readonly messages: readonly WireMessage[];
  /** Wire names of the tools that were called. */
  readonly calledTools: ReadonlySet<string>;
}

/**
 * Keeps the wire form of every item, made once in its life, and the wire transcript of every `messages` array, to which each request
 * adds only what is new. One for each model, because the dialect shapes the forms.
 */
export class Transcripts {
  readonly dialect: TranscriptDialect;
  readonly #users = new WeakMap<UserMessage, WireMessage>();
  readonly #answers = new WeakMap<AssistantMessage, AssistantForm>();
  readonly #results = new WeakMap<ToolMessage, ToolForm>();
  readonly #byMessages = new WeakMap<readonly Message[], Transcript>();
  #warnings: Warning[] = [];

  constructor(dialect: TranscriptDialect) {
    this.dialect = dialect;
  }

  /** The wire messages of a view, without instructions and note. Throws `INTERNAL` for calls and results that do not stand in pairs. */
  encode(messages: readonly Message[]): EncodedTranscript {
    let transcript = this.#byMessages.get(messages);
    if (transcript === undefined || !transcript.isPrefixOf(messages)) {
      transcript = new Transcript(this);
      this.#byMessages.set(messages, transcript);
    }
    return transcript.catchUp(messages);
  }

  /** What was dropped or changed of the items whose forms were made since the last call. */
  takeWarnings(): readonly Warning[] {
    const warnings = this.#warnings;
    this.#warnings = [];
    return warnings;
  }

  user(message: UserMessage): WireMessage {
    return kept(this.#users, message, () => ({ role: 'user', content: this.#content(message) }));
  }

  /** `isTaken` tells which wire ids the request already holds: a kept form that would repeat one is made anew for it. */
  assistant(message: AssistantMessage, isTaken: (id: string) => boolean): AssistantForm {
    const known = this.#answers.get(message);
    if (known !== undefined && !known.ids.some(isTaken)) return known;
    const ids = wireIds(message, { isTaken, kind: this.dialect.callIds });
    const native = replayed(message, ids, this.dialect);
    const form: AssistantForm = { ids, message: this.#withContent(native?.message ?? neutralForm(message, ids)) };
    if (known === undefined) {
      this.#answers.set(message, form);
      if (native?.dropped !== undefined) this.#warn('native', native.dropped, message.id);
    }
    return form;
  }

  tool(message: ToolMessage, wireId: string): ToolForm {
    const form = kept(this.#results, message, () => this.#toolForm(message, wireId));
    return form.message.tool_call_id === wireId ? form : { ...form, message: { ...form.message, tool_call_id: wireId } };
  }

  #content(message: UserMessage): string | WirePart[] {
    const filled = message.parts.filter((part) => part.type !== 'text' || part.text !== '');
    const wire = filled.map((part) => this.#part(part, message.id));
    return textOf(wire) ?? wire;
  }

  #toolForm(message: ToolMessage, wireId: string): ToolForm {
    const parts: readonly Part[] = typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content;
    const texts: string[] = [];
    const media: WirePart[] = [];
    for (const part of parts) {
      const wire = this.#part(part, message.id);
      if (wire.type === 'text') texts.push(wire.text);
      else if (part.type !== 'text') {
        texts.push(standIn(part));
        media.push(wire);
      }
    }
    if (message.note !== undefined) texts.push(message.note);
    const content = wellFormedText(texts.filter((text) => text !== '').join('\n'));
    return { message: { role: 'tool', tool_call_id: wireId, content }, tool: wellFormedText(message.tool), media };
  }

  #part(part: Part, item: string): WirePart {
    const { wire, changed } = encodePart(part, this.dialect.media);
    if (changed !== undefined) this.#warn('part', changed, item);
    return wire;
  }

  /** What stands for the content that an answer of calls alone does not have. */
  #withContent(message: WireMessage | undefined): WireMessage | undefined {
    if (message?.role !== 'assistant' || message.content !== null || this.dialect.callContent === 'null') return message;
    if (this.dialect.callContent === 'empty') return { ...message, content: '' };
    const { content: _none, ...rest } = message;
    return rest;
  }

  #warn(about: string, message: string, item: string): void {
    this.#warnings.push({ type: 'warning', about, message, item });
  }
}

/** The wire form of one growing view. */
class Transcript {
  readonly #forms: Transcripts;
  readonly #wire: WireMessage[] = [];
  readonly #ids = new Set<string>();
  readonly #calledTools = new Set<string>();
  readonly #calls = new OpenCalls();
  #count = 0;
  #first: Message | undefined;
  #last: Message | undefined;
  /** Wire ids of the calls of the last assistant message, and their results as far as they are there, in call order. */
  #turn: { readonly ids: readonly string[]; readonly results: (ToolForm | undefined)[] } = { ids: [], results: [] };

  constructor(forms: Transcripts) {
    this.#forms = forms;
  }

  isPrefixOf(messages: readonly Message[]): boolean {
    return this.#count === 0 || (messages[0] === this.#first && messages[this.#count - 1] === this.#last);
  }

  catchUp(messages: readonly Message[]): EncodedTranscript {
    for (; this.#count < messages.length; this.#count += 1) {
      const message = messages[this.#count];
      if (message === undefined) break;
      this.#append(message);
      this.#first ??= message;
      this.#last = message;
    }
    this.#calls.close();
    return { messages: this.#wire, calledTools: this.#calledTools };
  }

  #append(message: Message): void {
    if (message.role === 'tool') this.#appendResult(message);
    else if (message.role === 'assistant') this.#appendAnswer(message);
    else {
      this.#calls.close();
      this.#add(this.#forms.user(message));
    }
  }

  #appendAnswer(message: AssistantMessage): void {
    this.#calls.open(message);
    const form = this.#forms.assistant(message, (id) => this.#ids.has(id));
    if (form.message === undefined) return;
    this.#add(form.message);
    for (const id of form.ids) this.#ids.add(id);
    for (const call of message.calls) this.#calledTools.add(wireName(call.name));
    this.#turn = { ids: form.ids, results: [] };
  }

  #appendResult(message: ToolMessage): void {
    const index = this.#calls.answer(message);
    this.#turn.results[index] = this.#forms.tool(message, this.#turn.ids[index] ?? '');
    if (this.#calls.areWaiting) return;
    const media: WirePart[] = [];
    for (const form of this.#turn.results) {
      if (form === undefined) continue;
      this.#add(form.message);
      if (form.media.length === 0) continue;
      media.push({ type: 'text', text: `From the result of tool ${form.tool} (call ${form.message.tool_call_id}):` }, ...form.media);
    }
    if (media.length > 0) this.#add({ role: 'user', content: media });
  }

  #add(message: WireMessage): void {
    if (this.#forms.dialect.roleOrder === 'alternating') addInTurn(this.#wire, message);
    else this.#wire.push(message);
  }
}

function kept<K extends object, V>(forms: WeakMap<K, V>, key: K, make: () => V): V {
  let form = forms.get(key);
  if (form === undefined) {
    form = make();
    forms.set(key, form);
  }
  return form;
}

/** The API takes ids of at most 40 characters; Mistral exactly 9. */
const legalIds = { any: /^[a-zA-Z0-9_-]{1,40}$/, nine: /^[a-zA-Z0-9]{9}$/ };

interface Ids {
  readonly isTaken: (id: string) => boolean;
  readonly kind: Dialect['callIds'];
}

/** The provider's id where it is legal and not taken in the request, else one that depends on the item alone. */
function wireIds(message: AssistantMessage, { isTaken, kind }: Ids): readonly string[] {
  const ids: string[] = [];
  for (const [index, call] of message.calls.entries()) {
    let id = call.providerId ?? '';
    for (let attempt = 0; !legalIds[kind].test(id) || isTaken(id) || ids.includes(id); attempt += 1) {
      const hash = shortHash(JSON.stringify([message.id, index, call.providerId ?? '', attempt]));
      id = kind === 'nine' ? hash.slice(-9) : `call_${hash}`;
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

/** The text of parts that are nothing but text. */
function textOf(parts: readonly WirePart[]): string | undefined {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  return texts.length === parts.length ? texts.join('\n') : undefined;
}
