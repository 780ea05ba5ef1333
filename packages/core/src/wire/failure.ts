import { GuardloopError } from '../errors.js';
import type { Usage } from '../model/types.js';
import { recordOf, safeWord } from './record.js';

/** How a provider is named, and how its errors look. */
export interface ProviderWords {
  /** The `provider` of the model, for details: for example `openai.chat`. */
  readonly provider: string;
  /** How a sentence about it begins: `Anthropic`, or `The provider` where it may be any. */
  readonly name: string;
  /** The header of its answers that holds the id of the request. */
  readonly requestIdHeader: string;
  /** The classes of its SDK for a connection that could not be made or that was given up. */
  readonly connectionErrors: readonly (abstract new (
    ...given: never[]
  ) => Error)[];
  /** The HTTP status that a word of an error stands for, where an error inside a stream names none. */
  readonly statusOfWord: Readonly<Record<string, number>>;
  /** True if the provider's content filter refused: then the answer is a refusal, and no failure. */
  readonly isRefusal?: ((error: unknown) => boolean) | undefined;
}

/** Where a call stands when it fails, for the details of its error. */
export interface CallState {
  readonly model: string;
  /** HTTP attempts so far; undefined where the client does not tell. */
  readonly attempts?: number | undefined;
  /** True once text or reasoning was passed on: then the call is not to be repeated unseen. */
  readonly delivered: boolean;
  readonly requestId?: string | undefined;
  /** What was used before the failure, where the provider has told it. */
  readonly usage?: Usage | undefined;
  /** What the request asked for that not every model takes; named when the provider refuses the request. */
  readonly demands?: readonly string[] | undefined;
}

/** Thrown by a transport that got no answer, or none in time. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/**
 * The request failed before anything of an answer was seen. The provider's own message is never used: it can quote the request. Only short
 * words of its `code` and `type` are.
 */
export function requestFailure(thrown: unknown, words: ProviderWords, call: CallState): GuardloopError {
  if (GuardloopError.is(thrown)) return thrown;
  const fields = recordOf(thrown) ?? {};
  const status = typeof fields.status === 'number' ? fields.status : undefined;
  if (status === undefined) return isConnectionError(thrown, words) ? unreachable(thrown, words, call) : unsent(thrown, words, call);
  const headers = headersOf(fields.headers);
  const word = wordOf(fields);
  return new GuardloopError(
    'MODEL_FAILED',
    `${words.name} answered with status ${status}${word === undefined ? '' : ` (${word})`} to a request for model ${call.model}. ${advice(status, call)}`,
    {
      cause: thrown,
      isRetryable: isRetryableStatus(status, word, headers) && !call.delivered,
      details: detailsOf(words, call, {
        status,
        type: word,
        requestId: requestId(headers?.get(words.requestIdHeader)),
        retryAfterMs: retryAfterMs(headers),
      }),
    },
  );
}

/** An error that the provider put into a stream it had begun with status 200. */
export function frameFailure(error: unknown, words: ProviderWords, call: CallState): GuardloopError {
  const fields = recordOf(error) ?? {};
  const word = wordOf(fields);
  const code = Number(fields.status ?? fields.status_code ?? fields.code);
  const told = Number.isInteger(code) && code >= 400 && code <= 599 ? code : undefined;
  const status = told ?? (word !== undefined && Object.hasOwn(words.statusOfWord, word) ? words.statusOfWord[word] : undefined);
  const isRetryable =
    status === undefined ? word === undefined || !/^(invalid|unsupported|insufficient)_/.test(word) : isRetryableStatus(status, word);
  const named = [status, word].filter((part) => part !== undefined).join(', ');
  return new GuardloopError(
    'MODEL_FAILED',
    `${words.name} reported an error${named === '' ? '' : ` (${named})`} inside the stream of model ${call.model}. ${status === undefined ? 'Try again later.' : advice(status, call)}`,
    { isRetryable: isRetryable && !call.delivered, details: detailsOf(words, call, { status, type: word }) },
  );
}

/** The connection broke in the middle of a stream. */
export function streamCut(thrown: unknown, words: ProviderWords, call: CallState): GuardloopError {
  return new GuardloopError('MODEL_FAILED', `The stream of model ${call.model} was cut before its end. Run it again.`, {
    cause: innermost(thrown),
    isRetryable: !call.delivered,
    details: detailsOf(words, call, {}),
  });
}

/** The caller's signal was aborted. */
export function aborted(words: ProviderWords, call: CallState): GuardloopError {
  return new GuardloopError('MODEL_FAILED', `The request to model ${call.model} was aborted by its signal.`, {
    details: { ...detailsOf(words, call, {}), aborted: true },
  });
}

/** The provider broke its own protocol. `what` is a sentence without its full stop, and holds no word of the provider's. */
export function protocolFailure(
  what: string,
  words: ProviderWords,
  call: CallState & { readonly isRetryable?: boolean | undefined },
): GuardloopError {
  return new GuardloopError('MODEL_PROTOCOL', `${what} (model ${call.model}). Run it again; if a proxy stands between, check it.`, {
    isRetryable: (call.isRetryable ?? false) && !call.delivered,
    details: detailsOf(words, call, {}),
  });
}

/** A number from 0; of a header that was given twice, the first. */
const headerNumber = /^\s*(\d+(?:\.\d+)?)\s*(?:,|$)/;

/** Milliseconds that the headers of an answer ask to wait: `retry-after-ms`, or `retry-after` in seconds or as a date. */
export function retryAfterMs(headers: Headers | undefined): number | undefined {
  const [ms, header] = [headers?.get('retry-after-ms') ?? '', headers?.get('retry-after') ?? ''];
  const [, asked] = headerNumber.exec(ms) ?? [];
  const [, seconds] = headerNumber.exec(header) ?? [];
  if (asked !== undefined || seconds !== undefined)
    return Math.min(asked === undefined ? Number(seconds) * 1_000 : Number(asked), Number.MAX_SAFE_INTEGER);
  // Without a time of day it is no date of HTTP, though it may parse as one: `-5` would be in the year 2001.
  const date = /\d:\d\d/.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

interface Found {
  readonly status?: number | undefined;
  readonly type?: string | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
}

function detailsOf(words: ProviderWords, call: CallState, found: Found): Record<string, unknown> {
  const all = {
    provider: words.provider,
    model: call.model,
    status: found.status,
    type: found.type,
    requestId: found.requestId ?? requestId(call.requestId),
    retryAfterMs: found.retryAfterMs,
    attempts: call.attempts,
    delivered: call.delivered,
    usage: call.usage,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

function unreachable(thrown: unknown, words: ProviderWords, call: CallState): GuardloopError {
  return new GuardloopError(
    'MODEL_FAILED',
    `${words.name} could not be reached, or did not answer in time (model ${call.model}). Check the network and the baseURL, or try again later.`,
    { cause: innermost(thrown), isRetryable: !call.delivered, details: detailsOf(words, call, {}) },
  );
}

function unsent(thrown: unknown, words: ProviderWords, call: CallState): GuardloopError {
  return new GuardloopError(
    'MODEL_FAILED',
    `The request to model ${call.model} could not be sent. Check the options of the model and of its client.`,
    { cause: thrown, details: detailsOf(words, call, {}) },
  );
}

function wordOf(fields: Record<string, unknown>): string | undefined {
  return safeWord(fields.code) ?? safeWord(fields.type);
}

function requestId(word: string | null | undefined): string | undefined {
  return typeof word === 'string' && /^[\w.:-]{1,100}$/.test(word) ? word : undefined;
}

/** By class, by the name of the class (another copy of the SDK), and by the system's code (`fetch` itself). */
function isConnectionError(thrown: unknown, words: ProviderWords): boolean {
  if (!(thrown instanceof Error)) return false;
  if (thrown instanceof NoAnswer || words.connectionErrors.some((type) => thrown instanceof type)) return true;
  if (/^APIConnection(Timeout)?Error$/.test(thrown.constructor.name)) return true;
  const code = recordOf(innermost(thrown))?.code;
  return typeof code === 'string' && /^(E[A-Z]+|UND_ERR_\w+)$/.test(code);
}

/** What is at the bottom: the SDK wraps what `fetch` threw, which wraps the system's error with its code. */
function innermost(thrown: unknown): unknown {
  let error = thrown;
  for (let depth = 0; depth < 5; depth += 1) {
    const cause = recordOf(error)?.cause;
    if (typeof cause !== 'object' || cause === null) break;
    error = cause;
  }
  return error;
}

function isRetryableStatus(status: number, word: string | undefined, headers?: Headers): boolean {
  const hint = headers?.get('x-should-retry');
  if (hint === 'true' || hint === 'false') return hint === 'true';
  if (word === 'insufficient_quota') return false;
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

function headersOf(value: unknown): Headers | undefined {
  return typeof recordOf(value)?.get === 'function' ? (value as Headers) : undefined;
}

function advice(status: number, { demands = [] }: CallState): string {
  if (status === 401 || status === 403) return 'Check the API key and what it may use.';
  if (status === 402) return 'Check the plan and the balance of the account.';
  if (status === 404) return 'Check the model id and the baseURL.';
  if (status === 413) return 'The request is too large; shorten the view.';
  if (status === 429) return 'Wait as details.retryAfterMs says, or raise the quota.';
  if (status >= 500) return 'Try again later.';
  return demands.length === 0
    ? "The request was refused as it stands; details.requestId finds it in the provider's logs."
    : `The request was refused as it stands. It asked for what not every model takes: ${demands.join(', ')}.`;
}
