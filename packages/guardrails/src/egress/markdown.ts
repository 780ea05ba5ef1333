import type { TextTarget } from './text-target.js';

/** Brackets within one destination: CommonMark asks for at least three, and a bound keeps time linear. */
const maxDepth = 32;
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
  for (const { opener, closer } of brackets(text)) {
    const isImage = opener !== undefined && text.charAt(opener - 1) === '!';
    const next = text.charAt(closer + 1);
    const isDefinition = next === ':' && opener !== undefined && beginsLine(text, opener);
    const place = next === '(' || isDefinition ? destination(text, closer + 2) : undefined;
    if (next === '(' && place !== undefined) found.push({ ...place, kind: isImage ? 'image' : 'link' });
    if (opener === undefined) continue;
    if (isDefinition && place !== undefined) definitions.push({ ...place, label: labelOf(text, opener, closer) });
    else if (isImage && next !== '(') imageLabels.add(imageLabel(text, opener, closer));
  }
  for (const { label, start, end } of definitions) found.push({ start, end, kind: imageLabels.has(label) ? 'image' : 'link' });
  return found;
}

/** Pairs of brackets, inner ones first; a closing one may stand alone. */
function* brackets(text: string): Generator<{ readonly opener: number | undefined; readonly closer: number }> {
  const openers: number[] = [];
  const anchors = /[[\]\\]/g;
  for (let match = anchors.exec(text); match !== null; match = anchors.exec(text)) {
    if (match[0] === '\\') anchors.lastIndex = match.index + 2;
    else if (match[0] === '[') openers.push(match.index);
    else yield { opener: openers.pop(), closer: match.index };
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

function destination(text: string, from: number): { readonly start: number; readonly end: number } | undefined {
  let start = from;
  while (start < text.length && isSpace(text.charCodeAt(start))) start += 1;
  if (text.charAt(start) === '<') {
    const pointed = /[^<>\n\\]*(?:\\[^\n][^<>\n\\]*)*/y;
    pointed.lastIndex = start + 1;
    const end = start + 1 + (pointed.exec(text)?.[0].length ?? 0);
    return end > start + 1 ? { start: start + 1, end } : undefined;
  }
  let depth = 0;
  let end = start;
  for (; end < text.length; end += 1) {
    const code = text.charCodeAt(end);
    if (code <= 0x20) break;
    if (code === backslash) end += 1;
    else if (code === 0x28) {
      depth += 1;
      if (depth > maxDepth) break;
    } else if (code === 0x29) {
      depth -= 1;
      if (depth < 0) break;
    }
  }
  const last = Math.min(end, text.length);
  return last > start ? { start, end: last } : undefined;
}
