import type { Model, ModelEvent, ModelRequest, StreamOptions } from '@guardloop/core/model';
import { frameFailure, HttpCall, mergeSettings, withClientRetries } from '@guardloop/core/model';
import { Transport } from '../client.js';
import { openaiWords } from '../failure.js';
import { strictRules } from '../wire/strict-schema.js';
import { ResponsesAssembly } from './assembly.js';
import type { ResponsesDialect, ResponsesOptions } from './options.js';
import { checkResponsesOptions, responsesDialect } from './options.js';
import { providerToolNames } from './provider-tools.js';
import type { PreparedRequest } from './request.js';
import { RequestMaker } from './request.js';
import { responsesProvider } from './transcript.js';

const defaultMaxEventChars = 8 * 1024 * 1024;
/** What an answer may hold in all, in longest events. */
const mostEvents = 16;
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
  return withClientRetries(new ResponsesModel(modelId, options, checkResponsesOptions(modelId, options)), options);
}

class ResponsesModel implements Model {
  readonly id: string;
  readonly provider = responsesProvider;
  readonly providerTools: readonly string[];
  readonly strictRules: Model['strictRules'];
  readonly #options: ResponsesOptions;
  readonly #dialect: ResponsesDialect;
  readonly #transport: Transport<PreparedRequest['body']>;
  #requests: RequestMaker | undefined;

  constructor(id: string, options: ResponsesOptions, where: string) {
    this.id = id;
    this.providerTools = providerToolNames(where, options.providerTools ?? []);
    this.#options = options;
    this.#dialect = responsesDialect(id, options);
    const rules = strictRules(this.#dialect.strictSchemas);
    this.strictRules = rules === undefined ? undefined : { tools: rules, output: rules };
    this.#transport = new Transport(where, options, {
      path: '/responses',
      create: (client, body, sdkOptions) => client.responses.create(body, sdkOptions),
    });
  }

  stream(request: ModelRequest, { signal, isRetried, onConnect }: StreamOptions): AsyncIterable<ModelEvent> {
    let asked: { readonly prepared: PreparedRequest; readonly assembly: ResponsesAssembly } | undefined;
    const call: HttpCall = new HttpCall({
      words,
      model: this.id,
      signal,
      onConnect,
      maxEventChars: this.#options.maxEventChars ?? defaultMaxEventChars,
      more: () => (asked === undefined ? {} : { demands: asked.prepared.demands, usage: asked.assembly.usage(call.requests) }),
    });
    return call.run(
      () => {
        this.#requests ??= new RequestMaker(this.id, this.#dialect, this.#transport.server);
        const prepared = this.#requests.make(request, mergeSettings(this.#options.settings, request.settings));
        const assembly = this.#assembly(prepared, call);
        asked = { prepared, assembly };
        const send = this.#transport.send(prepared.body, { isRetried, headers: prepared.headers });
        return { send, sink: assembly, warnings: prepared.warnings };
      },
      () => asked?.assembly.finish(call.requests) ?? [],
    );
  }

  #assembly({ names }: PreparedRequest, call: HttpCall): ResponsesAssembly {
    return new ResponsesAssembly({
      names,
      server: this.#transport.server,
      prices: this.#options.prices,
      maxChars: mostEvents * (this.#options.maxEventChars ?? defaultMaxEventChars),
      protocolError: (what, isRetryable) => call.protocolError(what, isRetryable),
      providerError: (error) => frameFailure(error, words, call.state()),
    });
  }
}
