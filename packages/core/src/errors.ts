/** Every code a {@link GuardloopError} can carry, with what it means. */
export const errorCodes = {
  CONFIG_INVALID: 'a definition or an option is wrong; the message says what to change',
  NAME_TAKEN: 'two agents, tools, handoffs or guardrails share a name where names must differ',
  MODEL_FAILED: 'the provider answered with an error or could not be reached',
  MODEL_PROTOCOL: 'the provider answered in a form that breaks its own protocol (a stream without an end, an empty answer twice)',
  OUTPUT_INVALID: 'the final answer did not fit the output schema, also after repair',
  LOG_INVALID: 'a log has another version or was damaged',
  LOG_CONFLICT: 'another writer has appended to the same log',
  RESUME_MISMATCH: 'what resume was given does not fit the log',
  STORE_FAILED: 'a session store failed to load or append',
  INTERNAL: 'a fault in Guardloop itself',
} as const;

/** The code of a {@link GuardloopError}. */
export type ErrorCode = keyof typeof errorCodes;

/** A copy of what went wrong underneath that is safe to keep: no message text, no response body, no stack. */
export interface SafeCause {
  readonly name: string;
  readonly code?: string | undefined;
  /** HTTP status, where there was one. */
  readonly status?: number | undefined;
  /** The provider's request id, where there was one. */
  readonly requestId?: string | undefined;
}

/** What a {@link GuardloopError} holds beside code and message. */
export interface ErrorOptions {
  readonly cause?: unknown;
  readonly isRetryable?: boolean | undefined;
  /** Plain JSON for programs; never holds what was refused. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

const brand = Symbol.for('guardloop.error');

/** The one error class of Guardloop. Outcomes of a run are values; this is thrown only before a run was entered, and stands in `result.error` of a failed one. */
export class GuardloopError extends Error {
  override readonly name = 'GuardloopError';
  readonly code: ErrorCode;
  readonly isRetryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;
  override readonly cause: SafeCause | undefined;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message);
    this.code = code;
    this.isRetryable = options.isRetryable ?? false;
    this.details = options.details ?? {};
    this.cause = options.cause === undefined ? undefined : safeCause(options.cause);
    Object.defineProperty(this, brand, { value: true });
  }

  /** True for errors of any copy or version of this package, also where `instanceof` is not. */
  static is(error: unknown): error is GuardloopError {
    try {
      return typeof error === 'object' && error !== null && (error as { [brand]?: unknown })[brand] === true;
    } catch {
      return false;
    }
  }
}

/** Keeps of a thrown value only what cannot hold a secret or refused text. Never throws, whatever it is given. */
export function safeCause(thrown: unknown): SafeCause {
  if (typeof thrown !== 'object' || thrown === null) return { name: typeof thrown };
  const read = (key: string): unknown => {
    try {
      return (thrown as Record<string, unknown>)[key];
    } catch {
      return undefined;
    }
  };
  const word = (value: unknown): string | undefined => (typeof value === 'string' && /^[\w.:-]{1,100}$/.test(value) ? value : undefined);
  const status = read('status');
  const requestId = word(read('requestId')) ?? word(read('requestID')) ?? word(read('request_id'));
  const code = word(read('code'));
  return {
    name: word(read('name')) ?? 'Error',
    ...(code === undefined ? {} : { code }),
    ...(typeof status === 'number' ? { status } : {}),
    ...(requestId === undefined ? {} : { requestId }),
  };
}

function distance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const swap = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, swap));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}

/** `Did you mean NAME? ` for a misspelt word, or nothing. */
export function suggest(word: string, known: readonly string[]): string {
  if (word.length > 100) return '';
  let best: string | undefined;
  let least = Math.max(word.length < 4 ? 1 : 2, Math.floor(word.length / 3)) + 1;
  for (const name of known) {
    const steps = distance(word.toLowerCase(), name.toLowerCase());
    if (steps < least) [best, least] = [name, steps];
  }
  // Other frameworks often say the same with one word more: needsApproval, maxTurns, outputGuardrails.
  if (best === undefined)
    for (const name of known)
      if (name.length >= 5 && name.length > (best?.length ?? 0) && word.toLowerCase().endsWith(name.toLowerCase())) best = name;
  return best === undefined ? '' : `Did you mean ${best}? `;
}

/** Throws CONFIG_INVALID for a field of `given` that is none of `names`, with the one that was meant. `where` names the call, `what` a field. */
export function checkNames(
  where: string,
  given: object,
  { what, names }: { readonly what: string; readonly names: readonly string[] },
): void {
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw new GuardloopError(
    'CONFIG_INVALID',
    `${where}: there is no ${what} ${unknown.slice(0, 60)}. ${suggest(unknown, names)}The ${what}s are ${names.join(', ')}.`,
  );
}
