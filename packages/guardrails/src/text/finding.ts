import type { Surface } from '@guardloop/core';

/** Something that a text guardrail has found in a text. */
export interface TextFinding {
  /** UTF-16 offset in the text that was looked at. */
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
  /** What kind of thing, for reasons and placeholders: `aws-access-key`, `email`. Never the value. */
  readonly kind: string;
  /** Put in its place where it is redacted. Default: the guardrail's `placeholder`. */
  readonly with?: string | undefined;
}

/** Where a text that is looked at stands. */
export interface TextPlace {
  readonly surface: Surface;
  /** The nearest name of a field, where the text is a value (or a name) in JSON. Of outside data it is outside text. */
  readonly key?: string | undefined;
}

/** Looks at one text, in time that grows with its length. Offsets may overlap and stand in any order; it never throws on text. */
export type FindInText = (text: string, place: TextPlace) => readonly TextFinding[];

/**
 * What an author's own finder gave. Throws TypeError, which refuses, where that is no list of findings in the text, such as a promise: nothing
 * of it would be hidden.
 */
export function checkedFindings(given: unknown, text: string): readonly TextFinding[] {
  if (!Array.isArray(given)) throw new TypeError('a finder gave no list of findings; it answers at once, without a promise');
  for (const finding of given as readonly unknown[]) {
    const { start, end, kind } = (finding ?? {}) as Partial<Record<keyof TextFinding, unknown>>;
    const isWithin = Number.isInteger(start) && Number.isInteger(end) && (start as number) >= 0 && (end as number) <= text.length;
    if (!isWithin || (start as number) > (end as number) || typeof kind !== 'string')
      throw new TypeError('a finder gave something else than { start, end, kind } with offsets within the text');
  }
  return given as readonly TextFinding[];
}

/** A {@link FindInText} for texts that cross no surface. Default of `surface`: `input`. */
export type SearchInText = (text: string, place?: Partial<TextPlace>) => readonly TextFinding[];

/** The same search, for which nobody has to say where the text stands. */
export const searchAlone =
  (find: FindInText): SearchInText =>
  (text, place) =>
    find(text, { surface: 'input', ...place });

/** In order of their place, none over another: of two that overlap the one that begins first stands, of two that begin alike the longer. */
export function apart<F extends { readonly start: number; readonly end: number }>(findings: readonly F[]): readonly F[] {
  if (findings.length < 2) return findings;
  const sorted = [...findings].sort((left, right) => left.start - right.start || right.end - left.end);
  const kept: F[] = [];
  let last = 0;
  for (const finding of sorted) {
    if (finding.start < last) continue;
    kept.push(finding);
    last = finding.end;
  }
  return kept;
}

/**
 * In order of their place, none over another, and together over all that was found: of two that overlap the one that begins later gives up
 * what both cover. No finding grows. For findings whose text is put away whole, where a rest would tell something.
 */
export function covering(findings: readonly TextFinding[]): readonly TextFinding[] {
  if (findings.length < 2) return findings;
  const sorted = [...findings].sort((left, right) => left.start - right.start || right.end - left.end);
  const kept: TextFinding[] = [];
  let last = 0;
  for (const finding of sorted) {
    if (finding.end <= last) continue;
    kept.push(finding.start < last ? { ...finding, start: last } : finding);
    last = finding.end;
  }
  return kept;
}
