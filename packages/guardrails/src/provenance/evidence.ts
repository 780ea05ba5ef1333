// What a conversation holds for a policy to go by: the user's own words, and what tools gave, with its labels.
import type { GuardInfo, JsonObject, JsonValue, Label, Message } from '@guardloop/core';
import type { ToolMessage } from '@guardloop/core/model';
import type { ResultRecord } from './records.js';
import { parseResult, recordsOf } from './records.js';
import { readRequest } from './request.js';
import { foldedValue } from './same-value.js';
import { namesIn, significantWords } from './significant-words.js';
import { TextIndex } from './text-index.js';
import { argumentValues } from './values.js';

/** A result that the active agent has read. */
export class ReadResult {
  private parsed: { readonly json: JsonValue | undefined; readonly records: readonly ResultRecord[] } | undefined;
  private ownText: TextIndex | undefined;
  private ownInput: ReadonlySet<string> | undefined;
  readonly tool: string;
  readonly callId: string;
  readonly content: string;
  readonly label: Label;
  private readonly isStructured: boolean;

  constructor(
    message: ToolMessage,
    /** Of the call that it answers. */
    readonly input: JsonObject,
  ) {
    const { content } = message;
    this.tool = message.tool;
    this.callId = message.callId;
    this.content = typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
    this.label = message.label;
    this.isStructured = message.structured === true;
  }

  /** What the tool gave as a value; undefined of a text, also of one that looks like JSON: whoever wrote it may have made it look so. */
  get json(): JsonValue | undefined {
    return this.read().json;
  }
  get records(): readonly ResultRecord[] {
    return this.read().records;
  }
  get isTrusted(): boolean {
    return this.label.integrity === 'trusted';
  }
  /** To look values up in the whole of it. */
  get text(): TextIndex {
    if (this.ownText === undefined) {
      this.ownText = new TextIndex();
      this.ownText.add(this.content);
    }
    return this.ownText;
  }
  /** Whether the call that it answers held this value, or a text with it: then the result may only repeat what the model wrote. */
  echoes(value: string | number): boolean {
    const folded = foldedValue(value);
    this.ownInput ??= new Set(argumentValues(this.input, { names: 'all', fields: [] }).map((each) => foldedValue(String(each.value))));
    if (this.ownInput.has(folded)) return true;
    if (folded.length < 5) return false;
    for (const each of this.ownInput) if (each.includes(folded)) return true;
    return false;
  }

  private read() {
    if (this.parsed === undefined) {
      const json = this.isStructured ? parseResult(this.content) : undefined;
      this.parsed = { json, records: json === undefined ? [] : recordsOf(json) };
    }
    return this.parsed;
  }
}

/** Read off the messages of one view, message by message. */
export class Evidence {
  /** What the user has said, trusted pieces only, without what was said not to be done. */
  readonly user = new TextIndex();
  /** Words of the user's that can tell one record from others: lower case. */
  readonly userWords = new Set<string>();
  /** Those of them that name something: `Bob`, `'minutes.docx'`. */
  readonly userNames = new Set<string>();
  /** All words of the user's, in lower case. */
  readonly spoken = new Set<string>();
  /** Words of the user's latest request that ask for something to be done, in lower case. */
  readonly asked = new Set<string>();
  /** Sentences of the user's. */
  readonly sentences: string[] = [];
  readonly results: ReadResult[] = [];
  private readonly inputs = new Map<string, JsonObject>();
  private readonly read: Message[] = [];
  /** The list that was read last: one that only grows is the same. */
  private list: readonly Message[] | undefined;
  private request: string | undefined;

  /** Grows whenever the user says something: what was found out about the user's words before is void. */
  userLength = 0;

  /** Whether it was read off a beginning of these messages; then what is new is read too. */
  follow(messages: readonly Message[]): boolean {
    const { length } = this.read;
    if (length > messages.length) return false;
    if (messages !== this.list) for (let index = 0; index < length; index += 1) if (messages[index] !== this.read[index]) return false;
    if (length > 0 && messages[length - 1] !== this.read[length - 1]) return false;
    this.list = messages;
    for (let index = length; index < messages.length; index += 1) {
      const message = messages[index];
      if (message !== undefined) this.add(message);
    }
    return true;
  }

  private add(message: Message): void {
    this.read.push(message);
    if (message.role === 'user') this.addUser(message);
    else if (message.role === 'assistant') for (const { id, input } of message.calls) this.inputs.set(id, input);
    else this.results.push(new ReadResult(message, this.inputs.get(message.callId) ?? {}));
  }

  private addUser(message: Extract<Message, { role: 'user' }>): void {
    if (message.via === 'developer') return;
    for (const part of message.parts) {
      // What a parent agent or a handoff passes on is trusted where its writer had read nothing else than the user's words.
      const label = part.label ?? message.label;
      if (part.type === 'text' && label.integrity === 'trusted')
        this.addRequest(part.text, message.id.slice(0, message.id.lastIndexOf('/')));
    }
  }

  private addRequest(text: string, run: string): void {
    const { wanted, sentences, asked, isAgreement } = readRequest(text);
    // What was asked for in an earlier run is done or not wanted any more; “yes, please” goes on with it.
    if (run !== this.request && !isAgreement) this.asked.clear();
    this.request = run;
    this.userLength += 1;
    for (const word of asked) this.asked.add(word);
    this.user.add(wanted);
    this.sentences.push(...sentences);
    for (const word of significantWords(wanted)) this.userWords.add(word);
    for (const word of namesIn(wanted)) this.userNames.add(word);
    for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{M}\p{N}]+/gu)) this.spoken.add(word);
  }
}

/** Keeps what was read of each view, so that a decision reads only what is new. One for each guardrail. */
export class EvidenceReader {
  private readonly known = new WeakMap<Message, Evidence>();

  of({ messages }: Pick<GuardInfo, 'messages'>): Evidence {
    const first = messages[0];
    const known = first === undefined ? undefined : this.known.get(first);
    if (known?.follow(messages)) return known;
    const evidence = new Evidence();
    evidence.follow(messages);
    if (first !== undefined) this.known.set(first, evidence);
    return evidence;
  }
}
