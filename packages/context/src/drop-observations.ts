import type { Message, View, ViewText } from '@guardloop/core';
import { checkOptionNames } from '@guardloop/core/model';
import { follower } from './follow.js';
import { oldTurns } from './last-turns.js';
import { leftOutBy, markLeftOut } from './left-out.js';
import { checkWhole } from './options.js';
import type { Transcript } from './transcript.js';

/** Options of {@link dropObservations}. */
export interface DropObservationsOptions {
  /** Turns: calls and results of the last so many are seen. */
  readonly olderThan: number;
  /** How many turns are cut at once. Default 1. As in `lastTurns`, more keeps the beginning of requests the same for longer. */
  readonly step?: number | undefined;
}

/** What is seen of the units before `next`; the last entry may be a mark that still grows, from the unit `gap`. */
interface Kept {
  readonly seen: (Message | ViewText)[];
  next: number;
  gap: number | undefined;
  isCut: boolean;
  /** What other views left out is in the mark at the end. */
  isMixed: boolean;
}

/**
 * Leaves out calls with their results in older turns; what was said stays. An answer goes with its calls, its text too, since a model is
 * never shown a call without its result. Throws CONFIG_INVALID where a number is none.
 */
export function dropObservations<C = unknown>(options: DropObservationsOptions): View<C> {
  checkOptionNames('dropObservations(…)', options, { olderThan: true, step: true } satisfies {
    readonly [K in keyof DropObservationsOptions]-?: true;
  });
  const { olderThan, step = 1 } = options;
  checkWhole('dropObservations: olderThan', olderThan);
  checkWhole('dropObservations: step', step, 1);
  const { follow } = follower<Kept>({ begin: () => ({ seen: [], next: 0, gap: undefined, isCut: false, isMixed: false }) });
  return (messages, info) => {
    const { transcript, state } = follow(messages, info);
    const cut = oldTurns(transcript, olderThan, step);
    while (state.next < cut) pass(transcript, state);
    return state.isCut ? state.seen.concat(transcript.list.slice(transcript.units[state.next]?.start)) : messages;
  };
}

/** Takes the next unit into what is seen, or into the mark at its end. */
function pass({ units, list }: Transcript, state: Kept): void {
  const index = state.next;
  state.next += 1;
  const unit = units[index];
  if (unit === undefined) return;
  const isMark = unit.kind === 'mark' && state.gap !== undefined;
  if (unit.kind !== 'calls' && !isMark) {
    state.gap = undefined;
    state.seen.push(...list.slice(unit.start, unit.end));
    return;
  }
  state.isCut = true;
  const before = state.seen.at(-1);
  const open = before && leftOutBy(before);
  if (state.gap === undefined) state.isMixed = open !== undefined;
  if (isMark) state.isMixed = true;
  if (open !== undefined) state.seen.pop();
  state.gap ??= index;
  state.seen.push(markLeftOut({ from: open?.from ?? unit.from, to: unit.to }, state.isMixed ? '' : ', calls with their results'));
}
