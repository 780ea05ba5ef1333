import type { Span } from '../define/types.js';

/** Applies what a rewrite gave to a text: text, or spans of it. Undefined when it makes no sense: not in order, overlapping, outside, or cutting a character. */
export function rewriteText(content: string, by: unknown): string | undefined {
  if (typeof by === 'string') return by;
  const spans = readSpans(by, content);
  if (spans === undefined) return undefined;
  return applySpans(content, spans);
}

/** The spans of a text in order. Undefined when they make no sense. */
export function readSpans(by: unknown, content: string): readonly Span[] | undefined {
  if (!Array.isArray(by)) return undefined;
  const spans: Span[] = [];
  for (const each of by as unknown[]) {
    if (typeof each !== 'object' || each === null) return undefined;
    const { start, end, with: replacement } = each as { start?: unknown; end?: unknown; with?: unknown };
    if (!Number.isInteger(start) || !Number.isInteger(end) || typeof replacement !== 'string') return undefined;
    spans.push({ start: start as number, end: end as number, with: replacement });
  }
  spans.sort((left, right) => left.start - right.start || left.end - right.end);
  let last = 0;
  for (const { start, end } of spans) {
    if (start < last || end < start || end > content.length || cutsCharacter(content, start) || cutsCharacter(content, end))
      return undefined;
    last = end;
  }
  return spans;
}

export function applySpans(content: string, spans: readonly Span[]): string {
  let text = '';
  let at = 0;
  for (const span of spans) {
    text += content.slice(at, span.start) + span.with;
    at = span.end;
  }
  return text + content.slice(at);
}

/** Whether a cut at this place would part a surrogate pair. */
export function cutsCharacter(text: string, at: number): boolean {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff;
}
