import type { View } from '@guardloop/core';
import { checkOptionNames } from '@guardloop/core/model';
import { HeadOf } from './cut.js';
import { follower } from './follow.js';
import { checkWhole } from './options.js';

/** Options of {@link lastTurns}. */
export interface LastTurnsOptions {
  /**
   * How many turns are cut at once. Default 1: exactly the last `n` are seen. With 10 there are `n` to `n + 9`, and the beginning of the
   * request stays the same for ten turns, which is what caches of providers need.
   */
  readonly step?: number | undefined;
}

/**
 * The last `n` turns: answers of the model, each with the results of its calls and with what the user said before it. 0: none but the
 * current one. Throws CONFIG_INVALID.
 */
export function lastTurns<C = unknown>(n: number, options: LastTurnsOptions = {}): View<C> {
  checkOptionNames('lastTurns(…)', options, { step: true } satisfies { readonly [K in keyof LastTurnsOptions]-?: true });
  const { step = 1 } = options;
  checkWhole('lastTurns: the number of turns', n);
  checkWhole('lastTurns: step', step, 1);
  const { follow } = follower({ begin: () => new HeadOf() });
  return (messages, info) => {
    const { transcript, state } = follow(messages, info);
    const cut = oldTurns(transcript, n, step);
    return cut === 0 ? messages : state.see(transcript, cut);
  };
}

/** Index of the first unit after the turns that are older than the last `n`; never within the current turn. */
export function oldTurns(
  { turns, current }: { readonly turns: readonly number[]; readonly current: number },
  n: number,
  step: number,
): number {
  const old = Math.floor(Math.max(0, turns.length - n) / step) * step;
  const last = turns[old - 1];
  return last === undefined ? 0 : Math.min(last + 1, current);
}
