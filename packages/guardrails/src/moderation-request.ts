import type { Awaitable } from '@guardloop/core';
import { GuardloopError } from '@guardloop/core/model';

/** Texts, each of which is answered, or parts, which are answered together. */
export type ModerationInput = readonly string[] | readonly { readonly type: 'image_url'; readonly image_url: { readonly url: string } }[];

/** What the endpoint says of one text or image. */
export interface ModerationResult {
  readonly isFlagged: boolean;
  /** A category that it does not judge for this input is false. */
  readonly categories: { readonly [name: string]: boolean };
  readonly scores: { readonly [name: string]: number };
}

/** How the endpoint is reached. */
export interface ModerationEndpoint {
  readonly apiKey: string | (() => Awaitable<string>);
  readonly model?: string | undefined;
  readonly baseUrl?: string | undefined;
  readonly fetch?: typeof fetch | undefined;
  readonly headers?: { readonly [name: string]: string } | undefined;
  readonly retries?: number | undefined;
}

const firstWaitMs = 250;
const longestWaitMs = 4_000;
const longestAnswer = 1_000_000;
const passing: ReadonlySet<number> = new Set([408, 409, 429]);

/** One result for each text, or one for all parts. Rejects with what says nothing of the input, of the answer's body or of the key. */
export async function requestModeration(
  endpoint: ModerationEndpoint,
  input: ModerationInput,
  signal: AbortSignal,
): Promise<readonly ModerationResult[]> {
  const { retries = 1 } = endpoint;
  for (let attempt = 0; ; attempt += 1) {
    const answer = await send(endpoint, input, signal);
    if ('results' in answer) return answer.results;
    if (attempt >= retries || !answer.error.isRetryable) throw answer.error;
    await wait(Math.min(answer.waitMs ?? firstWaitMs * 2 ** attempt, longestWaitMs), signal);
  }
}

type Sent = { readonly results: readonly ModerationResult[] } | { readonly error: GuardloopError; readonly waitMs: number | undefined };

async function send(endpoint: ModerationEndpoint, input: ModerationInput, signal: AbortSignal): Promise<Sent> {
  const { apiKey, model = 'omni-moderation-latest', baseUrl = 'https://api.openai.com/v1', headers = {} } = endpoint;
  const key = typeof apiKey === 'function' ? await apiKey() : apiKey;
  const ask = endpoint.fetch ?? globalThis.fetch;
  let response: Response;
  try {
    response = await ask(`${baseUrl.replace(/\/$/, '')}/moderations`, {
      method: 'POST',
      headers: { ...headers, authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, input }),
      // The key is for this address alone.
      redirect: 'error',
      signal,
    });
  } catch (thrown) {
    signal.throwIfAborted();
    return { error: failed('could not be reached', { cause: thrown, isRetryable: true }), waitMs: undefined };
  }
  if (!response.ok) {
    await response.body?.cancel().catch(() => undefined);
    return { error: refused(response), waitMs: waitOf(response) };
  }
  const text = await readBody(response, signal);
  return typeof text === 'string' ? { results: readResults(text, expectedOf(input)) } : { error: text.error, waitMs: undefined };
}

const expectedOf = (input: ModerationInput): number => (typeof input[0] === 'string' ? input.length : 1);

async function readBody(response: Response, signal: AbortSignal): Promise<string | { readonly error: GuardloopError }> {
  const reader = response.body?.getReader();
  if (reader === undefined) return '';
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      text += decoder.decode(value, { stream: true });
      if (text.length > longestAnswer) {
        await reader.cancel().catch(() => undefined);
        throw protocol();
      }
    }
  } catch (thrown) {
    signal.throwIfAborted();
    if (GuardloopError.is(thrown)) throw thrown;
    return { error: failed('broke its answer off', { cause: thrown, isRetryable: true }) };
  }
}

function failed(
  how: string,
  options: { readonly cause?: unknown; readonly isRetryable: boolean; readonly details?: Readonly<Record<string, unknown>> },
): GuardloopError {
  return new GuardloopError('MODEL_FAILED', `The moderation endpoint ${how}.`, options);
}

function refused({ status, headers }: Response): GuardloopError {
  const requestId = headers.get('x-request-id');
  const isSafe = requestId !== null && /^[\w.:-]{1,100}$/.test(requestId);
  return failed(`answered with status ${status}`, {
    isRetryable: passing.has(status) || status >= 500,
    details: { status, ...(isSafe ? { requestId } : {}) },
  });
}

/** Seconds, as the endpoint gives them; a date says nothing here. */
function waitOf({ headers }: Response): number | undefined {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined;
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', leave);
      resolve();
    }, ms);
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
  });
}

function protocol(): GuardloopError {
  return new GuardloopError('MODEL_PROTOCOL', 'The moderation endpoint answered in a form that is not its own. Look at baseUrl and model.');
}

function readResults(text: string, expected: number): readonly ModerationResult[] {
  let results: unknown;
  try {
    ({ results } = JSON.parse(text) as { readonly results?: unknown });
  } catch {
    throw protocol();
  }
  if (!Array.isArray(results) || results.length !== expected) throw protocol();
  return results.map(readResult);
}

function readResult(result: unknown): ModerationResult {
  const { flagged, categories, category_scores: scores } = recordOf(result);
  if (typeof flagged !== 'boolean') throw protocol();
  return {
    isFlagged: flagged,
    categories: mapValues(recordOf(categories), (value) => (typeof value === 'boolean' ? value : value === null ? false : undefined)),
    scores: mapValues(recordOf(scores), (value) =>
      typeof value === 'number' && Number.isFinite(value) ? value : value === null ? 0 : undefined,
    ),
  };
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw protocol();
  return value as Readonly<Record<string, unknown>>;
}

function mapValues<V>(record: Readonly<Record<string, unknown>>, read: (value: unknown) => V | undefined): { readonly [name: string]: V } {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => {
      const made = read(value);
      if (made === undefined) throw protocol();
      return [name, made];
    }),
  );
}
