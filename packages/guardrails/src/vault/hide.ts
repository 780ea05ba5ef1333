import type { Span } from '@guardloop/core';
import type { FindInText, TextPlace } from '../text/finding.js';
import { apart } from '../text/finding.js';
import type { Conversation, NewValue, PassingValue } from './conversation.js';
import type { PlaceholderLike } from './placeholders.js';
import { neutralised, placeholdersLike } from './placeholders.js';

/** What becomes of a text. */
export interface Hiding {
  readonly find: FindInText;
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
  /** A known value, in letters that mean another one of its kind. */
  readonly isLoose?: boolean;
}

/** A text, and what it is looked at for. */
export interface HidingText {
  readonly text: string;
  readonly place: TextPlace;
}

interface Plan {
  /** What looks like a placeholder, and known values. */
  readonly settled: readonly Piece[];
  /** What is found anew. */
  readonly found: readonly Found[];
}

/**
 * What of some texts is replaced: what looks like a placeholder and is none of the vault's own, values that are known, and what is found anew; of
 * each in order, none over another. All that is found is put away at once; what was found in one is then known in the others. Nothing is waited
 * for where nothing is found.
 */
export function hiddenIn(
  conversation: Conversation,
  texts: readonly HidingText[],
  hiding: Hiding,
): readonly (readonly HiddenSpan[])[] | Promise<readonly (readonly HiddenSpan[])[]> {
  const plans = texts.map((one) => planOf(conversation, one, hiding));
  const { flowing } = hiding;
  if (flowing !== undefined) return hiddenWhile(conversation, { plans, texts }, flowing);
  if (plans.every(({ found }) => found.length === 0)) return plans.map(({ settled }) => spansOf(settled));
  return hiddenAnew(conversation, { plans, texts }, hiding);
}

interface Planned {
  readonly plans: readonly Plan[];
  readonly texts: readonly HidingText[];
}

async function hiddenAnew(
  conversation: Conversation,
  { plans, texts }: Planned,
  hiding: Hiding,
): Promise<readonly (readonly HiddenSpan[])[]> {
  await conversation.placeholdersFor(valuesOf({ plans, texts }));
  const again = texts.map((one) => planOf(conversation, one, hiding));
  return finished({ plans: again, texts }, await conversation.placeholdersFor(valuesOf({ plans: again, texts })));
}

async function hiddenWhile(
  conversation: Conversation,
  planned: Planned,
  { run, window }: NonNullable<Hiding['flowing']>,
): Promise<readonly (readonly HiddenSpan[])[]> {
  const values = planned.plans.flatMap(({ found }, index) => {
    const { text } = planned.texts[index] ?? { text: '' };
    return found.map(({ start, end, kind }) => ({ kind, value: text.slice(start, end), state: stateOf(start, text.length, window) }));
  });
  return finished(planned, await conversation.placeholdersWhile(values, run));
}

function valuesOf({ plans, texts }: Planned): readonly NewValue[] {
  return plans.flatMap(({ found }, index) =>
    found.map(({ start, end, kind }) => ({ kind, value: texts[index]?.text.slice(start, end) ?? '' })),
  );
}

/** `placeholders` of all that was found, in order. */
function finished({ plans }: Planned, placeholders: readonly string[]): readonly (readonly HiddenSpan[])[] {
  let at = 0;
  return plans.map(({ settled, found }) => {
    const fresh = found.map(({ start, end, kind }, index): Piece => ({ start, end, with: placeholders[at + index] ?? '', kind }));
    at += found.length;
    // What is found anew takes the room of known values inside it: a name in an address.
    return spansOf(merge(fresh, settled));
  });
}

const spansOf = (pieces: readonly Piece[]): readonly HiddenSpan[] =>
  pieces.flatMap((piece) => (piece.with === undefined ? [] : [{ start: piece.start, end: piece.end, with: piece.with, kind: piece.kind }]));

function planOf(conversation: Conversation, { text, place }: HidingText, { find, keeps }: Hiding): Plan {
  const likes: readonly Piece[] = placeholdersLike(text).map((like) =>
    keeps(like) ? { start: like.start, end: like.end } : { start: like.start, end: like.end, with: neutralised(like) },
  );
  const known: readonly Piece[] = conversation.knownValues.find(text).map(({ start, end, placeholder }) => {
    const kind = conversation.valueOf(placeholder)?.kind ?? 'value';
    return { start, end, with: placeholder, kind, isLoose: !conversation.isAlike(placeholder, text.slice(start, end)) };
  });
  const settled = merge(likes, known);
  return { settled, found: fit(apart(find(text, place)), settled) };
}

function stateOf(start: number, length: number, window: number): PassingValue['state'] {
  if (start >= length - 2 * window) return 'growing';
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
      isKnown = piece.start <= start && piece.end >= end && piece.isLoose !== true;
      start = Math.min(start, Math.max(piece.start, last));
      end = Math.max(end, piece.end);
    }
    const isWhole = start === finding.start && end === finding.end;
    if (!isKnown && (isWhole || end - start >= leastRest)) fitted.push({ start, end, kind: finding.kind });
    last = Math.max(last, end);
  }
  return fitted;
}
