import type { Message, ViewText } from '@guardloop/core';
import { markLeftOut } from './left-out.js';
import type { Transcript } from './transcript.js';

export type Seen = readonly (Message | ViewText)[];

interface Cut {
  /** Index of the first unit that is seen. */
  readonly cut: number;
  /** Units before this one are left out without a mark: a text tells of them. */
  readonly from?: number | undefined;
  /** Added to the marks. */
  readonly why?: string | undefined;
}

/** What is seen of the units before a cut: those that must stay, and a mark for each run of units that is left out. */
export function headOf(transcript: Transcript, { cut, from = 0, why }: Cut): Seen {
  const { units, list } = transcript;
  const head: (Message | ViewText)[] = [];
  const mark = (start: number, end: number): void => {
    const [first, last] = [units[start], units[end - 1]];
    if (start < end && first && last) head.push(markLeftOut({ from: first.from, to: last.to }, why));
  };
  let next = from;
  for (const kept of transcript.keptBefore(cut)) {
    if (kept >= next) {
      mark(next, kept);
      next = kept + 1;
    }
    const unit = units[kept];
    if (unit) head.push(...list.slice(unit.start, unit.end));
  }
  mark(next, cut);
  return head;
}

/** A head that is made again only when something in it changes. */
export class HeadOf {
  private cut = -1;
  private revision = -1;
  private head: Seen = [];

  /** The head, and all from the cut on. */
  see(transcript: Transcript, cut: number): Seen {
    if (cut !== this.cut || transcript.revision !== this.revision) {
      this.cut = cut;
      this.revision = transcript.revision;
      this.head = headOf(transcript, { cut });
    }
    return this.head.concat(transcript.list.slice(transcript.units[cut]?.start ?? transcript.list.length));
  }
}
