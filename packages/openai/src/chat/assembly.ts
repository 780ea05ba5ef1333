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
import { recordOf } from '@guardloop/core/model';
import { isContentFilter } from '../failure.js';
import type { AssembledCall } from './call-assembly.js';
import { CallAssembly } from './call-assembly.js';
import { readUsage } from './usage.js';

/** What an assembly must know of its request, and how it reports what breaks the protocol. */
export interface AssemblyOptions {
  readonly names: ReadonlyMap<string, string>;
  readonly maxTokens: number | undefined;
  readonly replayReasoning: boolean;
  readonly prices: Prices | undefined;
  /** Makes the error for a breach of the protocol. */
  protocolError(what: string, isRetryable: boolean): GuardloopError;
  /** Makes the error for an error that the provider put into the stream. */
  providerError(error: unknown): GuardloopError;
}

type Fields = Record<string, unknown>;

const lengthReasons = new Set(['length', 'max_tokens', 'max_output_tokens', 'model_length']);
const refusalReasons = new Set(['content_filter', 'refusal', 'safety', 'sensitive']);
const errorReasons = new Set(['error', 'network_error', 'insufficient_system_resource', 'abort']);
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
  readonly #reasoning: Record<string, string> = {};
  readonly #reasoningDetails: JsonValue[] = [];
  #text = '';
  #hasChoice = false;
  #finish: string | undefined;
  /** Who refused, in words that are safe to show. */
  #refusal: string | undefined;
  #usage: Fields | undefined;

  constructor(options: AssemblyOptions) {
    this.#options = options;
    this.#calls = new CallAssembly((what) => options.protocolError(what, false));
  }

  /** True once the answer may end: the model has said why it stopped, or the server that it is done. */
  get isTerminal(): boolean {
    return this.isDone || this.#finish !== undefined || this.#refusal !== undefined;
  }

  /** The events of one frame. Throws what the server reports as an error, and what breaks the protocol. */
  *push(frame: SseFrame): Generator<ModelEvent> {
    const data = frame.data.trim();
    if (data === '' || this.isDone) return;
    if (data === '[DONE]') {
      this.isDone = true;
      return;
    }
    let chunk: unknown;
    try {
      chunk = JSON.parse(data);
    } catch {
      throw this.#options.protocolError('The stream holds data that is not JSON', true);
    }
    yield* this.take(chunk, frame.event);
  }

  /** The events of one chunk, or of a whole answer that was not streamed. */
  *take(chunk: unknown, event: string): Generator<ModelEvent> {
    const fields = recordOf(chunk);
    if (fields === undefined) return;
    const error = fields.error ?? (event === 'error' || fields.object === 'error' ? fields : undefined);
    if (error !== undefined && error !== null && error !== false) {
      if (!isContentFilter(error)) throw this.#options.providerError(error);
      this.#hasChoice = true;
      this.#refusal = 'content filter';
    }
    this.#usage = recordOf(fields.usage) ?? this.#usage;
    const choices: readonly unknown[] = Array.isArray(fields.choices) ? fields.choices : [];
    const choice = choices.map(recordOf).find((candidate) => candidate !== undefined && (candidate.index ?? 0) === 0);
    if (choice === undefined) return;
    this.#hasChoice = true;
    yield* this.#takeDelta(recordOf(choice.delta) ?? recordOf(choice.message) ?? {});
    if (typeof choice.finish_reason === 'string' && choice.finish_reason !== '') this.#finish = choice.finish_reason;
    if (this.#finish !== undefined && errorReasons.has(this.#finish))
      throw this.#options.providerError(choice.error ?? { code: this.#finish });
  }

  /** The last events: the calls, then `end`. Throws if the answer is not whole. */
  finish(requests: number): readonly ModelEvent[] {
    if (!this.#hasChoice && this.isDone) throw this.#options.protocolError('The answer holds no choice', true);
    if (!this.isTerminal)
      throw this.#options.protocolError('The stream ended before the answer was whole: neither a finish reason nor [DONE] was seen', true);
    const assembled = this.#calls.all();
    const stopReason = this.#stopReason(assembled.length > 0);
    const isCut = stopReason === 'length' || stopReason === 'refusal';
    const calls = isCut ? [] : assembled.map((call) => this.#modelCall(call));
    const usage = readUsage(this.#usage, requests, this.#options.prices);
    const native = isCut ? undefined : this.#native(assembled, calls);
    const detail = this.#detail(stopReason, calls, usage);
    return [
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

  *#takeDelta(delta: Fields): Generator<ModelEvent> {
    if (Object.keys(recordOf(delta.audio) ?? {}).length > 0) throw this.#unsupported('audio');
    if (typeof recordOf(delta.function_call)?.name === 'string') throw this.#unsupported('a function_call of the old form');
    if (typeof delta.refusal === 'string' && delta.refusal !== '') this.#refusal = 'refusal by the model';
    yield* this.#takeReasoning(delta);
    if (typeof delta.content === 'string') yield* this.#takeText(delta.content);
    else if (Array.isArray(delta.content)) yield* this.#takeParts(delta.content);
    for (const { index, text } of this.#calls.take(delta.tool_calls)) yield { type: 'tool.delta', index, text };
  }

  *#takeText(text: string): Generator<ModelEvent> {
    if (text === '') return;
    this.#text += text;
    this.hasDelivered = true;
    yield { type: 'text.delta', text };
  }

  *#takeReasoning(delta: Fields): Generator<ModelEvent> {
    const name = reasoningTexts.find((field) => typeof delta[field] === 'string' && delta[field] !== '');
    if (Array.isArray(delta.reasoning_details)) this.#reasoningDetails.push(...(delta.reasoning_details as JsonValue[]));
    if (name !== undefined) yield* this.#takeReasoningText(name, String(delta[name]));
  }

  *#takeReasoningText(name: (typeof reasoningTexts)[number], text: string): Generator<ModelEvent> {
    this.#reasoning[name] = `${this.#reasoning[name] ?? ''}${text}`;
    this.hasDelivered = true;
    yield { type: 'reasoning.delta', text };
  }

  /** Content as parts, as some servers send it. */
  *#takeParts(parts: readonly unknown[]): Generator<ModelEvent> {
    for (const part of parts.map(recordOf)) {
      if (part?.type === 'text' && typeof part.text === 'string') yield* this.#takeText(part.text);
      else if (part?.type === 'refusal') this.#refusal = 'refusal by the model';
      else if (part?.type === 'thinking') yield* this.#takeThinking(part.thinking);
      else if (part !== undefined) throw this.#unsupported('a content part that is no text');
    }
  }

  *#takeThinking(thinking: unknown): Generator<ModelEvent> {
    const texts = Array.isArray(thinking) ? thinking.map((piece) => recordOf(piece)?.text) : [thinking];
    for (const text of texts) if (typeof text === 'string' && text !== '') yield* this.#takeReasoningText('reasoning_content', text);
  }

  #stopReason(hasCalls: boolean): StopReason {
    const finish = this.#finish ?? '';
    if (this.#refusal !== undefined || refusalReasons.has(finish)) return 'refusal';
    if (lengthReasons.has(finish)) return 'length';
    return hasCalls ? 'tools' : 'stop';
  }

  #modelCall(call: AssembledCall): ModelCall {
    const known = {
      ...(call.id === '' ? {} : { providerId: call.id }),
      name: this.#options.names.get(call.name) ?? call.name,
    };
    try {
      return { ...known, input: JSON.parse(call.input) as JsonValue };
    } catch {
      return { ...known, unparsable: call.input };
    }
  }

  /** What replays the answer byte for byte; undefined where the API would not take it back as it is. */
  #native(assembled: readonly AssembledCall[], calls: readonly ModelCall[]): JsonObject | undefined {
    if (!calls.every((call) => 'input' in call && recordOf(call.input) !== undefined)) return undefined;
    if (this.#text === '' && calls.length === 0) return undefined;
    const keepsExtensions = this.#options.replayReasoning;
    return {
      role: 'assistant',
      content: this.#text === '' ? null : this.#text,
      ...(keepsExtensions ? this.#reasoning : {}),
      ...(keepsExtensions && this.#reasoningDetails.length > 0 ? { reasoning_details: this.#reasoningDetails } : {}),
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
