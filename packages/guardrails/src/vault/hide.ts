import type { Span } from '@guardloop/core';
import type { FindInText, TextPlace } from '../text/finding.js';
import { apart } from '../text/finding.js';
import type { Conversation, PassingValue } from './conversation.js';
import type { PlaceholderLike } from './placeholders.js';
import { neutralised, placeholdersLike } from './placeholders.js';

/** What becomes of a text. */
export interface Hiding {
  readonly find: FindInText;
  readonly place: TextPlace;
  /** Whether what looks like a placeholder may stay as it is. */
  readonly keeps: (like: PlaceholderLike) => boolean;
  /** Of text that flows: what follows it may change what stands in its last `2 * window` characters. */
  readonly flowing?: { readonly run: string; readonly window: number } | undefined;
}
/** A span, and the kind of what it hides; undefined for what only looked like a placeholder. */
export interface HiddenSpan extends Span {
  readonly kind: string | undefined;
}

interface Piece {
  readonly start: number;
  readonly end: number;
  /** Undefined: it stays as it is. */
  readonly with?: string;
  readonly kind?: string;
}

/**
 * What of a text is replaced: what looks like a placeholder and is none of the vault's own, values that are known, and what is found anew. In
 * order, none over another.
 */
export async function hidden(conversation: Conversation, text: string, hiding: Hiding): Promise<readonly HiddenSpan[]> {
  const likes: readonly Piece[] = placeholdersLike(text).map((like) =>
    hiding.keeps(like) ? { start: like.start, end: like.end } : { start: like.start, end: like.end, with: neutralised(like) },
  );
  const known: readonly Piece[] = conversation.knownValues.find(text).map(({ start, end, placeholder }) => ({
    start,
    end,
    with: placeholder,
    kind: conversation.valueOf(placeholder)?.kind ?? 'value',
  }));
  const settled = merge(likes, known);
  const found = fit(apart(hiding.find(text, hiding.place)), settled);
  const values = found.map(({ start, end, kind }) => ({ kind, value: text.slice(start, end), state: stateOf(start, text.length, hiding) }));
  const { flowing } = hiding;
  const placeholders = await (flowing === undefined
    ? conversation.placeholdersFor(values)
    : conversation.placeholdersWhile(values, flowing.run));
  const fresh = found.map(({ start, end, kind }, index): Piece => ({ start, end, with: placeholders[index] ?? '', kind }));
  // What is found anew takes the room of known values inside it: a name in an address.
  return merge(fresh, settled).flatMap((piece) =>
    piece.with === undefined ? [] : [{ start: piece.start, end: piece.end, with: piece.with, kind: piece.kind }],
  );
}

function stateOf(start: number, length: number, { flowing }: Hiding): PassingValue['state'] {
  if (flowing === undefined) return 'whole';
  if (start >= length - 2 * flowing.window) return 'growing';
  return start === 0 ? 'headless' : 'whole';
}

const overlaps = (left: Piece, right: Piece): boolean => left.start < right.end && right.start < left.end;

/** Both in order; where two overlap the first list's stands. */
function merge(first: readonly Piece[], second: readonly Piece[]): readonly Piece[] {
  if (first.length === 0) return second;
  const merged: Piece[] = [];
  let at = 0;
  for (const piece of second) {
    for (let next = first[at]; next !== undefined && next.start < piece.end; next = first[at]) {
      merged.push(next);
      at += 1;
    }
    const last = merged.at(-1);
    if (last === undefined || !overlaps(last, piece)) merged.push(piece);
  }
  return [...merged, ...first.slice(at)];
}

interface Found {
  readonly start: number;
  readonly end: number;
  readonly kind: string;
}
/** What is left of a finding beside a placeholder is hidden from so many characters on. */
const leastRest = 3;

/**
 * Findings beside what is settled: one that touches a known value takes it in, so that no rest of either stays, unless the known value is all
 * of it; what a placeholder parts is hidden in pieces.
 */
function fit(found: readonly Found[], settled: readonly Piece[]): readonly Found[] {
  const fitted: Found[] = [];
  let at = 0;
  let last = 0;
  for (const finding of found) {
    if (finding.end <= last) continue;
    let { start, end } = { start: Math.max(finding.start, last), end: finding.end };
    while ((settled[at]?.end ?? Number.POSITIVE_INFINITY) <= start) at += 1;
    let isKnown = false;
    for (let index = at; !isKnown; index += 1) {
      const piece = settled[index];
      if (piece === undefined || piece.start >= end) break;
      if (piece.kind === undefined) {
        if (piece.start - start >= leastRest) fitted.push({ start, end: piece.start, kind: finding.kind });
        start = Math.max(start, piece.end);
        continue;
      }
      isKnown = piece.start <= start && piece.end >= end;
      start = Math.min(start, Math.max(piece.start, last));
      end = Math.max(end, piece.end);
    }
    const isWhole = start === finding.start && end === finding.end;
    if (!isKnown && (isWhole || end - start >= leastRest)) fitted.push({ start, end, kind: finding.kind });
    last = Math.max(last, end);
  }
  return fitted;
}
