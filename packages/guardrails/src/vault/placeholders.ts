// What placeholders look like: `[EMAIL_1]`, `[EMAIL_K7Q2M9XW]`.

/** Characters of the longest placeholder. */
export const longestPlaceholder = 64;
const longestKind = 40;

/** What stands before the number: `EMAIL` of `email`, `AWS_ACCESS_KEY` of `aws-access-key`. */
export function labelOf(kind: string): string {
  const label = kind
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^[^A-Z]+/, '')
    .slice(0, longestKind)
    .replace(/_$/, '');
  return label === '' ? 'VALUE' : label;
}

export const placeholderOf = (kind: string, mark: string | number): string => `[${labelOf(kind)}_${mark}]`;

/** Something that looks like a placeholder. */
export interface PlaceholderLike {
  readonly start: number;
  readonly end: number;
  /** The placeholder that a reader would take it for. */
  readonly placeholder: string;
  /** `EMAIL` */
  readonly label: string;
  /** It is written just so. */
  readonly isExact: boolean;
}

const openers: ReadonlySet<string> = new Set(['[', '［', '〔', '【', '⟦', '❲', '﹝']);
const closers: ReadonlySet<string> = new Set([']', '］', '〕', '】', '⟧', '❳', '﹞']);
// Each matches one character.
const ignored = /[\s\p{Cf}\p{M}\\]/u;
const wordLike = /[\p{L}\p{N}_\-‐‑–]/u;
const exactName = /^[A-Z][A-Z0-9_]*$/;
/** Letters, then a number, or a mark in Crockford's base32: `[NOTE]` and `[SEE_BELOW]` are none. */
const nameLike = /^([A-Z][A-Z0-9_]*)_(?:[0-9]{1,7}|[0-9A-HJKMNP-TV-Z]{8}|[0-9A-HJKMNP-TV-Z]{16})$/;
const longestLike = 200;

/**
 * All that looks like a placeholder to a reader: in other brackets or cases, in full width, spaced, with invisible characters in it. Linear:
 * after each bracket at most 200 characters are looked at, up to the next bracket.
 */
export function placeholdersLike(text: string): readonly PlaceholderLike[] {
  const found: PlaceholderLike[] = [];
  for (let at = 0; at < text.length; at += 1) {
    if (!openers.has(text.charAt(at))) continue;
    const like = likeAt(text, at);
    if (like === undefined) continue;
    found.push(like);
    at = like.end - 1;
  }
  return found;
}

function likeAt(text: string, start: number): PlaceholderLike | undefined {
  let name = '';
  let isPlain = text.charAt(start) === '[';
  const last = Math.min(text.length, start + longestLike);
  for (let at = start + 1; at < last; ) {
    const code = text.codePointAt(at) ?? 0;
    const character = String.fromCodePoint(code);
    if (closers.has(character)) {
      const label = nameLike.exec(name)?.[1];
      if (label === undefined) return undefined;
      const isExact = isPlain && character === ']' && exactName.test(text.slice(start + 1, at));
      return { start, end: at + 1, placeholder: `[${name}]`, label, isExact };
    }
    if (ignored.test(character)) isPlain = false;
    else if (!wordLike.test(character)) return undefined;
    else name += plainCharacter(character);
    if (name.length > longestPlaceholder) return undefined;
    at += character.length;
  }
  return undefined;
}

const plainCharacter = (character: string): string => (/[-‐‑–]/.test(character) ? '_' : character.normalize('NFKC').toUpperCase());

/** What stands in the place of a text that only looks like a placeholder: readable, and nothing that is put back. */
export const neutralised = ({ placeholder }: PlaceholderLike): string => `(${placeholder.slice(1, -1)})`;

// One bounded class: linear.
const exact = /\[[A-Z][A-Z0-9_]{1,61}\]/g;

/** Replaces placeholders that are written exactly so; `put` gives undefined for what is none. */
export function replacePlaceholders(text: string, put: (placeholder: string) => string | undefined): string {
  return text.replace(exact, (placeholder) => put(placeholder) ?? placeholder);
}

/** How much of a text can be shown when more of it will follow: up to a bracket behind which a placeholder may be growing. */
export function settledLength(text: string): number {
  const open = text.lastIndexOf('[');
  if (open < 0 || text.length - open >= longestPlaceholder) return text.length;
  return /^\[(?:[A-Z][A-Z0-9_]*)?$/.test(text.slice(open)) ? open : text.length;
}
