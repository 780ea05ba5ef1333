import { GuardloopError } from '@guardloop/core';

/** What a refused request is told: `application/problem+json` by RFC 9457. Never quotes what was sent. */
export interface ProblemBody {
  /** `urn:guardloop:problem:<name>`: names the kind of problem. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail?: string | undefined;
  /** Which fields were expected to be what. */
  readonly errors?: readonly { readonly path: string; readonly expected: string }[] | undefined;
}
interface ProblemInfo {
  readonly detail?: string | undefined;
  readonly errors?: ProblemBody['errors'];
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Every kind of problem: its status and title. */
export const problems = {
  'bad-request': [400, 'The request cannot be read.'],
  'bad-body': [400, 'The body does not fit.'],
  'bad-query': [400, 'The query does not fit.'],
  unauthenticated: [401, 'Say who you are.'],
  'not-from-here': [403, 'Pages of that origin may not call this server.'],
  'not-allowed': [403, 'You may not do this.'],
  'not-found': [404, 'There is no such thing.'],
  'no-method': [405, 'This cannot be done here.'],
  'too-slow': [408, 'The request took too long to arrive.'],
  conflict: [409, 'It is not in a state for this.'],
  gone: [410, 'It is too late for this.'],
  'too-large': [413, 'The body is too large.'],
  'bad-type': [415, 'The body must be application/json.'],
  'wrong-host': [421, 'This server is not reached under that name.'],
  altered: [422, 'What was seen is not what is asked.'],
  'key-reused': [422, 'The idempotency key was used for another request.'],
  'too-many': [429, 'Too many requests.'],
  internal: [500, 'Something went wrong here.'],
  'not-offered': [501, 'This server does not offer it.'],
  unavailable: [503, 'This cannot be answered now.'],
  'queue-full': [503, 'Too many runs are waiting.'],
} as const satisfies Readonly<Record<string, readonly [number, string]>>;
export type ProblemName = keyof typeof problems;

/** A refusal on its way to the client. */
export class Problem extends Error {
  readonly body: ProblemBody;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    readonly kind: ProblemName,
    { detail, errors, headers = {} }: ProblemInfo = {},
  ) {
    const [status, title] = problems[kind];
    super(title);
    this.headers = headers;
    this.body = {
      type: `urn:guardloop:problem:${kind}`,
      title,
      status,
      ...(detail === undefined ? {} : { detail }),
      ...(errors === undefined ? {} : { errors }),
    };
  }

  response(): Response {
    return new Response(JSON.stringify(this.body), {
      status: this.body.status,
      headers: { 'content-type': 'application/problem+json', ...this.headers },
    });
  }
}

/** What a thrown value is for the client: its words stay here. */
export function problemOf(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  if (GuardloopError.is(thrown)) {
    if (thrown.details.queueFull === true) return new Problem('queue-full', { headers: { 'retry-after': '10' } });
    if (thrown.code === 'STORE_FAILED' || thrown.code === 'LOG_CONFLICT')
      return new Problem('unavailable', { headers: { 'retry-after': '2' } });
  }
  return new Problem('internal');
}
