import type { Awaitable, Guardrail, Subject, Surface } from '@guardloop/core';
import { optionFault } from '@guardloop/core/model';
import type { CanarySearch } from './canary-forms.js';
import { canarySearch } from './canary-forms.js';
import type { RefusingOptions } from './refusing-guardrail.js';
import { checkRefusingOptions, refusingGuardrail } from './refusing-guardrail.js';
import { textsOf } from './subject-texts.js';

/** Options of {@link canary}. */
export interface CanaryOptions<C, S extends Surface = Surface> extends RefusingOptions<S> {
  /** Default `['output', 'toolInput', 'handoff']`: where instructions leave. */
  readonly on?: readonly S[] | undefined;
  /**
   * Names what a token is for, of the run's context: a request, a session, a tenant. Each gets a token of its own, made of `key`, so that a leak
   * tells whose it was. Asked where instructions are made and where text is looked at: it must give the same for a run. Default: one token.
   */
  readonly per?: ((context: C) => string) | undefined;
  /** A secret text of 16 characters or more, the same in all processes that serve one session. Default: random, for this process. */
  readonly key?: string | undefined;
  /** The line that carries the token. Default `Mark of these instructions: TOKEN`. */
  readonly line?: ((token: string) => string) | undefined;
}

/** A mark in instructions, and the guardrail that finds it. */
export interface Canary<C, S extends Surface> {
  readonly guardrail: Guardrail<C, S>;
  /** Puts the mark under the instructions: to be given as an agent's `instructions`. */
  readonly marked: (
    instructions: string | ((info: { readonly context: C; readonly signal: AbortSignal }) => Awaitable<string>),
  ) => (info: { readonly context: C; readonly signal: AbortSignal }) => Promise<string>;
  /** The token itself: for your own search of logs and of the web. */
  readonly token: (context: C) => Promise<string>;
}

const ownNames = ['per', 'key', 'line'] as const;
const alphabet = 'abcdefghijkmnpqrstuvwxyz23456789';
/** 24 characters of 5 bits: each half is 60 bits, which no text has by chance. */
const tokenChars = 24;
const leastKey = 16;
const mostKnown = 1_000;

/**
 * A token in an agent's instructions, and a guardrail that finds it, or half of it, in what leaves: as it is, in another case, spaced, split by
 * anything or over the fields of a call, reversed, by rot13, in hex, percent and character codes, in base64 once and twice. It tells that
 * instructions leak word for word, never that they do not: see {@link leak}. Throws CONFIG_INVALID.
 */
export function canary<C = unknown, const S extends Surface = 'output' | 'toolInput' | 'handoff'>(
  options: CanaryOptions<C, S> = {},
): Canary<C, S> {
  const kind = { name: 'canary', on: ['output', 'toolInput', 'handoff'] as const, options: ownNames };
  checkRefusingOptions(kind, options);
  const { per, key, line = (token: string) => `Mark of these instructions: ${token}` } = options;
  const where = 'canary(…)';
  for (const [name, value] of Object.entries({ per, line }))
    if (value !== undefined && typeof value !== 'function') throw optionFault(where, `${name} is no function. Give one, or leave it out.`);
  if (key !== undefined && (typeof key !== 'string' || key.length < leastKey))
    throw optionFault(where, `key is no text of ${leastKey} characters or more. Give a secret, or leave it out for a random one.`);
  const tokens = new Tokens(key ?? randomKey());
  const searchFor = (context: C): Promise<CanarySearch> => tokens.of(per === undefined ? '' : nameOf(per(context)));
  const guardrail = refusingGuardrail<C, S>(
    {
      ...kind,
      reason: async (subject, { context }) => {
        const { isIn } = await searchFor(context);
        const texts = textsOf(subject);
        // Each by itself, and all in a row: what is split over fields stands together then.
        const found =
          isIn(subject.content) ||
          (texts.length > 1 && isIn(texts.join(''))) ||
          texts.some((text) => text !== subject.content && isIn(text));
        return found ? `it holds a part of the instructions of this assistant, which ${wordsFor(subject)}` : undefined;
      },
    },
    options,
  );
  return Object.freeze<Canary<C, S>>({
    guardrail,
    marked: (instructions) => async (info) => {
      const text = typeof instructions === 'function' ? await instructions(info) : instructions;
      const { token } = await searchFor(info.context);
      const marked = line(token);
      if (typeof marked !== 'string' || !marked.includes(token))
        throw optionFault(where, 'line made a text without the token. Give a function that puts it in.');
      return `${text}\n\n${marked}`;
    },
    token: async (context) => (await searchFor(context)).token,
  });
}

const wordsFor = (subject: Subject): string => (subject.surface === 'output' ? 'are not told to anyone' : 'may not leave');

function nameOf(given: unknown): string {
  if (typeof given !== 'string') throw new TypeError('per gave no text');
  return given;
}

function randomKey(): string {
  return Array.from(globalThis.crypto.getRandomValues(new Uint8Array(32)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Tokens by what they are for: made once each, the oldest forgotten and made anew alike. */
class Tokens {
  private readonly known = new Map<string, Promise<CanarySearch>>();
  private imported: Promise<CryptoKey> | undefined;
  constructor(private readonly key: string) {}

  of(name: string): Promise<CanarySearch> {
    const known = this.known.get(name);
    if (known !== undefined) return known;
    const made = this.make(name);
    if (this.known.size >= mostKnown)
      for (const oldest of this.known.keys()) {
        this.known.delete(oldest);
        break;
      }
    this.known.set(name, made);
    return made;
  }

  private async make(name: string): Promise<CanarySearch> {
    const encoder = new TextEncoder();
    const { subtle } = globalThis.crypto;
    this.imported ??= subtle.importKey('raw', encoder.encode(this.key), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
    const bytes = new Uint8Array(await subtle.sign('HMAC', await this.imported, encoder.encode(`canary/${name}`)));
    let token = '';
    for (const byte of bytes.subarray(0, tokenChars)) token += alphabet.charAt(byte & 31);
    return canarySearch(token);
  }
}
