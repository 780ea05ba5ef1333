import Anthropic from '@anthropic-ai/sdk';
import type { Usage } from '@guardloop/core/model';
import { GuardloopError } from '@guardloop/core/model';

/** Where a call stands when it fails, for the details of its error. */
export interface CallState {
  readonly provider: string;
  readonly model: string;
  /** HTTP attempts so far; undefined where the client does not tell. */
  readonly attempts?: number | undefined;
  /** True once text or reasoning was passed on: then the call is not to be repeated unseen. */
  readonly delivered: boolean;
  readonly requestId?: string | undefined;
  /** What was used before the failure, where the API has told it. */
  readonly usage?: Usage | undefined;
  /** What the request asked for that not every model takes; named when the API refuses the request. */
  readonly demands: readonly string[];
}

/** Status of the error types that the API also sends inside a stream it had begun with 200. */
const statusOfType: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

/** An error of the SDK, of `fetch` or of the connection. The API's own message is never used: it can quote the request. */
export function requestFailure(thrown: unknown, call: CallState): GuardloopError {
  if (GuardloopError.is(thrown)) return thrown;
  const fields = recordOf(thrown);
  const status = typeof fields.status === 'number' ? fields.status : undefined;
  const headers = typeof recordOf(fields.headers).get === 'function' ? (fields.headers as Headers) : undefined;
  const type = safeWord(fields.type);
  if (status !== undefined) {
    return failed(
      `Anthropic answered with status ${status}${type === undefined ? '' : ` (${type})`} to a request for model ${call.model}.`,
      call,
      {
        cause: thrown,
        status,
        type,
        requestId: safeWord(headers?.get('request-id')),
        retryAfterMs: retryAfterMs(headers),
        isRetryable: isRetryable(status, headers),
      },
    );
  }
  if (thrown instanceof Anthropic.AnthropicError || isNetworkError(thrown)) {
    const what = call.delivered ? 'The stream was cut before its end' : 'Anthropic could not be reached, or the connection broke';
    return failed(`${what} (model ${call.model}). Check the network and baseURL, or run it again.`, call, {
      cause: innermost(thrown),
      isRetryable: true,
    });
  }
  return failed(`The request to model ${call.model} could not be sent. Check the options of the model and of its client.`, call, {
    cause: thrown,
    isRetryable: false,
  });
}

/** An `error` event in the middle of a stream. */
export function streamFailure(error: unknown, call: CallState): GuardloopError {
  const type = safeWord(recordOf(error).type);
  const status = type === undefined ? undefined : statusOfType[type];
  return failed(`Anthropic reported an error${type === undefined ? '' : ` (${type})`} inside the stream of model ${call.model}.`, call, {
    status,
    type,
    isRetryable: status === undefined || isRetryable(status, undefined),
  });
}

/** The provider broke its own protocol. `what` holds no word of the provider's. */
export function protocolFailure(what: string, call: CallState): GuardloopError {
  return new GuardloopError('MODEL_PROTOCOL', `${what} (model ${call.model}). Run it again; if a proxy stands between, check it.`, {
    details: detailsOf(call, {}),
  });
}

/** The caller's signal was aborted. */
export function aborted(call: CallState): GuardloopError {
  return new GuardloopError('MODEL_FAILED', `The request to model ${call.model} was aborted by its signal.`, {
    details: { ...detailsOf(call, {}), aborted: true },
  });
}

/** A word of the provider's that is safe to show: short, and made like an identifier. */
export function safeWord(value: unknown): string | undefined {
  return typeof value === 'string' && /^[a-z][a-z0-9_.-]{0,63}$/i.test(value) ? value : undefined;
}

interface Found {
  readonly cause?: unknown;
  readonly status?: number | undefined;
  readonly type?: string | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly isRetryable: boolean;
}

function failed(what: string, call: CallState, found: Found): GuardloopError {
  const advice = found.status === undefined ? '' : ` ${adviceFor(found.status, call)}`;
  return new GuardloopError('MODEL_FAILED', `${what}${advice}`, {
    cause: found.cause,
    isRetryable: found.isRetryable && !call.delivered,
    details: detailsOf(call, found),
  });
}

function detailsOf(call: CallState, found: Partial<Found>): Record<string, unknown> {
  const all = {
    provider: call.provider,
    model: call.model,
    status: found.status,
    type: found.type,
    requestId: found.requestId ?? call.requestId,
    retryAfterMs: found.retryAfterMs,
    attempts: call.attempts,
    delivered: call.delivered,
    usage: call.usage,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

function isRetryable(status: number, headers: Headers | undefined): boolean {
  const hint = headers?.get('x-should-retry');
  if (hint === 'true' || hint === 'false') return hint === 'true';
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

function retryAfterMs(headers: Headers | undefined): number | undefined {
  const ms = Number.parseFloat(headers?.get('retry-after-ms') ?? '');
  if (Number.isFinite(ms) && ms >= 0) return ms;
  const header = headers?.get('retry-after')?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(header)) return Number(header) * 1_000;
  const date = header === '' ? Number.NaN : Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

function adviceFor(status: number, call: CallState): string {
  if (status === 401 || status === 403) return 'Check the API key and what it may use.';
  if (status === 404) return 'Check the model id and baseURL.';
  if (status === 413) return 'The request is too large: shorten the view.';
  if (status === 429) return 'Wait as details.retryAfterMs says, or raise the quota.';
  if (status >= 500) return 'Try again later.';
  return call.demands.length === 0
    ? "The request was refused as it stands; details.requestId finds it in the provider's logs."
    : `The request was refused as it stands. It asked for what not every model takes: ${call.demands.join(', ')}.`;
}

/** `fetch` and the streams of its bodies throw `TypeError` for a broken connection, with the socket's error as its cause. */
function isNetworkError(thrown: unknown): boolean {
  const code = recordOf(innermost(thrown)).code;
  return thrown instanceof TypeError || (typeof code === 'string' && /^(E[A-Z]+|UND_ERR_\w+)$/.test(code));
}

function innermost(thrown: unknown): unknown {
  let error = thrown;
  for (let depth = 0; depth < 5; depth += 1) {
    const { cause } = recordOf(error);
    if (typeof cause !== 'object' || cause === null) break;
    error = cause;
  }
  return error;
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
