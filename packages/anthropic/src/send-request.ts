import type Anthropic from '@anthropic-ai/sdk';
import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages';
import type { ModelEvent } from '@guardloop/core/model';
import type { MessagesClient } from './client.js';

type Middleware = NonNullable<Anthropic.RequestOptions['middleware']>[number];
type Retry = Extract<ModelEvent, { type: 'retry' }>;

export interface Sending {
  readonly body: MessageCreateParamsStreaming;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly attempts: Attempts;
}

/** Counts the HTTP attempts of one call, and keeps the request id of the last answer. */
export class Attempts {
  count = 0;
  requestId: string | undefined;
  #endedAt = 0;
  #round = 0;
  #retries: Retry[] = [];
  #wake: (() => void) | undefined;

  /** Stands inside the SDK's own retries, so it runs once for each attempt, also on a client that Guardloop did not make. */
  readonly middleware: Middleware = async (request, next) => {
    this.count += 1;
    this.#round += 1;
    if (this.#round > 1) {
      this.#retries.push({ type: 'retry', attempt: this.#round - 1, waitMs: Date.now() - this.#endedAt });
      this.#wake?.();
    }
    try {
      const response = await next(request);
      this.requestId = response.headers.get('request-id') ?? undefined;
      return response;
    } finally {
      this.#endedAt = Date.now();
    }
  };

  /** A new request begins: its first attempt is no retry. */
  begin(): void {
    this.#round = 0;
  }

  takeRetries(): readonly Retry[] {
    const taken = this.#retries;
    this.#retries = [];
    return taken;
  }

  retried(): Promise<undefined> {
    return new Promise((resolve) => {
      this.#wake = () => resolve(undefined);
      if (this.#retries.length > 0) resolve(undefined);
    });
  }
}

/** Sends one request and reports its retries as they happen. Rejects at once when the signal is aborted, whatever `fetch` does. */
export async function* sendRequest(client: MessagesClient, sending: Sending): AsyncGenerator<readonly Retry[], Response> {
  const { attempts, signal } = sending;
  attempts.begin();
  const answered = client.messages
    .create(sending.body, { signal, headers: sending.headers, middleware: [attempts.middleware] })
    .asResponse();
  const aborted = whenAborted(signal);
  try {
    for (;;) {
      const response = await Promise.race([answered, attempts.retried(), aborted.promise]);
      const retries = attempts.takeRetries();
      if (retries.length > 0) yield retries;
      if (response !== undefined) return response;
    }
  } catch (error) {
    answered.then((response) => response.body?.cancel()).catch(() => {});
    throw error;
  } finally {
    aborted.forget();
  }
}

function whenAborted(signal: AbortSignal): { readonly promise: Promise<never>; forget(): void } {
  let forget = (): void => {};
  const promise = new Promise<never>((_, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    else {
      signal.addEventListener('abort', abort, { once: true });
      forget = () => signal.removeEventListener('abort', abort);
    }
  });
  promise.catch(() => {});
  return { promise, forget };
}
