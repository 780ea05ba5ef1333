import type { View } from '@guardloop/core';
import { GuardloopError } from '@guardloop/core';
import { checkOptionNames } from '@guardloop/core/model';
import { HeadOf } from './cut.js';
import type { Followed } from './follow.js';
import { follower } from './follow.js';
import { markTokens } from './left-out.js';
import { checkWhole } from './options.js';
import { TokenSums } from './token-sums.js';
import { loadCounter, readyCounter } from './tokens.js';

/** Options of {@link tokenBudget}. */
export interface TokenBudgetOptions {
  /**
   * The share of the budget to which a cut goes, above 0 and at most 1. Default 0.7: cuts are far apart, and between them the beginning of
   * the request stays the same, which is what caches of providers need.
   */
  readonly keep?: number | undefined;
}

interface Budget {
  readonly head: HeadOf;
  readonly sums: TokenSums;
  /** Index of the first unit that is seen. */
  cut: number;
  /** Nothing more can be decided before the encoding is there. */
  isWaiting: boolean;
  /** Tokens before the cut, for what must stay at this revision. */
  before: { readonly revision: number; readonly tokens: number };
}

const nothingBefore = { revision: -1, tokens: 0 };

/**
 * The newest messages within `n` tokens: of the transcript alone, without instructions and tools. What must stay is seen even where it is
 * more. Counted in the encoding `o200k_base`, about right for any model; leave room. Throws CONFIG_INVALID where a number does not fit.
 */
export function tokenBudget<C = unknown>(n: number, options: TokenBudgetOptions = {}): View<C> {
  checkOptionNames('tokenBudget(…)', options, { keep: true } satisfies { readonly [K in keyof TokenBudgetOptions]-?: true });
  const { keep = 0.7 } = options;
  checkWhole('tokenBudget: the number of tokens', n, 1);
  if (!(keep > 0 && keep <= 1)) throw new GuardloopError('CONFIG_INVALID', 'tokenBudget: keep is no share above 0 and up to 1. Give one.');
  const { follow, forget } = follower<Budget>({
    begin: () => ({ head: new HeadOf(), sums: new TokenSums(), cut: 0, isWaiting: false, before: nothingBefore }),
    onClosed: (followed) => cutTo(followed, { most: n, target: n * keep }),
  });
  const see: View<C> = (messages, info) => {
    const { transcript, state } = follow(messages, info);
    if (state.isWaiting)
      return loadCounter().then(() => {
        forget(messages, info);
        return see(messages, info);
      });
    return state.cut === 0 ? messages : state.head.see(transcript, state.cut);
  };
  return see;
}

/** Moves the cut on when there is more than the budget. */
function cutTo({ transcript, state }: Followed<Budget>, { most, target }: { readonly most: number; readonly target: number }): void {
  const { sums } = state;
  const end = transcript.units.length;
  if (state.isWaiting || (state.cut === 0 && sums.atMost(transcript, [0, end]) <= most)) return;
  const count = readyCounter();
  if (count === undefined) {
    state.isWaiting = true;
    return;
  }
  const headBefore = (cut: number): number => {
    if (cut === 0) return 0;
    const kept = transcript.keptBefore(cut);
    return kept.reduce((sum, unit) => sum + sums.between(transcript, count, [unit, unit + 1]), (kept.length + 1) * markTokens);
  };
  if (state.before.revision !== transcript.revision) state.before = { revision: transcript.revision, tokens: headBefore(state.cut) };
  if (state.before.tokens + sums.atMost(transcript, [state.cut, end]) <= most) return;
  const seenFrom = (cut: number): number => headBefore(cut) + sums.between(transcript, count, [cut, end]);
  if (seenFrom(state.cut) <= most) return;
  const last = transcript.current;
  let cut = state.cut;
  while (cut < last && seenFrom(cut) > target) cut += 1;
  // Nothing is gained where all that stands before it must stay.
  if (transcript.firstLoose(0, cut) < cut) {
    state.cut = cut;
    state.before = nothingBefore;
  }
}
