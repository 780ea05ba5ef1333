import type { Attempts, HttpClientOptions, ModelSettings, SdkClient, Send } from '@guardloop/core/model';
import { checkClientOptions, FetchTransport, lazyClient, optionFault, sdkClientOptions } from '@guardloop/core/model';
import OpenAI from 'openai';

/** How an adapter reaches the API: a client of the OpenAI SDK (6 or 7), or what is needed to make one. */
export interface ClientOptions extends HttpClientOptions<OpenAI, string | (() => Promise<string>)> {
  /** A client of the caller's, for example of Azure. Not together with the other options of this interface. */
  readonly client?: OpenAI | undefined;
  /** Left out, the SDK reads `OPENAI_API_KEY`, at the first call. Servers that need none take any word. */
  readonly apiKey?: string | (() => Promise<string>) | undefined;
  /** For a server that imitates the API: its address up to `/v1`. */
  readonly baseURL?: string | undefined;
}

const attemptsKey = Symbol('guardloop.attempts');

/** How one request goes, beside its body. */
export interface RequestWay {
  readonly isRetried?: boolean | undefined;
  /** `settings.headers` of the request. */
  readonly headers?: ModelSettings['headers'];
}

/** What the SDK is given with each request. A client that Guardloop did not make counts no attempts. */
function requestOptions(signal: AbortSignal, attempts: Attempts, { isRetried, headers }: RequestWay): OpenAI.RequestOptions {
  return {
    signal,
    fetchOptions: { [attemptsKey]: attempts } as object,
    ...(isRetried === true ? { maxRetries: 0 } : {}),
    ...(headers === undefined ? {} : { headers }),
  };
}

/** A function that makes the client when it is first needed, and checks the options now. Throws `CONFIG_INVALID`. */
function openaiClient(where: string, options: ClientOptions): () => OpenAI {
  checkClientOptions(where, options, 'http://127.0.0.1:8080/v1');
  return lazyClient(options.client, () => openClient(where, options));
}

/** Where the requests of an adapter go, and how the SDK makes one. */
export interface Endpoint<Body> {
  readonly path: string;
  create(client: OpenAI, body: Body, options: OpenAI.RequestOptions): { asResponse(): Promise<Response> };
}

/** Sends the requests of one model, by the SDK or by `fetch`. */
export class Transport<Body extends object> {
  readonly #endpoint: Endpoint<Body>;
  readonly #client: () => OpenAI;
  readonly #fetch: FetchTransport | undefined;
  readonly #baseURL: string | undefined;

  /** Checks the options; the client is made when it is first needed. Throws `CONFIG_INVALID`. */
  constructor(where: string, options: ClientOptions, endpoint: Endpoint<Body>) {
    const client = openaiClient(where, options);
    const isPlain = options.client === undefined && typeof options.apiKey !== 'function';
    this.#baseURL = options.baseURL;
    this.#endpoint = endpoint;
    this.#client = client;
    this.#fetch =
      options.transport === 'fetch'
        ? new FetchTransport({
            client: () => client() as unknown as SdkClient,
            path: endpoint.path,
            isPlain: () => isPlain,
            fetch: options.fetch,
          })
        : undefined;
  }

  /**
   * The name of the server that requests go to: what it made for itself alone is not sent to another. A port is no part of it. Where the
   * options say nothing the client is asked, which may know it from the environment. Throws `CONFIG_INVALID` if no client can be made.
   */
  get server(): string {
    const url = this.#baseURL ?? this.#client().baseURL;
    return URL.canParse(url) ? new URL(url).hostname : 'api.openai.com';
  }

  send(body: Body, way: RequestWay): Send {
    if (this.#fetch !== undefined) return this.#fetch.send(body, way.headers);
    return async (signal, attempts) => this.#endpoint.create(this.#client(), body, requestOptions(signal, attempts, way)).asResponse();
  }
}

function openClient(where: string, options: ClientOptions): OpenAI {
  const send = options.fetch ?? ((input, init) => fetch(input, init));
  const counted: typeof fetch = async (input, init) => {
    const attempts = (init as { readonly [attemptsKey]?: Attempts } | undefined)?.[attemptsKey];
    attempts?.begin();
    try {
      return await send(input, init);
    } finally {
      attempts?.end();
    }
  };
  try {
    return new OpenAI({ ...sdkClientOptions(options), fetch: counted });
  } catch (error) {
    const hasNoKey = options.apiKey === undefined || options.apiKey === '';
    throw optionFault(
      where,
      hasNoKey
        ? 'there is no API key. Set the environment variable OPENAI_API_KEY, or give the option apiKey (any word for a server that needs none).'
        : 'the OpenAI client could not be made from these options.',
      error,
    );
  }
}
