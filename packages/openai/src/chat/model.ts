import type { Model, ModelEvent, ModelRequest, StreamOptions } from '@guardloop/core/model';
import { frameFailure, HttpCall, mergeSettings, withClientRetries } from '@guardloop/core/model';
import { Transport } from '../client.js';
import { openaiWords } from '../failure.js';
import { strictRules } from '../wire/strict-schema.js';
import { ChatAssembly } from './assembly.js';
import type { Dialect } from './dialect.js';
import { dialectOf } from './dialect.js';
import { chatProvider } from './native.js';
import type { ChatOptions } from './options.js';
import { checkChatOptions } from './options.js';
import type { ChatBody, PreparedRequest } from './request.js';
import { RequestMaker } from './request.js';

const defaultMaxEventChars = 8 * 1024 * 1024;
/** What an answer may hold in all, in longest events. */
const mostEvents = 16;
const words = openaiWords(chatProvider);

/**
 * A model behind the Chat Completions API of OpenAI, or of a server that imitates it.
 *
 * Nothing is read from the environment and no client is made before the first call. Throws `CONFIG_INVALID` at once for options that no
 * request could be made with (an empty `baseURL`, for example); a missing key is reported by the first call.
 *
 * @param modelId for example `gpt-5`
 */
export function openai(modelId: string, options: ChatOptions = {}): Model {
  return withClientRetries(new ChatModel(modelId, options, checkChatOptions(modelId, options)), options);
}

function rulesOf({ strictSchemas, structuredOutput }: Dialect): Model['strictRules'] {
  const rules = strictRules(strictSchemas);
  return rules === undefined ? undefined : { tools: rules, ...(structuredOutput === 'json_schema' ? { output: rules } : {}) };
}

class ChatModel implements Model {
  readonly id: string;
  readonly provider = chatProvider;
  readonly strictRules: Model['strictRules'];
  readonly #options: ChatOptions;
  readonly #dialect: Dialect;
  readonly #transport: Transport<ChatBody>;
  #requests: RequestMaker | undefined;

  constructor(id: string, options: ChatOptions, where: string) {
    this.id = id;
    this.#options = options;
    this.#dialect = dialectOf(options);
    this.strictRules = rulesOf(this.#dialect);
    this.#transport = new Transport(where, options, {
      path: '/chat/completions',
      create: (client, body, sdkOptions) => client.chat.completions.create(body, sdkOptions),
    });
  }

  stream(request: ModelRequest, { signal, isRetried, onConnect }: StreamOptions): AsyncIterable<ModelEvent> {
    let assembly: ChatAssembly | undefined;
    let prepared: PreparedRequest | undefined;
    const call: HttpCall = new HttpCall({
      words,
      model: this.id,
      signal,
      onConnect,
      maxEventChars: this.#options.maxEventChars ?? defaultMaxEventChars,
      more: () => ({ usage: assembly?.usage(call.requests), demands: prepared?.demands }),
    });
    return call.run(
      () => {
        const settings = mergeSettings(this.#options.settings, request.settings);
        this.#requests ??= new RequestMaker(this.id, this.#dialect, this.#transport.server);
        prepared = this.#requests.make(request, settings);
        assembly = this.#assembly(prepared, call);
        return {
          send: this.#transport.send(prepared.body, { isRetried, headers: settings.headers }),
          sink: assembly,
          warnings: prepared.warnings,
        };
      },
      () => assembly?.finish(call.requests) ?? [],
    );
  }

  #assembly({ names, maxTokens }: PreparedRequest, call: HttpCall): ChatAssembly {
    return new ChatAssembly({
      names,
      maxTokens,
      server: this.#transport.server,
      dialect: this.#dialect,
      prices: this.#options.prices,
      maxChars: mostEvents * (this.#options.maxEventChars ?? defaultMaxEventChars),
      protocolError: (what, isRetryable) => call.protocolError(what, isRetryable),
      providerError: (error) => frameFailure(error, words, call.state()),
    });
  }
}
