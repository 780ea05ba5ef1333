/** Units looked at on either side of a cut. A grapheme longer than this is cut between code points. */
const windowUnits = 512;

let segmenter: Intl.Segmenter | undefined;

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
/** Flags are pairs of these; where one starts depends on how many stand before it. */
const isRegionalIndicator = (codePoint: number | undefined): boolean =>
  codePoint !== undefined && codePoint >= 0x1f1e6 && codePoint <= 0x1f1ff;

const splitsPair = (text: string, index: number): boolean => isHigh(text.charCodeAt(index - 1)) && isLow(text.charCodeAt(index));

function windowStart(text: string, index: number): number {
  let start = Math.max(0, index - windowUnits);
  if (start > 0 && splitsPair(text, start)) start -= 1;
  while (start >= 2 && isRegionalIndicator(text.codePointAt(start)) && isRegionalIndicator(text.codePointAt(start - 2))) start -= 2;
  return start;
}

/** The grapheme that holds the unit at `index`; a single code point where no grapheme ends in sight. */
function graphemeAt(text: string, index: number): { readonly start: number; readonly end: number } {
  const from = windowStart(text, index);
  const to = Math.min(text.length, index + windowUnits);
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  const segment = segmenter.segment(text.slice(from, to)).containing(index - from);
  const start = from + (segment?.index ?? 0);
  const end = start + (segment?.segment.length ?? 0);
  if ((start > from || from === 0) && (end < to || to === text.length)) return { start, end };
  const codePointStart = splitsPair(text, index) ? index - 1 : index;
  return { start: codePointStart, end: splitsPair(text, codePointStart + 1) ? codePointStart + 2 : codePointStart + 1 };
}

/** The last place at or before `index` where a well-formed text may be cut without parting a character as people see it. */
export function cutBefore(text: string, index: number): number {
  if (index <= 0) return 0;
  return index >= text.length ? text.length : graphemeAt(text, index).start;
}

/** The first such place at or after `index`. */
export function cutAfter(text: string, index: number): number {
  if (index <= 0) return 0;
  if (index >= text.length) return text.length;
  const { start, end } = graphemeAt(text, index);
  return start === index ? index : end;
}
