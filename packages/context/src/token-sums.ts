import type { CountText } from './tokens.js';
import { mostTokensOf, tokensOf } from './tokens.js';
import type { Transcript } from './transcript.js';

/** Units from one index to before another. */
type Span = readonly [from: number, to: number];

/** Tokens of the units of a transcript, each counted once, and only when its length does not tell enough. What it is asked of is closed. */
export class TokenSums {
  /** Tokens of the units before an index, as far as they are counted. */
  private readonly counted: number[] = [0];
  /** The same at most. */
  private readonly most: number[] = [0];

  between(transcript: Transcript, count: CountText, [from, to]: Span): number {
    extend(this.counted, transcript, { to, size: (message) => tokensOf(message, count) });
    return (this.counted[to] ?? 0) - (this.counted[from] ?? 0);
  }

  /** The same, or more where units are not counted yet. Counts nothing. */
  atMost(transcript: Transcript, [from, to]: Span): number {
    extend(this.most, transcript, { to, size: mostTokensOf });
    const { counted, most } = this;
    const middle = Math.max(from, Math.min(to, counted.length - 1));
    return (middle > from ? (counted[middle] ?? 0) - (counted[from] ?? 0) : 0) + (most[to] ?? 0) - (most[middle] ?? 0);
  }
}

interface Extent {
  readonly to: number;
  readonly size: (message: Transcript['list'][number]) => number;
}

function extend(sums: number[], { units, list }: Transcript, { to, size }: Extent): void {
  for (let index = sums.length - 1; index < to; index += 1) {
    const unit = units[index];
    let tokens = sums[index] ?? 0;
    for (let at = unit?.start ?? 0; at < (unit?.end ?? 0); at += 1) {
      const message = list[at];
      if (message) tokens += size(message);
    }
    sums.push(tokens);
  }
}
