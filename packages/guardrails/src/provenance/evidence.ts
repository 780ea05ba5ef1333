// What a conversation holds for a policy to go by: the user's own words, and what tools gave, with its labels.
import type { GuardInfo, JsonObject, JsonValue, Label, Message } from '@guardloop/core';
import type { ToolMessage } from '@guardloop/core/model';
import { askingWords } from './intent.js';
import type { ResultRecord } from './records.js';
import { parseResult, recordsOf } from './records.js';
import { namesIn, significantWords } from './significant-words.js';
import { TextIndex } from './text-index.js';

/** A result that the active agent has read. */
export class ReadResult {
  private parsed: { readonly json: JsonValue | undefined; readonly records: readonly ResultRecord[] } | undefined;
  readonly tool: string;
  readonly callId: string;
  readonly content: string;
  readonly label: Label;
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
  }

  /** What the tool gave as a value; undefined of plain text. */
  get json(): JsonValue | undefined {
    return this.read().json;
  }
  get records(): readonly ResultRecord[] {
    return this.read().records;
  }
  get isTrusted(): boolean {
    return this.label.integrity === 'trusted';
  }
  private read() {
    if (this.parsed === undefined) {
      const json = parseResult(this.content);
      this.parsed = { json, records: json === undefined ? [] : recordsOf(json) };
    }
    return this.parsed;
  }
}

/** Read off the messages of one view, message by message. */
export class Evidence {
  /** What the user has said, trusted pieces only. */
  readonly user = new TextIndex();
  /** Words of the user's that can tell one record from others: lower case. */
  readonly userWords = new Set<string>();
  /** Those of them that name something: `Bob`, `'minutes.docx'`. */
  readonly userNames = new Set<string>();
  /** Words of the user's that may ask for something to be done, in lower case. */
  readonly asked = new Set<string>();
  readonly results: ReadResult[] = [];
  private readonly inputs = new Map<string, JsonObject>();
  private readonly read: Message[] = [];

  /** Whether it was read off a beginning of these messages; then what is new is read too. */
  follow(messages: readonly Message[]): boolean {
    const { length } = this.read;
    if (length > messages.length || (length > 0 && (messages[length - 1] !== this.read[length - 1] || messages[0] !== this.read[0])))
      return false;
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
    else {
      this.results.push(new ReadResult(message, this.inputs.get(message.callId) ?? {}));
    }
  }

  private addUser(message: Extract<Message, { role: 'user' }>): void {
    if (message.via === 'developer') return;
    for (const part of message.parts) {
      // What a parent agent or a handoff passes on is trusted where its writer had read nothing else than the user's words.
      const label = part.label ?? message.label;
      if (part.type !== 'text' || label.integrity !== 'trusted') continue;
      this.user.add(part.text);
      for (const word of askingWords(part.text)) this.asked.add(word);
      for (const word of significantWords(part.text)) this.userWords.add(word);
      for (const word of namesIn(part.text)) this.userNames.add(word);
    }
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
