import type { Model, ModelEvent, ModelRequest, StreamOptions } from '@guardloop/core/model';
import { frameFailure, HttpCall, mergeSettings } from '@guardloop/core/model';
import type OpenAI from 'openai';
import { openaiClient, requestOptions } from '../client.js';
import { openaiWords } from '../failure.js';
import { ChatAssembly } from './assembly.js';
import type { ChatOptions, Dialect } from './options.js';
import { checkChatOptions, dialectOf } from './options.js';
import type { PreparedRequest } from './request.js';
import { RequestMaker } from './request.js';
import { chatProvider } from './transcript.js';

const defaultMaxEventChars = 8 * 1024 * 1024;
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
  return new ChatModel(modelId, options, checkChatOptions(modelId, options));
}

class ChatModel implements Model {
  readonly id: string;
  readonly provider = chatProvider;
  readonly #options: ChatOptions;
  readonly #dialect: Dialect;
  readonly #client: () => OpenAI;
  readonly #requests: RequestMaker;

  constructor(id: string, options: ChatOptions, where: string) {
    this.id = id;
    this.#options = options;
    this.#dialect = dialectOf(options);
    this.#client = openaiClient(where, options);
    this.#requests = new RequestMaker(id, this.#dialect);
  }

  async *stream(request: ModelRequest, { signal, isRetried }: StreamOptions): AsyncGenerator<ModelEvent, void, undefined> {
    const settings = mergeSettings(this.#options.settings, request.settings);
    const prepared = this.#requests.make(request, settings);
    const client = this.#client();
    const maxEventChars = this.#options.maxEventChars ?? defaultMaxEventChars;
    const call = new HttpCall({ words, model: this.id, signal, maxEventChars });
    yield* call.stream(
      (ending, attempts) =>
        client.chat.completions
          .create(prepared.body, requestOptions(ending, attempts, { isRetried, headers: settings.headers }))
          .asResponse(),
      this.#assembly(prepared, call),
    );
  }

  #assembly({ names, maxTokens }: PreparedRequest, call: HttpCall): ChatAssembly {
    return new ChatAssembly({
      names,
      maxTokens,
      replayReasoning: this.#dialect.replayReasoning,
      prices: this.#options.prices,
      protocolError: (what, isRetryable) => call.protocolError(what, isRetryable),
      providerError: (error) => frameFailure(error, words, call.state()),
    });
  }
}
