import { GuardloopError } from '@guardloop/core/model';
import OpenAI from 'openai';

/** Who failed, for the details of an error. */
export interface Failing {
  readonly provider: string;
  readonly model: string;
  /** HTTP attempts so far; undefined where the client does not tell. */
  readonly attempts?: number | undefined;
  /** True once text or reasoning was passed on: then the call is not to be repeated unseen. */
  readonly delivered: boolean;
}

/**
 * The request failed before anything of an answer was seen. The provider's own message is never used: it can quote the request. Only short
 * words of its `code` and `type` are.
 */
export function requestFailure(thrown: unknown, failing: Failing): GuardloopError {
  if (GuardloopError.is(thrown)) return thrown;
  const fields = recordOf(thrown) ?? {};
  const status = typeof fields.status === 'number' ? fields.status : undefined;
  const headers = headersOf(fields.headers);
  const word = failureWord(fields);
  const isConnection = status === undefined && isConnectionError(thrown);
  const what =
    status !== undefined
      ? `The provider answered with status ${status}${word === undefined ? '' : ` (${word})`}`
      : isConnection
        ? 'The provider could not be reached, or did not answer in time'
        : 'The request could not be sent';
  const toDo = isConnection ? 'Check the network and the baseURL, or try again later.' : advice(status);
  return new GuardloopError('MODEL_FAILED', `${what} to a request for model ${failing.model}. ${toDo}`, {
    cause: isConnection ? innermost(thrown) : thrown,
    isRetryable: isConnection || isRetryableStatus(status, word, headers),
    details: details(failing, { status, word, requestId: headers?.get('x-request-id') ?? undefined, retryAfterMs: retryAfterMs(headers) }),
  });
}

/** An error that the provider put into a stream it had begun with status 200. */
export function frameFailure(error: unknown, failing: Failing & { readonly requestId?: string | undefined }): GuardloopError {
  const fields = recordOf(error) ?? {};
  const code = Number(fields.status ?? fields.status_code ?? fields.code);
  const status = Number.isInteger(code) && code >= 400 && code <= 599 ? code : undefined;
  const word = failureWord(fields);
  const isRetryable =
    status === undefined ? word === 'server_error' || word === 'rate_limit_exceeded' : isRetryableStatus(status, word, undefined);
  const named = [status, word].filter((part) => part !== undefined && String(part) !== '').join(', ');
  return new GuardloopError(
    'MODEL_FAILED',
    `The provider reported an error${named === '' ? '' : ` (${named})`} inside the stream of model ${failing.model}. ${status === undefined ? 'Try again later.' : advice(status)}`,
    { isRetryable: isRetryable && !failing.delivered, details: details(failing, { status, word, requestId: failing.requestId }) },
  );
}

/** The connection broke in the middle of a stream. */
export function streamCut(thrown: unknown, failing: Failing & { readonly requestId?: string | undefined }): GuardloopError {
  return new GuardloopError('MODEL_FAILED', `The stream of model ${failing.model} was cut before its end. Run it again.`, {
    cause: thrown,
    isRetryable: !failing.delivered,
    details: details(failing, { requestId: failing.requestId }),
  });
}

/** The caller's signal was aborted. */
export function aborted(failing: Failing): GuardloopError {
  return new GuardloopError('MODEL_FAILED', `The request to model ${failing.model} was aborted by its signal.`, {
    details: { ...details(failing, {}), aborted: true },
  });
}

/** The provider broke its own protocol. `what` holds no word of the provider's. */
export function protocolFailure(
  what: string,
  failing: Failing & { readonly requestId?: string | undefined; readonly isRetryable?: boolean | undefined },
): GuardloopError {
  return new GuardloopError('MODEL_PROTOCOL', `${what} (model ${failing.model})`, {
    isRetryable: (failing.isRetryable ?? false) && !failing.delivered,
    details: details(failing, { requestId: failing.requestId }),
  });
}

/** True if the provider's content filter refused, by the word it gives for that. */
export function isContentFilter(error: unknown): boolean {
  const code = recordOf(error)?.code;
  return code === 'content_filter' || code === 'content_policy_violation';
}

/** A word of the provider's that is safe to show: short, and made like an identifier. */
function safeWord(value: unknown): string | undefined {
  return typeof value === 'string' && /^[a-z][a-z0-9_.-]{0,63}$/i.test(value) ? value : undefined;
}

export function recordOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
}

interface Found {
  readonly status?: number | undefined;
  readonly word?: string | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
}

function details(failing: Failing, found: Found): Record<string, unknown> {
  const all = {
    provider: failing.provider,
    model: failing.model,
    status: found.status,
    type: found.word,
    requestId: found.requestId !== undefined && /^[\w.:-]{1,100}$/.test(found.requestId) ? found.requestId : undefined,
    retryAfterMs: found.retryAfterMs,
    attempts: failing.attempts,
    delivered: failing.delivered,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

function failureWord(fields: Record<string, unknown>): string | undefined {
  return safeWord(fields.code) ?? safeWord(fields.type);
}

function isConnectionError(thrown: unknown): boolean {
  if (thrown instanceof OpenAI.APIConnectionError) return true;
  return thrown instanceof Error && /^APIConnection(Timeout)?Error$/.test(thrown.constructor.name);
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

function isRetryableStatus(status: number | undefined, word: string | undefined, headers: Headers | undefined): boolean {
  const hint = headers?.get('x-should-retry');
  if (hint === 'true' || hint === 'false') return hint === 'true';
  if (status === undefined || word === 'insufficient_quota') return false;
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

function headersOf(value: unknown): Headers | undefined {
  return typeof recordOf(value)?.get === 'function' ? (value as Headers) : undefined;
}

function retryAfterMs(headers: Headers | undefined): number | undefined {
  const ms = Number.parseFloat(headers?.get('retry-after-ms') ?? '');
  if (Number.isFinite(ms) && ms >= 0) return ms;
  const header = headers?.get('retry-after')?.trim();
  if (header === undefined || header === '') return undefined;
  if (/^\d+(\.\d+)?$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

function advice(status: number | undefined): string {
  if (status === 401 || status === 403) return 'Check the API key and what it may use.';
  if (status === 404) return 'Check the model id and the baseURL.';
  if (status === 413) return 'The request is too large; shorten the view.';
  if (status === 429) return 'Wait as details.retryAfterMs says, or raise the quota.';
  if (status !== undefined && status < 500)
    return "The request was refused as it stands; details.requestId finds it in the provider's logs.";
  return status === undefined ? 'Check the options of the model and of its client.' : 'Try again later.';
}
