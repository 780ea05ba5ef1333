import { describe, invalid } from '../define/definition-reader.js';
import type { Agent, Answer } from '../define/types.js';
import { resume } from '../run/run.js';
import type { HistoryItem, RunInput, RunStream, SharedOptions } from '../run/types.js';
import type { Log } from '../state/events.js';
import type { ForkPlace } from './fork-log.js';
import { forkLog } from './fork-log.js';

/** Options of {@link fork}: those of a run, and where it branches off. */
export interface ForkOptions<C = unknown> extends SharedOptions<C> {
  readonly at: ForkPlace;
  /** Default: a new one. */
  readonly runId?: string | undefined;
  /** For a fork before the input was accepted: the input, which the log does not hold. */
  readonly input?: RunInput | undefined;
  /** As `history` was given to `run`; goes with `input`. */
  readonly history?: readonly HistoryItem[] | undefined;
}
/** What `fork` is told: with a context exactly where its agent needs one. */
export type ForkArguments<C> = ForkOptions<C> & (unknown extends C ? { readonly context?: undefined } : { readonly context: NoInfer<C> });

/**
 * Goes on from a place in a log, with an agent, model, guardrails or limits that may be others than they were; the log itself stays as it is.
 * `forkLog` says what becomes of ids and of what was under way. The agent must have the name of the one that was active, and the tools of calls
 * that are still open. Tools run: an effect that the fork makes is a new one. Throws CONFIG_INVALID and LOG_INVALID at once.
 */
export function fork<C, A extends Answer>(agent: Agent<C, A>, log: Log, options: ForkArguments<C>): RunStream<A> {
  if (typeof options !== 'object' || options === null) return invalid(`The options of fork are ${describe(options)}. Give { at: 12 }.`);
  const { at, runId, ...rest } = options as ForkOptions<C>;
  const forked = forkLog(log, at, { runId });
  return resume(agent as Agent<unknown, A>, forked, { ...(rest as SharedOptions<unknown>), accept: 'changed' }) as RunStream<A>;
}
