import type { Message, ViewText } from '@guardloop/core';

/** Messages of a conversation, by their number from 1, the last one included. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** What marks stand for: the texts of views, and the messages that stand for these between two views. */
const ranges = new WeakMap<ViewText | Message, Range>();

/** What a mark takes at most, its frame included. */
export const markTokens = 40;

/** "Messages 3 to 8". */
export const nameRange = ({ from, to }: Range): string =>
  from === to ? `message ${from}` : `messages ${from} to ${to} (${to - from + 1} messages)`;

/**
 * Says how much was left out. Holds nothing of it: numbers alone. No two marks of one transcript are equal, since the same text given twice
 * is sent once.
 */
export function markLeftOut(range: Range, why = ''): ViewText {
  const mark = { text: `[Left out here: ${nameRange(range)} of this conversation${why}.]` };
  ranges.set(mark, range);
  return mark;
}

/** What a mark stands for; undefined for any other text or message. */
export const leftOutBy = (mark: ViewText | Message): Range | undefined => ranges.get(mark);

/** Lets a message or a text stand for what a mark stands for, if it is one. */
export function standForMark(message: Message | ViewText, mark: ViewText): void {
  const range = ranges.get(mark);
  if (range !== undefined) ranges.set(message, range);
}
