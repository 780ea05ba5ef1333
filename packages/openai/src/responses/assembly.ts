import type {
  AnswerAssembly,
  GuardloopError,
  JsonObject,
  ModelCall,
  ModelEvent,
  Prices,
  SseFrame,
  StopReason,
  Usage,
} from '@guardloop/core/model';
import { readArguments, recordOf } from '@guardloop/core/model';
import { isContentFilter } from '../failure.js';
import type { OpenItem } from './output-items.js';
import { OutputItems, textOf } from './output-items.js';
import { recorded } from './replay.js';
import { readUsage } from './usage.js';
import { wholeItem } from './whole-item.js';

/** What an assembly must know of its request, and how it reports what breaks the protocol. */
export interface AssemblyOptions {
  readonly names: ReadonlyMap<string, string>;
  readonly prices: Prices | undefined;
  /** Who answers. */
  readonly server: string;
  /** Most that an answer may hold. */
  readonly maxChars: number;
  /** Makes the error for a breach of the protocol: a sentence without its full stop. */
  protocolError(what: string, isRetryable: boolean): GuardloopError;
  /** Makes the error for an error that the provider put into the stream. */
  providerError(error: unknown): GuardloopError;
}

type Fields = Record<string, unknown>;

const terminals: ReadonlyMap<string, string> = new Map([
  ['response.completed', 'completed'],
  ['response.incomplete', 'incomplete'],
  ['response.failed', 'failed'],
  ['response.cancelled', 'cancelled'],
]);
/** Calls that the API hands to its caller, and that this adapter offers no tool for. */
const callerItems = new Set([
  'custom_tool_call',
  'computer_call',
  'local_shell_call',
  'apply_patch_call',
  'mcp_approval_request',
  'tool_search_call',
]);
/** Calls that the provider runs and that may change something outside: after one, the answer is not to be asked for again unseen. */
const effectItems = new Set(['mcp_call', 'shell_call', 'code_interpreter_call', 'image_generation_call']);
const refusedByModel = 'refusal by the model';
const refusedByFilter = 'content filter';

/**
 * Assembles one answer from the frames of its stream. Text and reasoning pass at once; calls come out of `finish`, when the answer is known
 * to be whole. What a server tells only at the end of an item, or only at the end of the answer, is given out then.
 */
export class ResponsesAssembly implements AnswerAssembly {
  /** True once the response has ended, or `[DONE]` was seen: nothing that follows counts. */
  isDone = false;
  /** True once text or reasoning was given out, or the provider ran a tool that may have changed something. */
  hasDelivered = false;
  readonly #options: AssemblyOptions;
  readonly #items = new OutputItems();
  /** Of the frame that is looked at. */
  #events: ModelEvent[] = [];
  #size = 0;
  /** The id of the response, as its beginning told it. */
  #created = '';
  #status: string | undefined;
  #incompleteReason = '';
  /** Who refused, in words that are safe to show. */
  #refusal: string | undefined;
  #usage: Fields | undefined;

  constructor(options: AssemblyOptions) {
    this.#options = options;
  }

  /** True once the response has ended. */
  get isTerminal(): boolean {
    return this.#status !== undefined || this.#refusal === refusedByFilter;
  }

  /** What was used, once the provider has told it. */
  usage(requests: number): Usage | undefined {
    return this.#usage === undefined ? undefined : readUsage(this.#usage, requests, this.#options.prices);
  }

  /** The events of one frame. Throws what the server reports as an error, and what breaks the protocol. */
  push(frame: SseFrame): readonly ModelEvent[] {
    const data = frame.data.trim();
    if (data === '' || this.isDone) return [];
    if (data === '[DONE]') {
      this.isDone = true;
      return [];
    }
    let value: unknown;
    try {
      value = JSON.parse(data);
    } catch {
      throw this.#options.protocolError('The stream holds data that is not JSON', true);
    }
    const fields = recordOf(value);
    this.#events = [];
    if (fields?.item !== undefined) this.#grow(data.length);
    if (fields !== undefined) this.#take(fields, textOf(fields.type) || frame.event);
    return this.#events;
  }

  /** The last events: the calls, then `end`. Throws if the answer is not whole. */
  finish(requests: number): readonly ModelEvent[] {
    if (!this.isTerminal)
      throw this.#options.protocolError(
        'The stream ended before the answer was whole: no event has said that the response is complete',
        true,
      );
    const stopReason = this.#stopReason();
    const items = stopReason === undefined ? this.#items.all().map((item) => this.#whole(item)) : [];
    const calls = items.filter(({ type }) => type === 'function_call').map((item) => this.#modelCall(item));
    const native = items.length > 0 && calls.every(isWhole) ? recorded(items, this.#options.server) : undefined;
    const detail = this.#detail(stopReason);
    return [
      ...calls.map((call): ModelEvent => ({ type: 'tool.call', call })),
      {
        type: 'end',
        stopReason: stopReason ?? (calls.length > 0 ? 'tools' : 'stop'),
        usage: this.usage(requests) ?? { requests },
        ...(native === undefined ? {} : { native }),
        ...(detail === undefined ? {} : { detail }),
      },
    ];
  }

  #take(event: Fields, type: string): void {
    switch (type) {
      case 'response.created':
        this.#start(textOf(recordOf(event.response)?.id));
        return;
      case 'response.output_item.added':
        this.#begin(this.#items.open(event, this.#supported(event.item)));
        return;
      case 'response.output_item.done':
        this.#complete(this.#items.close(event, this.#supported(event.item)));
        return;
      case 'response.output_text.delta':
        this.#give(this.#items.piece(event, 'message'), partKey('text', event.content_index), textOf(event.delta));
        return;
      case 'response.refusal.delta':
      case 'response.refusal.done':
        this.#refusal ??= refusedByModel;
        return;
      case 'response.reasoning_summary_text.delta':
        this.#give(this.#items.piece(event, 'reasoning'), partKey('summary', event.summary_index), textOf(event.delta));
        return;
      case 'response.reasoning_text.delta':
        this.#give(this.#items.piece(event, 'reasoning'), partKey('reasoning', event.content_index), textOf(event.delta));
        return;
      case 'response.function_call_arguments.delta':
        this.#giveInput(this.#items.piece(event, 'function_call'), textOf(event.delta));
        return;
      case 'response.function_call_arguments.done':
        if (typeof event.arguments === 'string') this.#items.piece(event, 'function_call').wholeInput = event.arguments;
        return;
      default:
        this.#takeOther(event, type);
    }
  }

  /** A proxy that asks again in the middle of a stream puts two answers into one. Said again, a beginning is the same one. */
  #start(id: string): void {
    if (this.#created !== '' && id !== '' && id !== this.#created && this.#size > 0)
      throw this.#options.protocolError('The stream holds two answers', true);
    this.#created = id || this.#created;
  }

  /** Ends, errors, whole answers; events of any other type pass. */
  #takeOther(event: Fields, type: string): void {
    const response = terminals.has(type) ? recordOf(event.response) : event.object === 'response' ? event : undefined;
    if (response !== undefined) this.#end(response, terminals.get(type));
    else if (type === 'error' || isError(event.error)) this.#fail(recordOf(event.error) ?? { ...event, type: undefined });
  }

  #end(response: Fields, told: string | undefined): void {
    this.#usage = recordOf(response.usage) ?? this.#usage;
    const status = typeof response.status === 'string' ? response.status : told;
    if (status === 'failed' || status === 'cancelled' || isError(response.error)) {
      this.#fail(recordOf(response.error) ?? { code: `response_${status ?? 'failed'}` });
      return;
    }
    const output: readonly unknown[] = Array.isArray(response.output) ? response.output : [];
    for (const item of output) this.#supported(item);
    for (const item of this.#items.settle(output)) this.#complete(item);
    this.#incompleteReason = textOf(recordOf(response.incomplete_details)?.reason);
    if (status !== 'completed' && status !== 'incomplete') return;
    this.#status = status;
    this.isDone = true;
  }

  #fail(error: Fields): void {
    if (!isContentFilter(error)) throw this.#options.providerError(error);
    this.#refusal = refusedByFilter;
    this.isDone = true;
  }

  #begin({ type }: OpenItem): void {
    if (effectItems.has(type)) this.hasDelivered = true;
  }

  /** What an item that has ended says beyond its pieces. */
  #complete(open: OpenItem): void {
    this.#begin(open);
    const item = open.done ?? open.begun;
    if (open.type === 'message') this.#completeMessage(open, partsOf(item.content));
    if (open.type !== 'reasoning' || open.given.size > 0) return;
    for (const [index, part] of partsOf(item.summary).entries()) this.#give(open, partKey('summary', index), textOf(part.text));
    for (const [index, part] of partsOf(item.content).entries()) this.#give(open, partKey('reasoning', index), textOf(part.text));
  }

  #completeMessage(open: OpenItem, parts: readonly Fields[]): void {
    for (const [index, part] of parts.entries()) {
      if (part.type === 'refusal') this.#refusal ??= refusedByModel;
      else if (part.type !== 'output_text' && part.type !== 'text' && part.type !== undefined)
        throw this.#unsupported('a content part that is no text');
      const key = partKey('text', index);
      const given = open.given.get(key) ?? '';
      const whole = part.type === 'refusal' ? '' : textOf(part.text);
      if (whole !== '' && !whole.startsWith(given))
        throw this.#options.protocolError('The text of the answer is not the text that its pieces gave', false);
      if (whole !== '') this.#give(open, key, whole.slice(given.length));
    }
  }

  /** Gives out a piece of text or reasoning. */
  #give(open: OpenItem, key: string, text: string): void {
    if (text === '') return;
    this.#grow(text.length);
    open.given.set(key, (open.given.get(key) ?? '') + text);
    this.hasDelivered = true;
    this.#events.push({ type: open.type === 'message' ? 'text.delta' : 'reasoning.delta', text });
  }

  #giveInput(open: OpenItem, text: string): void {
    if (text === '') return;
    this.#grow(text.length);
    open.input += text;
    this.#events.push({ type: 'tool.delta', index: open.callIndex, text });
  }

  #grow(chars: number): void {
    const { maxChars } = this.#options;
    this.#size += chars;
    if (this.#size > maxChars) throw this.#options.protocolError(`The answer is longer than ${maxChars} characters`, false);
  }

  #supported(item: unknown): Fields {
    const fields = recordOf(item) ?? {};
    const type = textOf(fields.type);
    const isCallers = callerItems.has(type) && !(type === 'tool_search_call' && fields.execution === 'server');
    if (isCallers) throw this.#unsupported(`a ${type}`);
    return fields;
  }

  #stopReason(): Extract<StopReason, 'length' | 'refusal'> | undefined {
    if (this.#refusal !== undefined || this.#incompleteReason === 'content_filter') return 'refusal';
    if (this.#status === 'completed') return this.#items.all().some(isCut) ? 'length' : undefined;
    if (this.#incompleteReason === 'max_output_tokens' || this.#incompleteReason === '') return 'length';
    throw this.#options.protocolError('The answer is incomplete for a reason that this adapter does not know', false);
  }

  #detail(stopReason: StopReason | undefined): string | undefined {
    return stopReason === 'refusal' ? (this.#refusal ?? refusedByFilter) : undefined;
  }

  #whole(open: OpenItem): JsonObject {
    const { item, isChanged } = wholeItem(open);
    if (isChanged) throw this.#options.protocolError('The text of the answer is not the text that its pieces gave', false);
    return item;
  }

  #modelCall({ call_id: id, name, arguments: input }: JsonObject): ModelCall {
    const known = {
      ...(textOf(id) === '' ? {} : { providerId: textOf(id) }),
      name: this.#options.names.get(textOf(name)) ?? textOf(name),
    };
    return { ...known, ...readArguments(textOf(input)) };
  }

  #unsupported(feature: string): GuardloopError {
    return this.#options.protocolError(`The answer holds ${feature}, which this adapter does not support`, false);
  }
}

/** True for text or a call that says of itself that it was cut, whatever is said of the answer. */
function isCut({ type, done, begun }: OpenItem): boolean {
  return (type === 'message' || type === 'function_call') && (done ?? begun).status === 'incomplete';
}

/** False for a call that no request could hold. */
function isWhole(call: ModelCall): boolean {
  return 'input' in call && recordOf(call.input) !== undefined && call.name !== '';
}

function partKey(kind: string, index: unknown): string {
  return `${kind} ${typeof index === 'number' ? index : 0}`;
}

function partsOf(value: unknown): readonly Fields[] {
  const parts: readonly unknown[] = Array.isArray(value) ? value : [];
  return parts.map((part) => recordOf(part) ?? {});
}

function isError(error: unknown): boolean {
  return error !== undefined && error !== null && error !== false;
}
