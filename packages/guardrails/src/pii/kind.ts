/** Areas by which kinds of personal data are chosen. */
export type PiiGroup = 'address' | 'contact' | 'finance' | 'identity' | 'network' | 'person';

/** A kind of personal data that a pattern, a checksum and words near it make out. */
export interface PiiKind {
  /** Stands in reasons and placeholders: `us-ssn`. */
  readonly id: string;
  /** What it is, for people. */
  readonly words: string;
  readonly group: PiiGroup;
  /** ISO 3166 code of the country whose number it is. */
  readonly region?: string;
  /** Global; on folded text. Linear: bounded, with an edge before it, so that a run of digits is tried once. */
  readonly pattern: RegExp;
  /** Told the match without spaces, dots, dashes and slashes, letters in upper case, and the match as it stands. */
  readonly check?: (compact: string, written: string) => boolean;
  /** In lower case without accents: one stands within 80 characters before or 40 after, or in the name of the field. */
  readonly context?: readonly string[];
  /** The shape in which it needs no `context`. */
  readonly plain?: RegExp;
}

/** Characters before and behind a match in which a word of context counts. */
export const contextBefore = 80;
export const contextAfter = 40;
