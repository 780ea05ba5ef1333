import Anthropic from '@anthropic-ai/sdk';
import type { Model, ModelEvent, ModelRequest, ModelSettings, StopReason, Usage } from '@guardloop/core/model';
import { GuardloopError } from '@guardloop/core/model';
import { AnswerAssembly, BrokenStream, ReportedError } from './assemble-answer.js';
import type { Block } from './blocks.js';
import type { BuiltRequest, RequestContext } from './build-request.js';
import { buildRequest, continuedRequest } from './build-request.js';
import type { ClientOptions } from './client.js';
import { isMissingKey, lazyClient, missingKey } from './client.js';
import { isReadable, providerName, replayable } from './encode-items.js';
import type { CallState } from './failure.js';
import { aborted, protocolFailure, requestFailure, streamFailure } from './failure.js';
import { readAnswer } from './read-answer.js';
import { Attempts, sendRequest } from './send-request.js';
import { OversizedEvent } from './server-events.js';
import type { ThinkingOptions } from './thinking.js';
import { thinkingTraits } from './thinking.js';
import type { ProviderTool } from './tool-fields.js';
import type { AnthropicPrices, TokenCounts } from './usage.js';
import { addCounts, noTokens, toUsage } from './usage.js';
import { wellFormedJson } from './well-formed.js';
import { toolNames } from './wire-names.js';

/** How a Claude model is reached and asked. All options are optional. */
export interface AnthropicOptions extends ClientOptions {
  /** For a million tokens; with them `usage.cost` is known. */
  readonly prices?: AnthropicPrices | undefined;
  /** Used where an agent's settings leave something open. A tool choice is a matter of the agent. */
  readonly settings?: Omit<ModelSettings, 'toolChoice'> | undefined;
  /**
   * `max_tokens` where no settings say it (32 000). The API always wants one; this is the most that every model since Claude 4 takes. An
   * answer that is cut fails its run, while tokens that are not used cost nothing, so a small default would only do harm.
   */
  readonly maxTokens?: number | undefined;
  readonly thinking?: ThinkingOptions | undefined;
  /**
   * Prompt caching. `auto` marks the end of the system text, which all conversations share, and has the API mark the end of each request, so
   * that the next turn reads it from the cache. Left out: `auto`, but `off` with a `client` that is no `Anthropic` of the SDK, since other
   * platforms may not know the second mark.
   */
  readonly cache?: 'auto' | 'off' | undefined;
  /**
   * How a structured answer is asked for. `native` (the default) uses `output_config.format` where the schema can be said in its subset of
   * JSON Schema, and words in the system text where not; `prompt` always uses words, for models before Claude 4.5 and imitations of the API.
   */
  readonly structuredOutput?: 'native' | 'prompt' | undefined;
  /** Tools that Anthropic runs itself. Guardrails do not see their calls, so agents must list them as unguarded. */
  readonly providerTools?: readonly ProviderTool[] | undefined;
}

const defaultMaxTokens = 32_000;
/** How often a paused answer is gone on with inside one call. */
const mostPauses = 8;

/**
 * A Claude model over the Messages API, for example `anthropic('claude-opus-4-8')`. Making it sends nothing and needs no key.
 * Throws `CONFIG_INVALID` for options that cannot be.
 */
export function anthropic(modelId: string, options: AnthropicOptions = {}): Model {
  checkOptions(modelId, options);
  const openClient = lazyClient(options, modelId);
  const context: RequestContext = {
    model: modelId,
    settings: options.settings ?? {},
    maxTokens: options.maxTokens ?? defaultMaxTokens,
    thinking: options.thinking ?? {},
    traits: thinkingTraits(modelId),
    cache: options.cache ?? (options.client === undefined || options.client instanceof Anthropic ? 'auto' : 'off'),
    structuredOutput: options.structuredOutput ?? 'native',
    providerTools: options.providerTools ?? [],
    headers: Object.fromEntries(Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])),
  };
  return {
    id: modelId,
    provider: providerName,
    ...(options.providerTools === undefined ? {} : { providerTools: options.providerTools.map(({ name }) => name) }),
    stream: (request, { signal }) => new AnthropicCall(context, options.prices).run(openClient, request, signal),
  };
}

const optionNames: { readonly [K in keyof AnthropicOptions]-?: true } = {
  client: true,
  apiKey: true,
  baseURL: true,
  maxRetries: true,
  timeoutMs: true,
  headers: true,
  fetch: true,
  prices: true,
  settings: true,
  maxTokens: true,
  thinking: true,
  cache: true,
  structuredOutput: true,
  providerTools: true,
};

function checkOptions(modelId: string, options: AnthropicOptions): void {
  const { maxTokens, prices } = options;
  const invalid = (message: string): never => {
    throw new GuardloopError('CONFIG_INVALID', `anthropic('${modelId}'): ${message}`);
  };
  if (typeof modelId !== 'string')
    throw new GuardloopError(
      'CONFIG_INVALID',
      "anthropic(…): the model id is no text. Call it so: anthropic('claude-opus-4-8', { …options }).",
    );
  if (modelId.trim() === '') invalid('the model id is empty. Give one such as claude-opus-4-8.');
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(optionNames, name));
  if (unknown !== undefined) invalid(`there is no option ${unknown}. The options are ${Object.keys(optionNames).join(', ')}.`);
  if (maxTokens !== undefined && !(Number.isInteger(maxTokens) && maxTokens > 0)) invalid('maxTokens must be a whole number above 0.');
  for (const [name, price] of Object.entries(prices ?? {})) {
    if (price !== undefined && !(Number.isFinite(price) && price >= 0)) invalid(`prices.${name} must be a number from 0.`);
  }
}

/** One model call: a request, or several where the provider pauses. */
class AnthropicCall {
  readonly #context: RequestContext;
  readonly #prices: AnthropicPrices | undefined;
  readonly #attempts = new Attempts();
  #rounds = 0;
  /** Of the rounds that are over, and of the answer that is coming in. */
  #counts: TokenCounts = noTokens;
  #answer: AnswerAssembly | undefined;
  #delivered = false;
  #demands: readonly string[] = [];

  constructor(context: RequestContext, prices: AnthropicPrices | undefined) {
    this.#context = context;
    this.#prices = prices;
  }

  async *run(
    openClient: () => ReturnType<ReturnType<typeof lazyClient>>,
    request: ModelRequest,
    signal: AbortSignal,
  ): AsyncGenerator<ModelEvent> {
    if (signal.aborted) throw aborted(this.#state());
    const built = buildRequest(request, this.#context);
    this.#demands = built.demands;
    const client = openClient();
    const controller = new AbortController();
    const abort = (): void => controller.abort(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    const said: Block[] = [];
    try {
      for (;;) {
        const answer = new AnswerAssembly(toolNames(request.tools));
        this.#answer = answer;
        const next = said.length === 0 ? built : continuedRequest(built, saidSoFar(said));
        // Not `yield* batch`: delegation costs an async generator three turns of the event loop for each event.
        for await (const batch of this.#round(client, next, { answer, signal: controller.signal })) for (const event of batch) yield event;
        said.push(...answer.blocks());
        this.#counts = addCounts(this.#counts, answer.counts);
        this.#answer = undefined;
        if (answer.stopReason !== 'pause_turn') {
          yield* this.#ending(answer, said);
          return;
        }
      }
    } catch (error) {
      throw signal.aborted ? aborted(this.#state()) : this.#failure(error);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  async *#round(
    client: ReturnType<ReturnType<typeof lazyClient>>,
    built: BuiltRequest,
    { answer, signal }: { readonly answer: AnswerAssembly; readonly signal: AbortSignal },
  ): AsyncGenerator<readonly ModelEvent[]> {
    this.#rounds += 1;
    if (this.#rounds > mostPauses + 1) {
      throw protocolFailure(`Anthropic paused its answer more than ${mostPauses} times`, this.#state());
    }
    const response = yield* sendRequest(client, { ...built, signal, attempts: this.#attempts });
    if (response.body !== null) {
      for await (const batch of readAnswer(response.body, answer, signal)) {
        this.#delivered ||= batch.some(({ type }) => type === 'text.delta' || type === 'reasoning.delta');
        yield batch;
      }
    }
    signal.throwIfAborted();
    if (!answer.isFinished)
      throw protocolFailure('The stream of Anthropic ended without message_stop, so the answer is not whole', this.#state());
  }

  *#ending(answer: AnswerAssembly, said: readonly Block[]): Generator<ModelEvent> {
    const calls = answer.calls();
    const stopReason = this.#stopReason(answer.stopReason, calls.length > 0);
    const isUsable = stopReason === 'stop' || stopReason === 'tools';
    const native = wellFormedJson(said.filter(isReadable)) as readonly Block[];
    const detail = stopReason === 'refusal' ? answer.detail : stopReason === 'length' ? answer.stopReason : undefined;
    if (isUsable) for (const call of calls) yield { type: 'tool.call', call };
    yield {
      type: 'end',
      stopReason,
      usage: this.#usage(),
      ...(isUsable && native.length > 0 ? { native } : {}),
      ...(detail === undefined ? {} : { detail }),
    };
  }

  #stopReason(reason: string | undefined, hasCalls: boolean): StopReason {
    switch (reason) {
      case undefined:
      case 'end_turn':
      case 'stop_sequence':
      case 'tool_use':
        return hasCalls ? 'tools' : 'stop';
      case 'max_tokens':
      case 'model_context_window_exceeded':
        return 'length';
      case 'refusal':
        return 'refusal';
      default:
        throw protocolFailure('Anthropic ended its answer for a reason that this version does not know', this.#state());
    }
  }

  #failure(error: unknown): GuardloopError {
    const state = this.#state();
    if (isMissingKey(error)) return missingKey(this.#context.model);
    if (error instanceof ReportedError) return streamFailure(error.reported, state);
    if (error instanceof BrokenStream) return protocolFailure(error.message, state);
    if (error instanceof OversizedEvent) return protocolFailure('Anthropic sent an event without an end', state);
    return requestFailure(error, state);
  }

  #usage(): Usage {
    const counts = this.#answer === undefined ? this.#counts : addCounts(this.#counts, this.#answer.counts);
    return toUsage(counts, Math.max(this.#attempts.count, this.#rounds), this.#prices);
  }

  #state(): CallState {
    const usage = this.#usage();
    return {
      provider: providerName,
      model: this.#context.model,
      attempts: this.#attempts.count === 0 ? undefined : this.#attempts.count,
      requestId: this.#attempts.requestId,
      delivered: this.#delivered,
      usage: (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0) === 0 ? undefined : usage,
      demands: this.#demands,
    };
  }
}

/** The API takes no message that ends in whitespace where it is to go on from it. */
function saidSoFar(blocks: readonly Block[]): { readonly role: 'assistant'; readonly content: readonly Block[] } {
  const content = [...replayable(blocks)];
  const last = content.at(-1);
  if (last?.type === 'text' && typeof last.text === 'string') content[content.length - 1] = { ...last, text: last.text.trimEnd() };
  return { role: 'assistant', content };
}
