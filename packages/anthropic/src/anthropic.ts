import Anthropic from '@anthropic-ai/sdk';
import type { Asking, Model, ModelEvent, ModelRequest, ModelSettings, Send, StopReason, StreamOptions, Usage } from '@guardloop/core/model';
import {
  checkDefaultSettings,
  checkModelId,
  checkOptionNames,
  checkPrices,
  checkWholeNumber,
  clientOptionNames,
  frameFailure,
  HttpCall,
  wellFormed,
  withClientRetries,
} from '@guardloop/core/model';
import { AnswerAssembly } from './assemble-answer.js';
import type { Block, WireMessage } from './blocks.js';
import type { BuiltRequest, RequestContext } from './build-request.js';
import { buildRequest, continuedRequest } from './build-request.js';
import type { ClientOptions } from './client.js';
import { Transport } from './client.js';
import { isReadable, providerName, replayable } from './encode-items.js';
import { anthropicWords } from './failure.js';
import type { Container } from './native-message.js';
import { writeNative } from './native-message.js';
import { checkProviderTools } from './provider-tools.js';
import { answerRules, toolRules } from './strict-schema.js';
import type { ThinkingOptions } from './thinking.js';
import { modelTraits } from './thinking.js';
import { isTooComplex, TooComplex } from './too-complex.js';
import type { ProviderTool } from './tool-fields.js';
import { ToolOffer } from './tool-fields.js';
import type { AnthropicPrices, TokenCounts } from './usage.js';
import { addCounts, noTokens, toUsage } from './usage.js';
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
   * How a structured answer is asked for. `native` uses `output_config.format` where the schema can be said in the API's subset of JSON
   * Schema, and words in the system text where not; `prompt` always uses words. Left out: `native` for Claude 4.5 and later, `prompt` for
   * earlier models and imitations of the API, which do not know the field.
   */
  readonly structuredOutput?: 'native' | 'prompt' | undefined;
  /**
   * Whether tools are sent as strict: those that ask for it, and those that leave it to `auto` as far as the API's limits for one request go.
   * Left out: true for Claude 4.5 and later with no `client` or one of the SDK's `Anthropic`, since other platforms may not take it.
   */
  readonly strictTools?: boolean | undefined;
  /** Tools that Anthropic runs itself. Guardrails do not see their calls, so agents must list them as unguarded. */
  readonly providerTools?: readonly ProviderTool[] | undefined;
}

const defaultMaxTokens = 32_000;
/** Longest single event of a stream, in characters. */
const maxEventChars = 32 * 1024 * 1024;
/** How often a paused answer is gone on with inside one call. */
const mostPauses = 8;

/**
 * A Claude model over the Messages API, for example `anthropic('claude-opus-4-8')`. Making it sends nothing and needs no key.
 * Throws `CONFIG_INVALID` for options that cannot be.
 */
export function anthropic(modelId: string, options: AnthropicOptions = {}): Model {
  const where = checkOptions(modelId, options);
  const traits = modelTraits(modelId);
  const isOwnApi = options.client === undefined || options.client instanceof Anthropic;
  const takesStrict = options.strictTools ?? (traits.takesSchemas && isOwnApi);
  const structuredOutput = options.structuredOutput ?? (traits.takesSchemas ? 'native' : 'prompt');
  const transport = new Transport(where, options);
  const setup: Setup = {
    prices: options.prices,
    tooComplex: new TooComplex(),
    transport,
    context: {
      model: modelId,
      // Claude's thinking can be read by Claude wherever it is reached.
      get server() {
        return /claude/i.test(modelId) ? undefined : transport.server;
      },
      settings: options.settings ?? {},
      maxTokens: options.maxTokens ?? defaultMaxTokens,
      thinking: options.thinking ?? {},
      traits,
      cache: options.cache ?? (isOwnApi ? 'auto' : 'off'),
      structuredOutput,
      strictTools: takesStrict ? 'auto' : 'none',
      toolOffer: new ToolOffer(),
      providerTools: options.providerTools ?? [],
      headers: Object.fromEntries(Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])),
    },
  };
  const model: Model = {
    id: modelId,
    provider: providerName,
    ...(options.providerTools === undefined ? {} : { providerTools: options.providerTools.map(({ name }) => name) }),
    strictRules: { ...(takesStrict ? { tools: toolRules } : {}), ...(structuredOutput === 'native' ? { output: answerRules } : {}) },
    stream: (request, streamOptions) => new AnthropicCall(setup, streamOptions).run(request),
  };
  return withClientRetries(model, options);
}

const optionNames: { readonly [K in keyof AnthropicOptions]-?: true } = {
  ...clientOptionNames,
  prices: true,
  settings: true,
  maxTokens: true,
  thinking: true,
  cache: true,
  structuredOutput: true,
  strictTools: true,
  providerTools: true,
};

function checkOptions(modelId: string, options: AnthropicOptions): string {
  const where = checkModelId('anthropic', modelId, 'claude-opus-4-8');
  checkOptionNames(where, options, optionNames);
  checkWholeNumber(where, { maxTokens: options.maxTokens }, 1);
  checkPrices(where, options.prices, ['cacheWriteHour']);
  checkDefaultSettings(where, options.settings);
  checkProviderTools(where, options.providerTools);
  return where;
}

/** What stays the same for all calls of a model. */
interface Setup {
  readonly transport: Transport;
  readonly context: RequestContext;
  readonly tooComplex: TooComplex;
  readonly prices: AnthropicPrices | undefined;
}

/** Holds the model to no schema but those of tools that must be strict. */
function eased(context: RequestContext): RequestContext {
  return { ...context, structuredOutput: 'prompt', strictTools: context.strictTools === 'auto' ? 'asked' : context.strictTools };
}

/** One model call: a request, or several where the provider pauses. */
class AnthropicCall {
  readonly #setup: Setup;
  readonly #isRetried: boolean;
  readonly #http: HttpCall;
  readonly #said: Block[] = [];
  #container: Container | undefined;
  #rounds = 0;
  /** Of the rounds that are over, and of the answer that is coming in. */
  #counts: TokenCounts = noTokens;
  #answer: AnswerAssembly | undefined;
  #demands: readonly string[] = [];
  #built: BuiltRequest | undefined;

  constructor(setup: Setup, { signal, isRetried, onConnect }: StreamOptions) {
    this.#setup = setup;
    this.#isRetried = isRetried === true;
    const { model } = setup.context;
    this.#http = new HttpCall({ words: anthropicWords, model, signal, onConnect, maxEventChars, more: () => this.#more() });
  }

  run(request: ModelRequest): AsyncIterable<ModelEvent> {
    return this.#http.run(
      () => {
        const { context, tooComplex } = this.#setup;
        const built = this.#build(request, tooComplex.has(request) ? eased(context) : context);
        const eases = tooComplex.takeWarning(request);
        const warnings = eases === undefined ? [] : [{ type: 'warning', about: 'schema', message: eases } as const];
        return { ...this.#ask(built, request), warnings: [...built.warnings, ...warnings] };
      },
      () => {
        const answer = this.#taken();
        const built = this.#built;
        if (built === undefined || answer.stopReason !== 'pause_turn' || answer.calls().length > 0) return this.#ending(answer);
        if (this.#rounds > mostPauses) throw this.#http.protocolError(`Anthropic paused its answer more than ${mostPauses} times`);
        const begun = saidSoFar(this.#said);
        return this.#ask(begun.content.length === 0 ? built : continuedRequest(built, begun, this.#container), request);
      },
    );
  }

  #build(request: ModelRequest, context: RequestContext): BuiltRequest {
    const built = buildRequest(request, context);
    this.#built = built;
    this.#demands = built.demands;
    return built;
  }

  /** A request whose schemas are too much for the API goes again without those that nobody insisted on. */
  #send(built: BuiltRequest, request: ModelRequest): Send {
    const { transport, context, tooComplex } = this.#setup;
    const send = transport.send(built, this.#isRetried);
    if (!built.isEasable || this.#rounds > 1) return send;
    return async (...given) => {
      try {
        return await send(...given);
      } catch (error) {
        if (!isTooComplex(error)) throw error;
        tooComplex.add(request);
        return transport.send(this.#build(request, eased(context)), this.#isRetried)(...given);
      }
    };
  }

  #ask(built: BuiltRequest, request: ModelRequest): Asking {
    this.#rounds += 1;
    this.#answer = new AnswerAssembly(toolNames(request.tools), {
      broken: (what, isRetryable) => this.#http.protocolError(what, isRetryable),
      reported: (error) => frameFailure(error, anthropicWords, this.#http.state()),
    });
    return { send: this.#send(built, request), sink: this.#answer };
  }

  /** The answer that has come in, counted with those before it. Throws if it is not whole. */
  #taken(): AnswerAssembly {
    const answer = this.#answer;
    if (answer?.isDone !== true)
      throw this.#http.protocolError('The stream of Anthropic ended without message_stop, so the answer is not whole', true);
    this.#said.push(...answer.blocks());
    this.#container = answer.container ?? this.#container;
    this.#counts = addCounts(this.#counts, answer.counts);
    this.#answer = undefined;
    return answer;
  }

  #ending(answer: AnswerAssembly): readonly ModelEvent[] {
    const calls = answer.calls();
    const stopReason = this.#stopReason(answer.stopReason, calls.length > 0);
    const isUsable = stopReason === 'stop' || stopReason === 'tools';
    const blocks = wellFormed(this.#said.filter(isReadable)) as readonly Block[];
    const detail = stopReason === 'refusal' ? answer.detail : stopReason === 'length' ? answer.stopReason : undefined;
    return [
      ...(isUsable ? calls.map((call): ModelEvent => ({ type: 'tool.call', call })) : []),
      {
        type: 'end',
        stopReason,
        usage: this.#usage(),
        ...(isUsable && blocks.length > 0
          ? { native: writeNative({ blocks, container: this.#container, server: this.#setup.context.server }) }
          : {}),
        ...(detail === undefined ? {} : { detail }),
      },
    ];
  }

  #stopReason(reason: string | undefined, hasCalls: boolean): StopReason {
    switch (reason) {
      case undefined:
      case 'end_turn':
      case 'stop_sequence':
      case 'pause_turn':
        return hasCalls ? 'tools' : 'stop';
      case 'tool_use':
        return 'tools';
      case 'max_tokens':
      case 'model_context_window_exceeded':
        return 'length';
      case 'refusal':
        return 'refusal';
      default:
        throw this.#http.protocolError('Anthropic ended its answer for a reason that this version does not know');
    }
  }

  #usage(): Usage {
    const counts = this.#answer === undefined ? this.#counts : addCounts(this.#counts, this.#answer.counts);
    return toUsage(counts, this.#http.requests, this.#setup.prices);
  }

  #more(): { readonly usage: Usage | undefined; readonly demands: readonly string[] } {
    const usage = this.#usage();
    const isTold = usage.inputTokens !== undefined || usage.outputTokens !== undefined;
    return { usage: isTold ? usage : undefined, demands: this.#demands };
  }
}

/** The API takes no message that ends in whitespace where it is to go on from it. */
function saidSoFar(blocks: readonly Block[]): WireMessage {
  const content = [...replayable(blocks)];
  const last = content.at(-1);
  if (last?.type === 'text' && typeof last.text === 'string') content[content.length - 1] = { ...last, text: last.text.trimEnd() };
  return { role: 'assistant', content };
}
