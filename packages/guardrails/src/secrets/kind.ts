/** Areas by which kinds of secrets are chosen. */
export type SecretGroup =
  | 'ai'
  | 'business'
  | 'chat'
  | 'cloud'
  | 'code'
  | 'data'
  | 'generic'
  | 'identity'
  | 'infrastructure'
  | 'keys'
  | 'mail'
  | 'monitoring'
  | 'payments'
  | 'urls';

interface KindBase {
  /** Stands in reasons and placeholders: `github-pat`. */
  readonly id: string;
  /** What it is, for people. */
  readonly words: string;
  readonly group: SecretGroup;
  /** Bits per character that the secret part has at least (Shannon). Left out: no floor. */
  readonly entropy?: number;
  /** A letter and a digit stand in it. */
  readonly mixed?: true;
  /** Refuses what the format rules out beyond its shape. */
  readonly check?: (value: string) => boolean;
  /** A right checksum: it is one, however it looks. A wrong one proves nothing, since vendors change formats. */
  readonly proof?: (value: string) => boolean;
  /** What is usually a stand-in, such as a run of `x`, counts too. */
  readonly keepsPlaceholders?: true;
  /** May be longer than {@link longestShortSecret}. */
  readonly long?: true;
}

/** A literal beginning, then so many characters of an alphabet. */
export interface PrefixKind extends KindBase {
  readonly starts: readonly string[];
  /** Body of a character class: `A-Za-z0-9`. */
  readonly of: string;
  /** How many follow: so many, or from and to. */
  readonly length: number | readonly [number, number];
}

/** A pattern that is tried where one of its keywords stands. */
export interface PatternKind extends KindBase {
  readonly keywords: readonly string[];
  /** Matched from the keyword on (or from `back`). Linear: every repetition is bounded, neighbours share no characters or need no way back. */
  readonly pattern: RegExp;
  /** Where it begins before the keyword: so many characters, or all (up to `max`) of an alphabet. */
  readonly back?: number | { readonly of: string; readonly max: number };
  /** Group that is the secret. Default 0. */
  readonly secret?: number;
  /** It may stand right behind a letter or digit. */
  readonly inWord?: true;
}

/** A value without a mark of its own, known by the name that it is assigned to. */
export interface NamedKind extends KindBase {
  /** One of these stands in the name, in lower case without punctuation: `datadogapikey`. All words of an inner list must stand in it. */
  readonly names: readonly (string | readonly string[])[];
  /** Body of a character class. */
  readonly of: string;
  readonly length: number | readonly [number, number];
}

/** One kind of secret, as data. */
export type SecretKind = PrefixKind | PatternKind | NamedKind;

/** Characters. What may be longer has `long: true` and is left out where answers are to flow. */
export const longestShortSecret = 1_000;

export const alphanumeric = 'A-Za-z0-9';
export const hex = '0-9a-f';
export const anyHex = '0-9A-Fa-f';
export const wordLike = '-A-Za-z0-9_';
export const base64 = 'A-Za-z0-9+/';
