import type { ErrorClass, ToolError } from '@guardloop/core';
import { toolError } from '@guardloop/core';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';

/** How a request to a server failed on its way, as opposed to what the server itself answered. */
export type FailureKind =
  | 'unreachable'
  | 'expired'
  | 'lost'
  | 'timeout'
  | 'aborted'
  | 'unauthorized'
  | 'busy'
  | 'refused'
  | 'closed'
  | 'too-large'
  | 'unreadable';

/** Whether the server may have done what it was asked: `no` only where the request certainly did not get that far. */
type Ran = 'no' | 'unknown' | 'yes';

const ranOf: Readonly<Record<FailureKind, Ran>> = {
  unreachable: 'no',
  expired: 'no',
  unauthorized: 'no',
  busy: 'no',
  refused: 'no',
  closed: 'no',
  lost: 'unknown',
  timeout: 'unknown',
  aborted: 'unknown',
  'too-large': 'yes',
  unreadable: 'yes',
};

/**
 * A failure on the way. It goes through the SDK as the `data` of an error response, and is known by its class: nothing that a server sends
 * can be one. Its words hold no URL, header or body.
 */
export class RequestFailure extends McpError {
  readonly kind: FailureKind;
  readonly ran: Ran;

  constructor(kind: FailureKind, words: string, ran: Ran = ranOf[kind]) {
    super(ErrorCode.InternalError, words);
    this.kind = kind;
    this.ran = ran;
    this.name = 'RequestFailure';
    this.message = words;
  }

  /** What a server is told with `notifications/cancelled`. */
  override toString(): string {
    return this.kind === 'timeout' ? 'The request took too long.' : 'The request is not needed any more.';
  }
}

/** What a thrown value of the SDK says about the way; undefined for an answer of the server. */
export function failureOf(thrown: unknown): RequestFailure | undefined {
  if (thrown instanceof RequestFailure) return thrown;
  if (thrown instanceof McpError && thrown.data instanceof RequestFailure) return thrown.data;
  return undefined;
}

const endings: Readonly<Record<Ran, string>> = {
  no: ' It did not run.',
  unknown: ' It may have happened: look before you call it again.',
  yes: ' It ran.',
};
const classes: Readonly<Record<FailureKind, ErrorClass>> = {
  unreachable: 'unavailable',
  expired: 'unavailable',
  lost: 'unavailable',
  timeout: 'timeout',
  aborted: 'aborted',
  unauthorized: 'unavailable',
  busy: 'rate_limited',
  refused: 'unavailable',
  closed: 'unavailable',
  'too-large': 'bad_result',
  unreadable: 'bad_result',
};
/** Trying again changes nothing. */
const finals: ReadonlySet<FailureKind> = new Set(['unauthorized', 'refused', 'closed', 'too-large', 'unreadable', 'aborted']);

/** The failure as a tool says it. `isRepeatable`: calling again does no harm even where it has run. */
export function toToolError(failure: RequestFailure, isRepeatable: boolean): ToolError {
  const retryable = !finals.has(failure.kind) && (failure.ran === 'no' || isRepeatable);
  const ending = failure.ran === 'unknown' && isRepeatable ? '' : endings[failure.ran];
  return toolError(`${failure.message}${ending}`, { errorClass: classes[failure.kind], retryable });
}
