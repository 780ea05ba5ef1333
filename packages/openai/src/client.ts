import { GuardloopError } from '@guardloop/core/model';
import OpenAI from 'openai';

/** How an adapter reaches the API: a client of the OpenAI SDK (6 or 7), or what is needed to make one. */
export interface ClientOptions {
  /** A client of the caller's, for example of Azure. Not together with the other options of this interface. */
  readonly client?: OpenAI | undefined;
  /** Left out, the SDK reads `OPENAI_API_KEY`, at the first call. Servers that need none take any word. */
  readonly apiKey?: string | (() => Promise<string>) | undefined;
  /** For a server that imitates the API: its address up to `/v1`. */
  readonly baseURL?: string | undefined;
  /** Further attempts by the SDK after 408, 409, 429, 5xx or no answer, before anything of the answer was seen (2). Nothing else retries. */
  readonly maxRetries?: number | undefined;
  /** Until the answer begins, in milliseconds, for each attempt (the SDK's 10 minutes). */
  readonly timeoutMs?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** In place of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/** Counts the HTTP attempts of one call. A client that Guardloop did not make leaves `count` at 0. */
export class Attempts {
  count = 0;
  #endedAt = 0;
  #retries: { attempt: number; waitMs: number }[] = [];
  #wake: (() => void) | undefined;

  begin(): void {
    this.count += 1;
    if (this.count === 1) return;
    this.#retries.push({ attempt: this.count - 1, waitMs: Date.now() - this.#endedAt });
    this.#wake?.();
  }

  end(): void {
    this.#endedAt = Date.now();
  }

  /** The attempts that failed and were followed by another since the last call. */
  takeRetries(): readonly { readonly attempt: number; readonly waitMs: number }[] {
    const taken = this.#retries;
    this.#retries = [];
    return taken;
  }

  /** Settles when there is a retry to take. */
  retried(): Promise<undefined> {
    return new Promise((resolve) => {
      this.#wake = () => resolve(undefined);
      if (this.#retries.length > 0) resolve(undefined);
    });
  }
}

const attemptsKey = Symbol('guardloop.attempts');

/** Fetch options by which the client that we made finds the counter of the call that a request belongs to. */
export function countedBy(attempts: Attempts): RequestInit {
  return { [attemptsKey]: attempts } as RequestInit;
}

/** A function that makes the client when it is first needed, and checks the options now. Throws `CONFIG_INVALID`. */
export function lazyClient(options: ClientOptions, model: string): () => OpenAI {
  checkClientOptions(options, model);
  let client = options.client;
  return () => {
    client ??= openClient(options, model);
    return client;
  };
}

function checkClientOptions(options: ClientOptions, model: string): void {
  const invalid = (message: string): never => {
    throw new GuardloopError('CONFIG_INVALID', `openai('${model}'): ${message}`);
  };
  if (options.client !== undefined) {
    const besides = (['apiKey', 'baseURL', 'maxRetries', 'timeoutMs', 'headers', 'fetch'] as const).filter(
      (key) => options[key] !== undefined,
    );
    if (besides.length > 0) invalid(`client stands beside ${besides.join(', ')}. Set them on the client instead.`);
  }
  if (options.baseURL !== undefined && !URL.canParse(options.baseURL)) {
    invalid('baseURL is empty or not an absolute URL. Give one such as http://127.0.0.1:8080/v1, or leave it out.');
  }
  const { maxRetries, timeoutMs } = options;
  if (maxRetries !== undefined && !(Number.isInteger(maxRetries) && maxRetries >= 0)) {
    invalid('maxRetries must be a whole number from 0 (no retry).');
  }
  if (timeoutMs !== undefined && !(Number.isInteger(timeoutMs) && timeoutMs > 0)) {
    invalid('timeoutMs must be a whole number of milliseconds above 0.');
  }
}

function openClient(options: ClientOptions, model: string): OpenAI {
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
    return new OpenAI({
      fetch: counted,
      ...(options.apiKey === undefined ? {} : { apiKey: options.apiKey }),
      ...(options.baseURL === undefined ? {} : { baseURL: options.baseURL }),
      ...(options.maxRetries === undefined ? {} : { maxRetries: options.maxRetries }),
      ...(options.timeoutMs === undefined ? {} : { timeout: options.timeoutMs }),
      ...(options.headers === undefined ? {} : { defaultHeaders: options.headers }),
    });
  } catch (error) {
    throw new GuardloopError(
      'CONFIG_INVALID',
      options.apiKey === undefined || options.apiKey === ''
        ? `openai('${model}'): there is no API key. Set the environment variable OPENAI_API_KEY, or give the option apiKey (any word for a server that needs none).`
        : `openai('${model}'): the OpenAI client could not be made from these options.`,
      { cause: error },
    );
  }
}
