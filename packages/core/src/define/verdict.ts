import type { Action } from '../state/events.js';
import { DefinitionReader, isList, property } from './definition-reader.js';
import type { Allow, AskVerdict, Deny, Halt, Rewrite } from './types.js';

/** Beside a refusal. */
export interface RefusalOptions {
  /** What the person is told instead. Author's text, not guarded. Default: the agent's `refusal`. */
  readonly reply?: string | undefined;
}

const allowed: Allow = Object.freeze({ action: 'allow' });
// A refusal stays a refusal where plain JavaScript forgot the words: throwing here could turn it into an `onError: 'allow'`.
const reasonOf = (reason: unknown): string => (typeof reason === 'string' && reason.trim() !== '' ? reason : 'No reason was given.');

/** Lets the subject cross as it is. */
export function allow(): Allow {
  return allowed;
}

/**
 * Puts something in the subject's place: a text, spans of its `content`, or (on `toolInput` and `toolOutput`) an object.
 * Only a guardrail's `rewrite` may answer with it. The reason does not quote what was replaced.
 */
export function rewrite<V>(value: V, reason: string): Rewrite<V> {
  return Object.freeze({ action: 'rewrite', value, reason: reasonOf(reason) });
}

/** Asks a person. Only on `toolInput`, `handoff` and `output`. */
export function ask(reason: string): AskVerdict {
  return Object.freeze({ action: 'ask', reason: reasonOf(reason) });
}

/**
 * Refuses this one thing and tells the model why. The reason is written for the model and for people, and does not quote what was refused.
 * Throws CONFIG_INVALID for an option that does not exist; thrown in a guardrail, that refuses no less.
 */
export function deny(reason: string, options?: RefusalOptions): Deny {
  return refusal('deny', reason, options);
}

/** Ends the run, and aborts all that is in flight. Throws as {@link deny} does. */
export function halt(reason: string, options?: RefusalOptions): Halt {
  return refusal('halt', reason, options);
}

const optionNames = ['reply'] as const;
const brand = Symbol.for('guardloop.refusal');

function refusal<A extends 'deny' | 'halt'>(action: A, reason: string, options: RefusalOptions | undefined) {
  const reply = property(options, 'reply');
  const made = Object.freeze({ action, reason: reasonOf(reason), ...(typeof reply === 'string' ? { reply } : {}) });
  if (typeof options !== 'object' || options === null || isList(options)) return made;
  try {
    new DefinitionReader({ place: `The refusal by ${action}` }, options, optionNames);
  } catch (thrown) {
    throw Object.defineProperty(thrown as Error, brand, { value: made });
  }
  return made;
}

/** The refusal that was meant by `deny` or `halt` with options that they refused; undefined for anything else that was thrown. */
export function refusalMeant(thrown: unknown): Deny | Halt | undefined {
  return property(thrown, brand) as Deny | Halt | undefined;
}

const order: readonly Action[] = ['allow', 'rewrite', 'ask', 'deny', 'halt'];

/** The answer that counts: halt, then deny, ask, rewrite, allow; of equal ones the first. Undefined of none. */
export function strictest<T extends { readonly action: Action }>(answers: readonly T[]): T | undefined {
  let result: T | undefined;
  for (const answer of answers) if (result === undefined || order.indexOf(answer.action) > order.indexOf(result.action)) result = answer;
  return result;
}
