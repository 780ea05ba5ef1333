import Anthropic from '@anthropic-ai/sdk';
import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages';
import type { Attempts, GuardloopError, HttpClientOptions } from '@guardloop/core/model';
import { checkClientOptions, lazyClient, optionFault, sdkClientOptions } from '@guardloop/core/model';

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

/** A function that makes the client when it is first needed, and checks the options now. Throws `CONFIG_INVALID`. */
export function anthropicClient(where: string, options: ClientOptions): () => MessagesClient {
  checkClientOptions(where, options, 'https://api.anthropic.com');
  return lazyClient(options.client, () => {
    if (options.apiKey?.trim() === '') throw missingKey(where);
    try {
      return new Anthropic(sdkClientOptions(options));
    } catch (error) {
      throw optionFault(where, 'the Anthropic client could not be made from these options.', error);
    }
  });
}

type Middleware = NonNullable<Anthropic.RequestOptions['middleware']>[number];

/** Stands inside the SDK's own retries, so it runs once for each attempt, also on a client that Guardloop did not make. */
export function countedBy(attempts: Attempts): Middleware {
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
export function isMissingKey(thrown: unknown): boolean {
  return thrown instanceof Error && /^Could not resolve authentication method/.test(thrown.message);
}

export function missingKey(where: string): GuardloopError {
  return optionFault(
    where,
    'there is no API key. Set the environment variable ANTHROPIC_API_KEY, or give the option apiKey (any word for a server that needs none).',
  );
}
