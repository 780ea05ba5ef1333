import type { TextTarget } from './text-target.js';

/** Brackets within one destination: CommonMark asks for at least three, and a bound keeps time linear. Behind more the rest is not its part. */
const maxDepth = 6;
/** Of a label (CommonMark). */
const maxLabel = 999;

const backslash = 0x5c;
const isSpace = (code: number): boolean => code === 0x20 || (code >= 0x09 && code <= 0x0d);

/**
 * The destinations in a Markdown text: of links and images, and of reference definitions (footnotes too), which are images where an image
 * names their label. It sees more than a renderer does: what is not closed, what stands in code. Time grows with the length; never throws.
 */
export function markdownTargets(text: string): readonly TextTarget[] {
  const found: TextTarget[] = [];
  const definitions: { readonly label: string; readonly start: number; readonly end: number }[] = [];
  const imageLabels = new Set<string>();
  eachBracket(text, (opener, closer) => {
    const isImage = opener !== undefined && text.charCodeAt(opener - 1) === 0x21;
    const next = text.charCodeAt(closer + 1);
    const isDefinition = next === 0x3a && opener !== undefined && beginsLine(text, opener);
    const place = next === 0x28 || isDefinition ? destination(text, closer + 2) : undefined;
    if (isDefinition && place !== undefined) definitions.push({ ...place, label: labelOf(text, opener, closer) });
    else if (place !== undefined) found.push({ start: place.start, end: place.end, kind: isImage ? 'image' : 'link' });
    else if (isImage && next !== 0x28) imageLabels.add(imageLabel(text, opener, closer));
  });
  for (const { label, start, end } of definitions) found.push({ start, end, kind: imageLabels.has(label) ? 'image' : 'link' });
  return found;
}

/** Pairs of brackets, inner ones first; a closing one may stand alone. */
function eachBracket(text: string, see: (opener: number | undefined, closer: number) => void): void {
  const openers: number[] = [];
  const anchors = /[[\]\\]/g;
  for (let match = anchors.exec(text); match !== null; match = anchors.exec(text)) {
    if (match[0] === '\\') anchors.lastIndex = match.index + 2;
    else if (match[0] === '[') openers.push(match.index);
    else see(openers.pop(), match.index);
  }
}

/** `![words][label]`, `![label][]`, `![label]`. */
function imageLabel(text: string, opener: number, closer: number): string {
  if (text.charAt(closer + 1) === '[') {
    const end = text.slice(closer + 2, closer + 2 + maxLabel).search(/[[\]]/);
    if (end > 0) return labelOf(text, closer + 1, closer + 2 + end);
  }
  return labelOf(text, opener, closer);
}

/** Whether only white space and the marks of quotes and lists stand before it on its line: so there is one definition a line. */
function beginsLine(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - 64), at);
  return /(?:^|\n)[\s>*+.0-9-]*$/.test(before.slice(before.lastIndexOf('\n') + 1));
}

function labelOf(text: string, opener: number, closer: number): string {
  if (closer - opener > maxLabel) return '';
  return text
    .slice(opener + 1, closer)
    .trim()
    .replace(/\s+/g, ' ')
    .toLowerCase();
}

/** Undefined: none stands there, or it is a path of the page's own, which has no colon, no host and nothing encoded in it. */
function destination(text: string, from: number): { readonly start: number; readonly end: number } | undefined {
  let start = from;
  while (start < text.length && isSpace(text.charCodeAt(start))) start += 1;
  const isPointed = text.charCodeAt(start) === 0x3c;
  if (isPointed) start += 1;
  let depth = 0;
  let leads = false;
  let end = start;
  for (; end < text.length; end += 1) {
    const code = text.charCodeAt(end);
    if (isPointed ? code === 0x3c || code === 0x3e || code === 0x0a : code <= 0x20) break;
    leads ||=
      code === 0x3a ||
      code === backslash ||
      code === 0x26 ||
      code === 0x25 ||
      code > 0x7f ||
      (code === 0x2f && text.charCodeAt(end + 1) === 0x2f);
    if (code === backslash) end += 1;
    else if (code === 0x28 && !isPointed) depth += 1;
    else if (code === 0x29 && !isPointed) depth -= 1;
    if (depth < 0 || depth > maxDepth) break;
  }
  const last = Math.min(end, text.length);
  return leads && last > start ? { start, end: last } : undefined;
}
