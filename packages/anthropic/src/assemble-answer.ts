import type { FrameSink, JsonObject, JsonValue, ModelCall, ModelEvent, SseFrame } from '@guardloop/core/model';
import { readArguments, safeWord, wellFormedText } from '@guardloop/core/model';
import type { Block } from './blocks.js';
import { isObject } from './blocks.js';
import type { Container } from './native-message.js';
import { readContainer } from './native-message.js';
import { parse } from './read-json.js';
import type { TokenCounts } from './usage.js';
import { noTokens, updateCounts } from './usage.js';

/** Events that matter. Others, and pings, are passed over without a look at their data, as the API asks of its clients. */
const known = new Set([
  // Without a name, and by the name that stands for none.
  '',
  'message',
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
  'error',
]);

/** More than this, in characters of content, is no answer of a model. */
const mostContent = 32 * 1024 * 1024;
/** What a block costs beside its content, so that an answer of empty blocks has an end too. */
const blockSize = 1_024;

/** The errors that an answer can end with. */
export interface AnswerFaults {
  /** Events contradict each other. `what` is a sentence without its full stop, and fit to be shown. Left out, it is not to be repeated. */
  broken(what: string, isRetryable?: boolean): Error;
  /** An `error` event; `error` is what the provider said, which is not fit to be shown. */
  reported(error: unknown): Error;
}

interface OpenBlock {
  block: { [key: string]: JsonValue | undefined; type: string };
  /** Arguments as they came, for calls. */
  json: string;
  /** Position among the calls that are ours to run; undefined for other blocks. */
  call: number | undefined;
  /** Half a surrogate pair at the end of what came, kept back until its other half is there. */
  carry: string;
  /** True if something came into it that is not known: it cannot be sent back as the provider gave it. */
  isPartial: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

/** Puts the events of one response together. Give it each event once, in order; it gives back what can be passed on at once. */
export class AnswerAssembly implements FrameSink {
  /** True once `message_stop` was seen; before that nothing of the answer may be used. */
  isDone = false;
  hasDelivered = false;
  counts: TokenCounts = noTokens;
  stopReason: string | undefined;
  /** The category of a refusal, where the provider names one. */
  detail: string | undefined;
  /** Where the provider's own tools ran, if they did. */
  container: Container | undefined;

  readonly #names: ReadonlyMap<string, string>;
  readonly #faults: AnswerFaults;
  readonly #blocks: OpenBlock[] = [];
  readonly #open = new Map<unknown, OpenBlock>();
  #messageId: unknown;
  #isStarted = false;
  #calls = 0;
  #size = 0;
  /** Characters of the frame that is taken. */
  #frame = 0;

  /** `names` leads from wire names to those of the request's tools. */
  constructor(names: ReadonlyMap<string, string>, faults: AnswerFaults) {
    this.#names = names;
    this.#faults = faults;
  }

  get isTerminal(): boolean {
    return this.isDone;
  }

  push({ event, data }: SseFrame): readonly ModelEvent[] {
    if (!known.has(event) || data.trim() === '' || data === '[DONE]') return [];
    this.#frame = data.length;
    let fields: unknown;
    try {
      fields = JSON.parse(data);
    } catch {
      throw this.#faults.broken('Anthropic sent an event that is not JSON', true);
    }
    return this.take(fields, event);
  }

  /** `name` is that of the frame, for servers that name the event there alone. */
  take(event: unknown, name = ''): readonly ModelEvent[] {
    const fields = fieldsOf(event);
    switch (fields.type ?? name) {
      case 'message_start':
        return this.#start(fieldsOf(fields.message));
      case 'content_block_start':
        return this.#openBlock(fields.index, fields.content_block);
      case 'content_block_delta':
        return this.#delta(fields.index, fieldsOf(fields.delta));
      case 'content_block_stop':
        return this.#closeBlock(fields.index);
      case 'message_delta':
        return this.#messageDelta(fieldsOf(fields.delta), fields.usage);
      case 'message_stop':
        return this.#stop();
      case 'message':
        return this.#whole(fields);
      case 'error':
        throw this.#faults.reported(fields.error);
      default:
        return [];
    }
  }

  /** The calls that are ours to run, in order. Only of a finished answer. */
  calls(): readonly ModelCall[] {
    return this.#blocks.flatMap((open) => (open.call === undefined ? [] : [this.#call(open)]));
  }

  /**
   * The content blocks as the provider would have given them in one piece. Blocks of types that are not known stand as they came; one that
   * grew by pieces that are not known is left out, since it cannot be whole.
   */
  blocks(): readonly Block[] {
    return this.#blocks.flatMap((open): readonly Block[] => {
      const { block, isPartial } = open;
      if (isPartial) return [];
      const json = argumentsOf(open);
      if (!('input' in block) || json === '') return [block];
      const input = parse(json);
      return [{ ...block, input: isObject(input) ? input : {} }];
    });
  }

  #start(message: Fields): readonly ModelEvent[] {
    if (this.#isStarted && message.id !== this.#messageId) {
      throw this.#faults.broken('Anthropic sent a second message inside the stream of a first one');
    }
    this.#isStarted = true;
    this.#messageId = message.id;
    this.container = readContainer(message.container) ?? this.container;
    this.counts = updateCounts(this.counts, message.usage);
    return [];
  }

  /** A server that does not stream answers with the message in one piece. It is whole only if it says why it ended. */
  #whole(message: Fields): readonly ModelEvent[] {
    if (typeof message.stop_reason !== 'string' || !Array.isArray(message.content)) return [];
    const content: readonly unknown[] = message.content;
    return [
      ...this.#start(message),
      ...content.flatMap((block, index) => [...this.#openBlock(index, block), ...this.#closeBlock(index)]),
      ...this.#messageDelta(message, message.usage),
      ...this.#stop(),
    ];
  }

  #openBlock(index: unknown, content: unknown): readonly ModelEvent[] {
    if (!isObject(content) || typeof content.type !== 'string')
      throw this.#faults.broken('Anthropic opened a content block without a type');
    const before = this.#open.get(index);
    // A call that is begun again is the same call; anything else is a new block, whatever its index.
    if (before?.call !== undefined && content.type === 'tool_use' && before.block.id === content.id) return [];
    this.#grow(blockSize + this.#frame);
    // Servers that imitate the API leave the empty arguments out.
    const block: OpenBlock['block'] = { ...content, type: content.type };
    if (block.type === 'tool_use' && block.input === undefined) block.input = {};
    const open: OpenBlock = { block, json: '', call: block.type === 'tool_use' ? this.#calls : undefined, carry: '', isPartial: false };
    if (open.call !== undefined) this.#calls += 1;
    this.#blocks.push(open);
    this.#open.set(index, open);
    const rest = before === undefined ? [] : this.#flush(before);
    if (block.type === 'text' && typeof block.text === 'string') return [...rest, ...this.#readable('text.delta', open, block.text)];
    if (block.type === 'thinking' && typeof block.thinking === 'string')
      return [...rest, ...this.#readable('reasoning.delta', open, block.thinking)];
    return rest;
  }

  #delta(index: unknown, delta: Fields): readonly ModelEvent[] {
    const open = this.#open.get(index) ?? (index === undefined ? this.#blocks.at(-1) : undefined);
    if (open === undefined) throw this.#faults.broken('Anthropic went on with a content block that it had not opened');
    switch (delta.type) {
      case 'text_delta':
        return this.#extend(open, 'text', delta.text);
      case 'thinking_delta':
        return this.#extend(open, 'thinking', delta.thinking);
      case 'signature_delta':
        if (open.block.type === 'thinking' && typeof delta.signature === 'string') open.block.signature = delta.signature;
        return [];
      case 'input_json_delta':
        return this.#extendInput(open, delta.partial_json);
      case 'citations_delta':
        this.#grow(this.#frame);
        open.block.citations = [...(Array.isArray(open.block.citations) ? open.block.citations : []), delta.citation as JsonValue];
        return [];
      default:
        open.isPartial ||= !complete.has(open.block.type);
        return [];
    }
  }

  #extend(open: OpenBlock, type: 'text' | 'thinking', piece: unknown): readonly ModelEvent[] {
    if (open.block.type === type && piece === null) return [];
    if (open.block.type !== type || typeof piece !== 'string') return this.#misplaced(open, `${type} into a content block of another type`);
    this.#grow(piece.length);
    open.block[type] = `${typeof open.block[type] === 'string' ? open.block[type] : ''}${piece}`;
    return this.#readable(type === 'text' ? 'text.delta' : 'reasoning.delta', open, piece);
  }

  #extendInput(open: OpenBlock, piece: unknown): readonly ModelEvent[] {
    if ('input' in open.block && piece === null) return [];
    if (!('input' in open.block) || typeof piece !== 'string') return this.#misplaced(open, 'arguments into a content block that has none');
    this.#grow(piece.length);
    open.json += piece;
    return open.call === undefined || piece === '' ? [] : [{ type: 'tool.delta', index: open.call, text: piece }];
  }

  /** What does not fit a block that is known breaks the protocol; what a new type of block grows by is not ours to judge. */
  #misplaced(open: OpenBlock, what: string): readonly ModelEvent[] {
    if (complete.has(open.block.type)) throw this.#faults.broken(`Anthropic sent ${what}`);
    open.isPartial = true;
    return [];
  }

  #readable(type: 'text.delta' | 'reasoning.delta', open: OpenBlock, piece: string): readonly ModelEvent[] {
    let text = open.carry + piece;
    open.carry = isHighSurrogate(text.charCodeAt(text.length - 1)) ? text.slice(-1) : '';
    if (open.carry !== '') text = text.slice(0, -1);
    if (text === '') return [];
    this.hasDelivered = true;
    return [{ type, text: wellFormedText(text) }];
  }

  #closeBlock(index: unknown): readonly ModelEvent[] {
    const open = this.#open.get(index);
    this.#open.delete(index);
    return open === undefined ? [] : this.#flush(open);
  }

  #flush(open: OpenBlock): readonly ModelEvent[] {
    if (open.carry === '') return [];
    open.carry = '';
    this.hasDelivered = true;
    return [{ type: open.block.type === 'text' ? 'text.delta' : 'reasoning.delta', text: '\uFFFD' }];
  }

  #messageDelta(delta: Fields, usage: unknown): readonly ModelEvent[] {
    if (typeof delta.stop_reason === 'string') {
      if ((this.stopReason ?? delta.stop_reason) !== delta.stop_reason)
        throw this.#faults.broken('Anthropic gave two reasons why its answer ended');
      this.stopReason = delta.stop_reason;
    }
    this.detail = safeWord(fieldsOf(delta.stop_details).category) ?? this.detail;
    this.container = readContainer(delta.container) ?? this.container;
    this.counts = updateCounts(this.counts, usage);
    return [];
  }

  #stop(): readonly ModelEvent[] {
    this.isDone = true;
    return this.#blocks.flatMap((open) => this.#flush(open));
  }

  #grow(size: number): void {
    this.#size += size;
    if (this.#size > mostContent) throw this.#faults.broken('Anthropic sent an answer without an end');
  }

  /**
   * Without any argument text, and with `{}` in its opening block, a call stays unparsable with the raw text `''`: whether that means `{}`
   * depends on the tool's schema, which core knows.
   */
  #call(open: OpenBlock): ModelCall {
    const { block } = open;
    const json = argumentsOf(open);
    const wire = typeof block.name === 'string' ? block.name : '';
    const head = {
      ...(typeof block.id === 'string' ? { providerId: block.id } : {}),
      name: this.#names.get(wire) ?? wire,
    };
    if (json === '')
      return isObject(block.input) && Object.keys(block.input).length > 0 ? { ...head, input: block.input } : { ...head, unparsable: '' };
    return { ...head, ...readArguments(json) };
  }
}

/** Types of blocks whose every field and piece is known here. */
const complete = new Set(['text', 'thinking', 'redacted_thinking', 'tool_use', 'server_tool_use', 'mcp_tool_use']);

/** The arguments as text: what came in pieces, or what the opening block holds as text. */
function argumentsOf({ block, json }: OpenBlock): string {
  return json === '' && typeof block.input === 'string' ? block.input : json;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function fieldsOf(value: unknown): Fields {
  return isObject(value) ? (value as JsonObject) : {};
}
