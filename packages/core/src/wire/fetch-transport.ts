import { NoAnswer } from './failure.js';
import type { Send } from './http-call.js';
import { JsonBodies } from './json-bodies.js';

/** What the clients of the SDKs have for one request, what they call protected included. */
export interface SdkClient {
  prepareOptions?(options: SdkRequest): Promise<void>;
  buildRequest(options: SdkRequest, attempt?: { readonly retryCount: number }): Promise<BuiltHttpRequest>;
  prepareRequest?(request: RequestInit, about: { readonly url: string; readonly options: SdkRequest }): Promise<void>;
  /** Of the OpenAI SDK: what it sends goes through here, after `prepareRequest`. */
  fetchWithAuth?(url: string, init: RequestInit, ms: number, controller: AbortController, security: object): Promise<Response>;
  /** Of the Anthropic SDK: given the options, it prepares the request itself. */
  fetchWithTimeout(url: string, init: RequestInit, ms: number, controller: AbortController, options: SdkRequest): Promise<Response>;
  makeStatusError(status: number, error: unknown, message: string | undefined, headers: Headers): Error;
}

interface SdkRequest {
  readonly method: 'post';
  readonly path: string;
  readonly body: object | string;
  readonly stream: true;
  readonly headers: Readonly<Record<string, string>>;
  readonly __security: { readonly bearerAuth: true };
}

interface BuiltHttpRequest {
  readonly req: RequestInit;
  readonly url: string;
  /** Milliseconds. */
  readonly timeout: number;
}

/** How a {@link FetchTransport} reaches its API. */
export interface FetchTransportOptions {
  /** Makes the client when it is first needed. */
  client(): SdkClient;
  readonly path: string;
  /**
   * True where URL and headers of a client depend on nothing but its options: they are asked for once, and the client takes no further part.
   * Otherwise it prepares and sends every request: key functions, signatures, the paths of Azure.
   */
  isPlain(client: SdkClient): boolean;
  /** In place of the global `fetch`, for plain clients; any other uses its own. */
  readonly fetch?: typeof fetch | undefined;
}

/** As many sets of headers as agents are likely to send by turns. */
const mostHeads = 16;
const security = { bearerAuth: true } as const;
const json = { 'content-type': 'application/json' };
const none: Readonly<Record<string, string>> = {};

/**
 * Sends requests by `fetch`, without the request machinery of an SDK: its client gives URL, headers and time limit, and makes the error of
 * a bad status. Every request is one attempt.
 */
export class FetchTransport {
  readonly #options: FetchTransportOptions;
  readonly #bodies = new JsonBodies();
  readonly #heads = new Map<string, Promise<BuiltHttpRequest>>();

  constructor(options: FetchTransportOptions) {
    this.#options = options;
  }

  send(body: object, headers: Readonly<Record<string, string>> = none): Send {
    return async (signal, attempts, controller) => {
      const client = this.#options.client();
      attempts.begin();
      let response: Response;
      try {
        response = this.#options.isPlain(client)
          ? await this.#sendPlain(client, { body, headers, signal, controller })
          : await this.#sendThrough(client, { body, headers, signal, controller });
      } finally {
        attempts.end();
      }
      if (response.ok) return response;
      throw await statusError(client, response);
    };
  }

  async #sendPlain(client: SdkClient, { body, headers, signal, controller }: Sending): Promise<Response> {
    const { req, url, timeout } = await this.#head(client, headers);
    const send = this.#options.fetch ?? fetch;
    const init: RequestInit = { ...req, method: 'POST', body: this.#bodies.write(body), signal };
    return inTime(async () => send(url, init), timeout, controller);
  }

  #head(client: SdkClient, headers: Readonly<Record<string, string>>): Promise<BuiltHttpRequest> {
    const key = headers === none ? '' : JSON.stringify(headers);
    let head = this.#heads.get(key);
    if (head === undefined) {
      head = client.buildRequest(this.#request('{}', { ...json, ...headers }));
      if (this.#heads.size >= mostHeads) this.#heads.clear();
      this.#heads.set(key, head);
      // What failed is asked for again by the next call.
      head.catch(() => this.#heads.delete(key));
    }
    return head;
  }

  async #sendThrough(client: SdkClient, { body, headers, signal, controller }: Sending): Promise<Response> {
    const options = this.#request(body, headers);
    await client.prepareOptions?.(options);
    const { req, url, timeout } = await client.buildRequest(options, { retryCount: 0 });
    if (client.fetchWithAuth !== undefined) await client.prepareRequest?.(req, { url, options });
    try {
      return await (client.fetchWithAuth?.(url, req, timeout, controller, security) ??
        client.fetchWithTimeout(url, req, timeout, controller, options));
    } catch (error) {
      // The client ends a request that takes too long by the controller; the caller's abort is told by the call.
      throw signal.aborted || isFetchFailure(error) ? new NoAnswer('The request got no answer.', { cause: error }) : error;
    }
  }

  #request(body: object | string, headers: Readonly<Record<string, string>>): SdkRequest {
    return { method: 'post', path: this.#options.path, body, stream: true, headers, __security: security };
  }
}

interface Sending {
  readonly body: object;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly controller: AbortController;
}

function inTime(send: () => Promise<Response>, ms: number, controller: AbortController): Promise<Response> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      controller.abort();
      reject(new NoAnswer(`There was no answer within ${ms} ms.`));
    }, ms);
    send().then(
      (response) => {
        clearTimeout(timer);
        resolve(response);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(new NoAnswer('The request got no answer.', { cause: error }));
      },
    );
  });
}

/** `fetch` throws `TypeError` for a connection that failed, and runtimes an error with a code of the system. */
function isFetchFailure(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof Error && error.name === 'AbortError');
}

async function statusError(client: SdkClient, response: Response): Promise<Error> {
  const text = await response.text().catch(() => '');
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  return client.makeStatusError(response.status, body, body === undefined ? text : undefined, response.headers);
}
