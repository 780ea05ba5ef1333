import type { Model, ModelEvent, ModelRequest, StreamOptions } from '@guardloop/core/model';
import { frameFailure, HttpCall, mergeSettings } from '@guardloop/core/model';
import type OpenAI from 'openai';
import { openaiClient, requestOptions } from '../client.js';
import { openaiWords } from '../failure.js';
import { ResponsesAssembly } from './assembly.js';
import type { ResponsesDialect, ResponsesOptions } from './options.js';
import { checkResponsesOptions, responsesDialect } from './options.js';
import { providerToolNames } from './provider-tools.js';
import type { PreparedRequest } from './request.js';
import { RequestMaker } from './request.js';
import { responsesProvider } from './transcript.js';

const defaultMaxEventChars = 8 * 1024 * 1024;
const words = openaiWords(responsesProvider);

/**
 * A model behind the Responses API of OpenAI, or of a server that imitates it. The whole conversation is sent with each request, and nothing
 * of it is stored at the provider (`store: false`).
 *
 * Nothing is read from the environment and no client is made before the first call. Throws `CONFIG_INVALID` at once for options that no
 * request could be made with; a missing key is reported by the first call.
 *
 * @param modelId for example `gpt-5`
 */
export function openaiResponses(modelId: string, options: ResponsesOptions = {}): Model {
  return new ResponsesModel(modelId, options, checkResponsesOptions(modelId, options));
}

class ResponsesModel implements Model {
  readonly id: string;
  readonly provider = responsesProvider;
  readonly providerTools: readonly string[];
  readonly #options: ResponsesOptions;
  readonly #dialect: ResponsesDialect;
  readonly #client: () => OpenAI;
  readonly #requests: RequestMaker;

  constructor(id: string, options: ResponsesOptions, where: string) {
    this.id = id;
    this.providerTools = providerToolNames(where, options.providerTools ?? []);
    this.#options = options;
    this.#dialect = responsesDialect(id, options);
    this.#client = openaiClient(where, options);
    this.#requests = new RequestMaker(id, this.#dialect);
  }

  async *stream(request: ModelRequest, { signal, isRetried }: StreamOptions): AsyncGenerator<ModelEvent, void, undefined> {
    const prepared = this.#requests.make(request, mergeSettings(this.#options.settings, request.settings));
    const client = this.#client();
    const call: HttpCall = new HttpCall({
      words,
      model: this.id,
      signal,
      maxEventChars: this.#options.maxEventChars ?? defaultMaxEventChars,
      more: () => ({ demands: prepared.demands, usage: assembly.usage(call.requests) }),
    });
    const assembly = this.#assembly(prepared, call);
    for (const warning of prepared.warnings) yield warning;
    yield* call.stream((ending, attempts) => {
      const options = requestOptions(ending, attempts, { isRetried, headers: prepared.headers });
      return client.responses.create(prepared.body, options).asResponse();
    }, assembly);
  }

  #assembly({ names }: PreparedRequest, call: HttpCall): ResponsesAssembly {
    return new ResponsesAssembly({
      names,
      prices: this.#options.prices,
      protocolError: (what, isRetryable) => call.protocolError(what, isRetryable),
      providerError: (error) => frameFailure(error, words, call.state()),
    });
  }
}
