import type { Model } from '../model/types.js';
import { withRetry } from '../model/with-retry.js';
import { checkWholeNumber, optionFault } from './option-checks.js';
import { recordOf } from './record.js';

/** How an adapter reaches its API: a client of the provider's SDK, or what is needed to make one. */
export interface HttpClientOptions<Client, Key> {
  /** A client of the caller's. Not together with the other options of this interface. */
  readonly client?: Client | undefined;
  /** Left out, the SDK reads it from the environment, at the first call. Servers that need none take any word. */
  readonly apiKey?: Key | undefined;
  /** For a server that imitates the API. */
  readonly baseURL?: string | undefined;
  /** Further attempts by the SDK after 408, 409, 429, 5xx or no answer, before anything of the answer was seen (2). Nothing else retries. */
  readonly maxRetries?: number | undefined;
  /** Until the answer begins, in milliseconds, for each attempt (the SDK's 10 minutes). */
  readonly timeoutMs?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** In place of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /**
   * What sends the requests (`sdk`). `fetch` asks the SDK's client for URL and headers, and sends by itself: a good deal less CPU for each
   * call. Then the retries are those of `withRetry`, and what the SDK does around a request (logging, middleware, telemetry) is not done.
   */
  readonly transport?: 'sdk' | 'fetch' | undefined;
}

/** What an SDK takes for the same; fields that were left out are not there. */
export interface SdkClientOptions<Key> {
  apiKey?: Key;
  baseURL?: string;
  maxRetries?: number;
  timeout?: number;
  defaultHeaders?: Readonly<Record<string, string>>;
  fetch?: typeof fetch;
}

const besideClient = ['apiKey', 'baseURL', 'maxRetries', 'timeoutMs', 'headers', 'fetch'] as const;

/** The names of these options, for a check of an adapter's own. */
export const clientOptionNames: { readonly [K in keyof HttpClientOptions<unknown, unknown>]-?: true } = {
  client: true,
  apiKey: true,
  baseURL: true,
  maxRetries: true,
  timeoutMs: true,
  headers: true,
  fetch: true,
  transport: true,
};

/** Throws `CONFIG_INVALID` for what no client could be made with. `where` opens the message: `openai('gpt-5')`. */
export function checkClientOptions(where: string, options: HttpClientOptions<unknown, unknown>, exampleURL: string): void {
  if (options.client !== undefined) {
    const besides = besideClient.filter((name) => options[name] !== undefined);
    if (besides.length > 0) throw optionFault(where, `client stands beside ${besides.join(', ')}. Set them on the client instead.`);
  }
  if (options.baseURL !== undefined && !URL.canParse(options.baseURL))
    throw optionFault(where, `baseURL is empty or not an absolute URL. Give one such as ${exampleURL}, or leave it out.`);
  const { client, transport } = options;
  if (transport !== undefined && transport !== 'sdk' && transport !== 'fetch')
    throw optionFault(where, "transport must be 'sdk' or 'fetch'.");
  if (transport === 'fetch' && client !== undefined && typeof recordOf(client)?.buildRequest !== 'function')
    throw optionFault(where, "transport 'fetch' asks the client to build its requests, and this one cannot. Leave it out.");
  checkWholeNumber(where, { maxRetries: options.maxRetries }, 0);
  checkWholeNumber(where, { timeoutMs: options.timeoutMs }, 1);
}

/** The options under the names that the SDKs have for them. */
export function sdkClientOptions<Key>(options: HttpClientOptions<unknown, Key>): SdkClientOptions<Key> {
  return {
    ...(options.apiKey === undefined ? {} : { apiKey: options.apiKey }),
    ...(options.baseURL === undefined ? {} : { baseURL: options.baseURL }),
    ...(options.maxRetries === undefined ? {} : { maxRetries: options.maxRetries }),
    ...(options.timeoutMs === undefined ? {} : { timeout: options.timeoutMs }),
    ...(options.headers === undefined ? {} : { defaultHeaders: options.headers }),
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
  };
}

/** What the SDKs do where nothing is said. */
const sdkRetries = { maxRetries: 2, baseMs: 500, maxWaitMs: 8_000 } as const;

/** The model with the retries of its client, where the transport leaves the client's own out. */
export function withClientRetries(model: Model, options: HttpClientOptions<object, unknown>): Model {
  if (options.transport !== 'fetch') return model;
  const { maxRetries: ofSdk, ...backoff } = sdkRetries;
  const ofClient = recordOf(options.client)?.maxRetries;
  const maxRetries = options.maxRetries ?? (typeof ofClient === 'number' ? ofClient : ofSdk);
  return maxRetries === 0 ? model : withRetry(model, { attempts: maxRetries + 1, ...backoff });
}

/** Makes the client when it is first needed, once. */
export function lazyClient<Client>(given: Client | undefined, open: () => Client): () => Client {
  let client = given;
  return () => {
    client ??= open();
    return client;
  };
}
