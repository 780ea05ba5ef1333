import Anthropic from '@anthropic-ai/sdk';
import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages';
import type { Attempts, GuardloopError, HttpClientOptions, SdkClient, Send } from '@guardloop/core/model';
import { checkClientOptions, FetchTransport, lazyClient, optionFault, sdkClientOptions } from '@guardloop/core/model';

/** How the adapter reaches the API: a client of the Anthropic SDK, or what is needed to make one. */
export interface ClientOptions extends HttpClientOptions<MessagesClient, string> {
  /** A client of the caller's, for example for Bedrock or Vertex. Not together with the other options of this interface. */
  readonly client?: MessagesClient | undefined;
  /** Left out, the SDK reads `ANTHROPIC_API_KEY` or `ANTHROPIC_AUTH_TOKEN`, at the first call. */
  readonly apiKey?: string | undefined;
  /** For a server that imitates the API: its address up to, and without, `/v1`. */
  readonly baseURL?: string | undefined;
}

/** What the adapter needs of an SDK client. */
export interface MessagesClient {
  readonly messages: {
    create(body: MessageCreateParamsStreaming, options?: Anthropic.RequestOptions): { asResponse(): Promise<Response> };
  };
}

/** One request as it is sent. */
export interface MessagesRequest {
  readonly body: MessageCreateParamsStreaming;
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends the requests of one model, by the SDK or by `fetch`. */
export class Transport {
  readonly #where: string;
  readonly #client: () => MessagesClient;
  readonly #baseURL: string | undefined;
  readonly #fetch: FetchTransport | undefined;

  /** Checks the options; the client is made when it is first needed. Throws `CONFIG_INVALID`. */
  constructor(where: string, options: ClientOptions) {
    checkClientOptions(where, options, 'https://api.anthropic.com');
    const client = lazyClient(options.client, () => openClient(where, options));
    this.#where = where;
    this.#baseURL = options.baseURL;
    this.#client = client;
    this.#fetch =
      options.transport === 'fetch'
        ? new FetchTransport({
            client: () => client() as unknown as SdkClient,
            path: '/v1/messages',
            isPlain: (made) => options.client === undefined && hasFixedKey(made as Partial<Anthropic>),
            fetch: options.fetch,
          })
        : undefined;
  }

  /** The name of the server that requests go to. A port is no part of it. The client is asked where the options say nothing. */
  get server(): string {
    const url = this.#baseURL ?? (this.#client() as { readonly baseURL?: unknown }).baseURL;
    return typeof url === 'string' && URL.canParse(url) ? new URL(url).hostname : 'unknown';
  }

  send({ body, headers }: MessagesRequest, isRetried: boolean | undefined): Send {
    const send: Send =
      this.#fetch?.send(body, headers) ??
      (async (signal, attempts) => {
        const retries = isRetried === true ? { maxRetries: 0 } : {};
        return this.#client()
          .messages.create(body, { signal, headers, middleware: [countedBy(attempts)], ...retries })
          .asResponse();
      });
    return async (...given) => {
      try {
        return await send(...given);
      } catch (error) {
        throw isMissingKey(error) ? missingKey(this.#where) : error;
      }
    };
  }
}

function openClient(where: string, options: ClientOptions): MessagesClient {
  if (options.apiKey?.trim() === '') throw missingKey(where);
  try {
    return new Anthropic(sdkClientOptions(options));
  } catch (error) {
    throw optionFault(where, 'the Anthropic client could not be made from these options.', error);
  }
}

/** False where the SDK found another way to identify itself, whose tokens run out. */
function hasFixedKey({ apiKey, authToken }: Partial<Anthropic>): boolean {
  return typeof apiKey === 'string' || typeof authToken === 'string';
}

type Middleware = NonNullable<Anthropic.RequestOptions['middleware']>[number];

/** Stands inside the SDK's own retries, so it runs once for each attempt, also on a client that Guardloop did not make. */
function countedBy(attempts: Attempts): Middleware {
  return async (request, next) => {
    attempts.begin();
    try {
      return await next(request);
    } finally {
      attempts.end();
    }
  };
}

/** The SDK finds out that it has no key when it sends, and throws a plain error. */
function isMissingKey(thrown: unknown): boolean {
  return thrown instanceof Error && /^Could not resolve authentication method/.test(thrown.message);
}

function missingKey(where: string): GuardloopError {
  return optionFault(
    where,
    'there is no API key. Set the environment variable ANTHROPIC_API_KEY, or give the option apiKey (any word for a server that needs none).',
  );
}
