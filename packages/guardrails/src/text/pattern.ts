// Regular expressions on outside text: matched in linear time, whatever the text is.
import { RE2JS } from 're2js';

/** A compiled expression. */
export interface Pattern {
  /** All matches between two offsets, left to right, none over another. `groups[0]` is the whole; a group that took no part is undefined. */
  matches(text: string, from?: number, to?: number): readonly PatternMatch[];
}
export interface PatternMatch {
  readonly start: number;
  readonly end: number;
  readonly groups: readonly (string | undefined)[];
  /** Offsets of a group; undefined where it took no part. */
  place(group: number): { readonly start: number; readonly end: number } | undefined;
}

/** Compiles an expression in the syntax of RE2: no look-around, no back-references. Throws what re2js throws for one that is none. */
export function compilePattern(source: string, flags: { readonly ignoreCase?: boolean } = {}): Pattern {
  const compiled = RE2JS.compile(source, flags.ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
  return {
    matches(text, from = 0, to = text.length) {
      const matcher = compiled.matcher(from === 0 && to === text.length ? text : text.slice(from, to));
      const found: PatternMatch[] = [];
      while (matcher.find()) {
        const count = matcher.groupCount();
        const starts = Array.from({ length: count + 1 }, (_, group) => matcher.start(group));
        const ends = starts.map((_, group) => matcher.end(group));
        found.push({
          start: from + matcher.start(),
          end: from + matcher.end(),
          groups: starts.map((start, group) => (start < 0 ? undefined : (matcher.group(group) ?? undefined))),
          place: (group) => {
            const start = starts[group];
            const end = ends[group];
            return start === undefined || end === undefined || start < 0 ? undefined : { start: from + start, end: from + end };
          },
        });
      }
      return found;
    },
  };
}
