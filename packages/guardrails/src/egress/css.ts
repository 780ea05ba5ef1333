import type { TextTarget } from './text-target.js';

/** `url(` with or without quotes, `image-set("…")`, `@import "…"`. Within one match no class follows itself, so linear. */
const loads = /(?:\b(?:url|src|image-set|image)\(\s*|@import\s+)(?:"([^"()\n]*)|'([^'()\n]*)|([^\s"'();]*))/gi;
/** An escape by number or of one character (CSS Syntax 4.3.7). */
const escapes = /\\(?:([0-9a-f]{1,6})\s?|([^\n\r\f0-9a-f]))/gi;

/** What a style loads. Time grows with the length; never throws. */
export function cssTargets(css: string): readonly TextTarget[] {
  if (!css.includes('\\')) return read(css);
  const plain = css.replace(escapes, (_, hex: string | undefined, letter: string | undefined) =>
    hex === undefined ? (letter ?? '') : fromHex(hex),
  );
  // Offsets do not fit any more: the whole style stands for each.
  return read(plain).map(({ start, end }) => ({ start: 0, end: css.length, kind: 'image', target: plain.slice(start, end) }));
}

function fromHex(hex: string): string {
  const code = Number.parseInt(hex, 16);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '';
}

function read(css: string): TextTarget[] {
  const found: TextTarget[] = [];
  for (const match of css.matchAll(loads)) {
    const target = match[1] ?? match[2] ?? match[3] ?? '';
    const end = match.index + match[0].length;
    if (target !== '') found.push({ start: end - target.length, end, kind: 'image' });
  }
  return found;
}
