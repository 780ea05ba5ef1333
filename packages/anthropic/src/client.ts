import Anthropic from '@anthropic-ai/sdk';
import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages';
import { GuardloopError } from '@guardloop/core/model';

/** How the adapter reaches the API: a client of the Anthropic SDK, or what is needed to make one. */
export interface ClientOptions {
  /** A client of the caller's, for example for Bedrock or Vertex. Not together with the other options of this interface. */
  readonly client?: MessagesClient | undefined;
  /** Left out, the SDK reads `ANTHROPIC_API_KEY` or `ANTHROPIC_AUTH_TOKEN`, at the first call. */
  readonly apiKey?: string | undefined;
  /** For a server that imitates the API: its address up to, and without, `/v1`. */
  readonly baseURL?: string | undefined;
  /** Further attempts by the SDK after 408, 409, 429, 5xx or no answer, before anything of the answer was seen (2). Nothing else retries. */
  readonly maxRetries?: number | undefined;
  /** Until the answer begins, in milliseconds, for each attempt (the SDK's 10 minutes). */
  readonly timeoutMs?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** In place of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/** What the adapter needs of an SDK client. */
export interface MessagesClient {
  readonly messages: {
    create(body: MessageCreateParamsStreaming, options?: Anthropic.RequestOptions): { asResponse(): Promise<Response> };
  };
}

/** A function that makes the client when it is first needed, and checks the options now. Throws `CONFIG_INVALID`. */
export function lazyClient(options: ClientOptions, model: string): () => MessagesClient {
  checkClientOptions(options, model);
  let client = options.client;
  return () => {
    client ??= openClient(options, model);
    return client;
  };
}

function checkClientOptions(options: ClientOptions, model: string): void {
  const invalid = (message: string): never => {
    throw new GuardloopError('CONFIG_INVALID', `anthropic('${model}'): ${message}`);
  };
  if (options.client !== undefined) {
    const besides = (['apiKey', 'baseURL', 'maxRetries', 'timeoutMs', 'headers', 'fetch'] as const).filter(
      (key) => options[key] !== undefined,
    );
    if (besides.length > 0) invalid(`client stands beside ${besides.join(', ')}. Set them on the client instead.`);
  }
  if (options.baseURL !== undefined && !URL.canParse(options.baseURL)) {
    invalid('baseURL is empty or not an absolute URL. Give one such as https://api.anthropic.com, or leave it out.');
  }
  const { maxRetries, timeoutMs } = options;
  if (maxRetries !== undefined && !(Number.isInteger(maxRetries) && maxRetries >= 0)) {
    invalid('maxRetries must be a whole number from 0 (no retry).');
  }
  if (timeoutMs !== undefined && !(Number.isInteger(timeoutMs) && timeoutMs > 0)) {
    invalid('timeoutMs must be a whole number of milliseconds above 0.');
  }
}

function openClient(options: ClientOptions, model: string): MessagesClient {
  if (options.apiKey?.trim() === '') throw missingKey(model);
  try {
    return new Anthropic({
      ...(options.apiKey === undefined ? {} : { apiKey: options.apiKey }),
      ...(options.baseURL === undefined ? {} : { baseURL: options.baseURL }),
      ...(options.maxRetries === undefined ? {} : { maxRetries: options.maxRetries }),
      ...(options.timeoutMs === undefined ? {} : { timeout: options.timeoutMs }),
      ...(options.headers === undefined ? {} : { defaultHeaders: options.headers }),
      ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
    });
  } catch (error) {
    throw new GuardloopError('CONFIG_INVALID', `anthropic('${model}'): the Anthropic client could not be made from these options.`, {
      cause: error,
    });
  }
}

/** The SDK finds out that it has no key when it sends, and throws a plain error. */
export function isMissingKey(thrown: unknown): boolean {
  return thrown instanceof Error && /^Could not resolve authentication method/.test(thrown.message);
}

export function missingKey(model: string): GuardloopError {
  return new GuardloopError(
    'CONFIG_INVALID',
    `anthropic('${model}'): there is no API key. Set the environment variable ANTHROPIC_API_KEY, or give the option apiKey (any word for a server that needs none).`,
  );
}
