import type { Model, ModelEvent, ModelRequest, StreamOptions } from '@guardloop/core/model';
import { frameFailure, HttpCall, mergeSettings, withClientRetries } from '@guardloop/core/model';
import { Transport } from '../client.js';
import { openaiWords } from '../failure.js';
import { ChatAssembly } from './assembly.js';
import type { ChatOptions, Dialect } from './options.js';
import { checkChatOptions, dialectOf } from './options.js';
import type { ChatBody, PreparedRequest } from './request.js';
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
  return withClientRetries(new ChatModel(modelId, options, checkChatOptions(modelId, options)), options);
}

class ChatModel implements Model {
  readonly id: string;
  readonly provider = chatProvider;
  readonly #options: ChatOptions;
  readonly #dialect: Dialect;
  readonly #transport: Transport<ChatBody>;
  readonly #requests: RequestMaker;

  constructor(id: string, options: ChatOptions, where: string) {
    this.id = id;
    this.#options = options;
    this.#dialect = dialectOf(options);
    this.#transport = new Transport(where, options, {
      path: '/chat/completions',
      create: (client, body, sdkOptions) => client.chat.completions.create(body, sdkOptions),
    });
    this.#requests = new RequestMaker(id, this.#dialect);
  }

  stream(request: ModelRequest, { signal, isRetried }: StreamOptions): AsyncIterable<ModelEvent> {
    const call = new HttpCall({ words, model: this.id, signal, maxEventChars: this.#options.maxEventChars ?? defaultMaxEventChars });
    let assembly: ChatAssembly | undefined;
    return call.run(
      () => {
        const settings = mergeSettings(this.#options.settings, request.settings);
        const prepared = this.#requests.make(request, settings);
        assembly = this.#assembly(prepared, call);
        return { send: this.#transport.send(prepared.body, { isRetried, headers: settings.headers }), sink: assembly };
      },
      () => assembly?.finish(call.requests) ?? [],
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
