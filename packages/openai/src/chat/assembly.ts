import type {
  AnswerAssembly,
  GuardloopError,
  JsonObject,
  JsonValue,
  ModelCall,
  ModelEvent,
  Prices,
  SseFrame,
  StopReason,
  Usage,
} from '@guardloop/core/model';
import { readArguments, recordOf } from '@guardloop/core/model';
import { isContentFilter } from '../failure.js';
import type { AssembledCall } from './call-assembly.js';
import { CallAssembly } from './call-assembly.js';
import type { Dialect } from './dialect.js';
import { errorIn } from './error-frame.js';
import { finishKind, tellsOfCalls } from './finish-reason.js';
import { serverField } from './native.js';
import type { Piece } from './think-tags.js';
import { ThinkTags } from './think-tags.js';
import { laterUsage, readUsage } from './usage.js';

/** What an assembly must know of its request, and how it reports what breaks the protocol. */
export interface AssemblyOptions {
  readonly names: ReadonlyMap<string, string>;
  readonly maxTokens: number | undefined;
  readonly dialect: Pick<Dialect, 'replayReasoning' | 'thinkTags'>;
  /** The server that answers. */
  readonly server: string;
  readonly prices: Prices | undefined;
  /** Characters of text, reasoning and arguments that an answer may hold together. */
  readonly maxChars: number;
  /** Makes the error for a breach of the protocol. */
  protocolError(what: string, isRetryable: boolean): GuardloopError;
  /** Makes the error for an error that the provider put into the stream. */
  providerError(error: unknown): GuardloopError;
}

type Fields = Record<string, unknown>;

const nothing: readonly ModelEvent[] = [];
const noDetails: readonly unknown[] = [];
const reasoningTexts = ['reasoning_content', 'reasoning'] as const;

/**
 * Assembles one answer from the frames of its stream. Text and reasoning pass at once; calls come out of `finish`, when the answer is
 * known to be whole.
 */
export class ChatAssembly implements AnswerAssembly {
  /** True once `[DONE]` was seen: nothing that follows counts. */
  isDone = false;
  /** True once text or reasoning was given out. */
  hasDelivered = false;
  readonly #options: AssemblyOptions;
  readonly #calls: CallAssembly;
  /** A call of the form that tools had before `tool_calls`; counts where no other comes. */
  readonly #oldCall: CallAssembly;
  readonly #tags: ThinkTags;
  readonly #reasoning: Record<string, string> = {};
  readonly #reasoningDetails: JsonValue[] = [];
  /** Of the frame that is being taken. */
  #events: ModelEvent[] = [];
  #text = '';
  #size = 0;
  #id = '';
  #chunksOfId = 0;
  #hasChoice = false;
  #hasDelta = false;
  #finish: string | undefined;
  #tellsOfCalls = false;
  /** Who refused, in words that are safe to show. */
  #refusal: string | undefined;
  #usage: Fields | undefined;

  constructor(options: AssemblyOptions) {
    this.#options = options;
    const unsupported = (what: string): GuardloopError => options.protocolError(what, false);
    this.#calls = new CallAssembly(unsupported);
    this.#oldCall = new CallAssembly(unsupported);
    this.#tags = new ThinkTags(options.dialect.thinkTags);
  }

  /** True once the answer may end: the model has said why it stopped, or the server that it is done. */
  get isTerminal(): boolean {
    return this.isDone || this.#finish !== undefined || this.#refusal !== undefined;
  }

  /** What the server has told of usage so far; undefined where nothing. */
  usage(requests: number): Usage | undefined {
    return this.#usage === undefined ? undefined : readUsage(this.#usage, requests, this.#options.prices);
  }

  /** The events of one frame. Throws what the server reports as an error, and what breaks the protocol, after what came before it. */
  push({ data: given, event }: SseFrame): Iterable<ModelEvent> {
    const data = given.trim();
    if (data === '' || this.isDone) return nothing;
    if (data === '[DONE]') {
      this.isDone = true;
      return nothing;
    }
    this.#events = [];
    try {
      this.#take(this.#parsed(data, event), event);
    } catch (error) {
      return failing(this.#events, error);
    }
    return this.#events;
  }

  #parsed(data: string, event: string): unknown {
    try {
      return JSON.parse(data);
    } catch {
      if (event === 'error') return {};
      throw this.#options.protocolError('The stream holds data that is not JSON', true);
    }
  }

  #take(chunk: unknown, event: string): void {
    const error = errorIn(chunk, event);
    if (error !== undefined) {
      if (!isContentFilter(error)) throw this.#options.providerError(error);
      this.#hasChoice = true;
      this.#refusal = 'content filter';
    }
    const fields = recordOf(chunk);
    if (fields === undefined) return;
    const choice = firstChoice(fields.choices);
    this.#usage = laterUsage(this.#usage, fields, choice);
    if (choice === undefined) return;
    this.#hasChoice = true;
    const delta = this.#deltaOf(choice);
    this.#checkOne(fields.id, delta);
    this.#takeDelta(delta);
    const { finish_reason: reason } = choice;
    if (typeof reason !== 'string' || reason.trim() === '') return;
    // That an answer was cut or refused stands, whatever is said after it.
    if (finishKind(this.#finish ?? 'stop') === 'good') this.#finish = reason;
    this.#tellsOfCalls ||= tellsOfCalls(reason);
    if (finishKind(reason) === 'error') throw this.#options.providerError(stopError(reason));
  }

  /** A whole message counts only where no delta came before: some servers repeat the answer so at its end. */
  #deltaOf(choice: Fields): Fields {
    const delta = recordOf(choice.delta);
    if (delta !== undefined) this.#hasDelta = true;
    return delta ?? (this.#hasDelta ? undefined : recordOf(choice.message)) ?? {};
  }

  /**
   * A proxy that asks again in the middle of a stream puts two answers into one. They are told by an id that stood in several chunks and
   * changes where an answer begins, or where more is said; an id that changes with every chunk tells nothing.
   */
  #checkOne(id: unknown, delta: Fields): void {
    if (typeof id !== 'string' || id === '') return;
    if (id === this.#id) {
      this.#chunksOfId += 1;
      return;
    }
    // A chunk that says nothing may have any id.
    if (!isGiven(delta.role) && !saysMore(delta)) return;
    if (this.#chunksOfId > 1 && this.#size > 0) throw this.#options.protocolError('The stream holds two answers', true);
    this.#id = id;
    this.#chunksOfId = 1;
  }

  /** The last events: the calls, then `end`. Throws if the answer is not whole. */
  finish(requests: number): readonly ModelEvent[] {
    if (!this.#hasChoice && this.isDone) throw this.#options.protocolError('The answer holds no choice', true);
    if (!this.isTerminal)
      throw this.#options.protocolError('The stream ended before the answer was whole: neither a finish reason nor [DONE] was seen', true);
    this.#events = [];
    for (const { type, text } of this.#tags.end()) this.#give(type, text);
    const own = this.#calls.all();
    const assembled = own.length > 0 ? own : this.#oldCall.all();
    const stopReason = this.#stopReason(assembled.length > 0);
    const isCut = stopReason === 'length' || stopReason === 'refusal';
    const calls = isCut ? [] : assembled.map((call) => this.#modelCall(call));
    const usage = readUsage(this.#usage, requests, this.#options.prices);
    const native = isCut ? undefined : this.#native(assembled, calls);
    const detail = this.#detail(stopReason, calls, usage);
    return [
      ...this.#events,
      ...calls.map((call): ModelEvent => ({ type: 'tool.call', call })),
      {
        type: 'end',
        stopReason,
        usage,
        ...(native === undefined ? {} : { native }),
        ...(detail === undefined ? {} : { detail }),
      },
    ];
  }

  #takeDelta(delta: Fields): void {
    if (Object.keys(recordOf(delta.audio) ?? {}).length > 0) throw this.#unsupported('audio');
    if (typeof delta.refusal === 'string' && delta.refusal !== '') this.#refusal = 'refusal by the model';
    this.#takeReasoning(delta);
    if (typeof delta.content === 'string') this.#takeText(delta.content);
    else if (Array.isArray(delta.content)) this.#takeParts(delta.content);
    if (isGiven(delta.tool_calls))
      for (const { index, text } of this.#calls.take(delta.tool_calls)) {
        this.#grow(text.length);
        this.#events.push({ type: 'tool.delta', index, text });
      }
    if (isGiven(delta.function_call))
      for (const { text } of this.#oldCall.take({ index: 0, function: delta.function_call })) this.#grow(text.length);
  }

  #takeText(text: string): void {
    if (text === '') return;
    if (this.#options.dialect.thinkTags === 'text') this.#give('text', text);
    else for (const piece of this.#tags.push(text)) this.#give(piece.type, piece.text);
  }

  #give(type: Piece['type'], text: string): void {
    this.#grow(text.length);
    this.hasDelivered = true;
    if (type === 'text') this.#text += text;
    this.#events.push({ type: `${type}.delta`, text });
  }

  #takeReasoning(delta: Fields): void {
    const name = reasoningTexts.find((field) => typeof delta[field] === 'string' && delta[field] !== '');
    const details: readonly unknown[] = Array.isArray(delta.reasoning_details) ? delta.reasoning_details : noDetails;
    for (const detail of details) {
      this.#grow(JSON.stringify(detail).length);
      this.#reasoningDetails.push(detail as JsonValue);
    }
    if (name !== undefined) {
      this.#takeReasoningText(name, String(delta[name]));
      return;
    }
    for (const detail of details.map(recordOf))
      for (const text of [detail?.text, detail?.summary]) if (typeof text === 'string' && text !== '') this.#give('reasoning', text);
  }

  #takeReasoningText(name: (typeof reasoningTexts)[number], text: string): void {
    this.#reasoning[name] = `${this.#reasoning[name] ?? ''}${text}`;
    this.#give('reasoning', text);
  }

  /** Content as parts, as some servers send it. */
  #takeParts(parts: readonly unknown[]): void {
    for (const part of parts.map(recordOf)) {
      if (part?.type === 'text' && typeof part.text === 'string') this.#takeText(part.text);
      else if (part?.type === 'refusal') this.#refusal = 'refusal by the model';
      else if (part?.type === 'thinking') this.#takeThinking(part.thinking);
      else if (part !== undefined) throw this.#unsupported('a content part that is no text');
    }
  }

  #takeThinking(thinking: unknown): void {
    const texts = Array.isArray(thinking) ? thinking.map((piece) => recordOf(piece)?.text) : [thinking];
    for (const text of texts) if (typeof text === 'string' && text !== '') this.#takeReasoningText('reasoning_content', text);
  }

  #grow(chars: number): void {
    this.#size += chars;
    if (this.#size > this.#options.maxChars)
      throw this.#options.protocolError(`The answer is longer than ${this.#options.maxChars} characters`, false);
  }

  #stopReason(hasCalls: boolean): StopReason {
    const kind = finishKind(this.#finish ?? 'stop');
    if (this.#refusal !== undefined || kind === 'refusal') return 'refusal';
    if (kind === 'length') return 'length';
    return hasCalls || this.#tellsOfCalls ? 'tools' : 'stop';
  }

  #modelCall(call: AssembledCall): ModelCall {
    const known = {
      ...(call.id === '' ? {} : { providerId: call.id }),
      name: this.#options.names.get(call.name) ?? call.name,
    };
    return { ...known, ...readArguments(call.input) };
  }

  /** What replays the answer byte for byte; undefined where the API would not take it back as it is. */
  #native(assembled: readonly AssembledCall[], calls: readonly ModelCall[]): JsonObject | undefined {
    if (!calls.every((call) => 'input' in call && recordOf(call.input) !== undefined)) return undefined;
    if (this.#text === '' && calls.length === 0) return undefined;
    const keepsExtensions = this.#options.dialect.replayReasoning;
    const extensions: JsonObject = {
      ...this.#reasoning,
      ...(this.#reasoningDetails.length > 0 ? { reasoning_details: this.#reasoningDetails } : {}),
    };
    const hasExtensions = Object.keys(extensions).length > 0 || assembled.some((call) => Object.keys(call.extensions).length > 0);
    return {
      role: 'assistant',
      content: this.#text === '' ? null : this.#text,
      ...(keepsExtensions ? extensions : {}),
      ...(assembled.length === 0
        ? {}
        : {
            tool_calls: assembled.map((call) => ({
              ...(keepsExtensions ? call.extensions : {}),
              id: call.id,
              type: 'function',
              function: { name: call.name, arguments: call.input },
            })),
          }),
      ...(keepsExtensions && hasExtensions ? { [serverField]: this.#options.server } : {}),
    };
  }

  #detail(stopReason: StopReason, calls: readonly ModelCall[], usage: Usage): string | undefined {
    if (stopReason === 'refusal') return this.#refusal ?? 'content filter';
    const { maxTokens } = this.#options;
    const last = calls.at(-1);
    if (maxTokens === undefined || last === undefined || !('unparsable' in last) || (usage.outputTokens ?? 0) < maxTokens) return undefined;
    return 'the output limit was reached';
  }

  #unsupported(feature: string): GuardloopError {
    return this.#options.protocolError(`The answer holds ${feature}, which this adapter does not support`, false);
  }
}

/** Only the first answer counts, where a server gives several. */
function firstChoice(choices: unknown): Fields | undefined {
  if (!Array.isArray(choices)) return undefined;
  for (const candidate of choices as readonly unknown[]) {
    const choice = recordOf(candidate);
    if (choice !== undefined && (choice.index ?? 0) === 0) return choice;
  }
  return undefined;
}

function saysMore(delta: Fields): boolean {
  return Object.values(delta).some((value) => isGiven(value) && value !== '');
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function* failing(events: readonly ModelEvent[], error: unknown): Generator<ModelEvent> {
  yield* events;
  throw error;
}

/** The error that a finish reason stands for: DeepSeek says `insufficient_system_resource` when it is overloaded. */
function stopError(reason: string): Fields {
  const code = reason.trim().toLowerCase();
  return { code, ...(/insufficient_system|overload/.test(code) ? { status: 503 } : {}) };
}
