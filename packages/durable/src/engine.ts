// What an engine does for durable runs: it says when a run is to be advanced, and on which worker. Types only.
import type { QueueLimits, RunRecord, Store } from '@guardloop/store';

/**
 * Queues, recovers and times. Its unit of work is "advance this run from its log until it ends or asks"; it journals no step of a run, and
 * its rules reach no agent. Records, leases and logs are the store's, so that an engine may call too often, too late or twice: `advance`
 * takes a lease first, and the log's fence holds in any case.
 */
export interface Engine {
  /** For messages and traces. */
  readonly name: string;
  /**
   * A run has become due: it was submitted, a person has decided, or somebody cancels it. The record is in the store already; it is to be
   * advanced at `dueAt` or soon after, at least once. The same record (id and version) may come again and is one kick.
   */
  kick(run: RunRecord): Promise<void>;
  /** Begins to take work in this process. */
  work(work: EngineWork): Promise<EngineWorker>;
  /** Ends connections. Workers are stopped before. */
  close(): Promise<void>;
}

/** What an engine is given by a worker. */
export interface EngineWork {
  readonly store: Store;
  /** This worker's name: unique among all that live. */
  readonly owner: string;
  readonly queues: readonly QueueLimits[];
  /** Runs that this worker advances at the same time. */
  readonly concurrency: number;
  /** After this a worker that does not answer counts as dead, milliseconds. */
  readonly leaseMs: number;
  /**
   * Claims the run that is due first and takes it on until it ends, asks, or is lost to another worker. With `run` that one, though others
   * may be due before it. Never rejects. Renews the lease meanwhile. `onClaimed` is called once it has one.
   */
  advance(run?: string, onClaimed?: () => void): Promise<Advanced>;
}

/** How far a run came. */
export type Advanced =
  /** Nothing was claimed: no run is due, another worker has it, or a limit is reached. */
  | { readonly status: 'nothing' }
  /** It has ended, waits for people, or another worker has taken it over. */
  | { readonly status: 'ended' | 'waiting' | 'lost'; readonly run: string }
  /** It could not go on (its store failed, its agent is not here): it is queued again, due at `dueAt`. */
  | { readonly status: 'again'; readonly run: string; readonly dueAt: number };

/** Work that goes on. */
export interface EngineWorker {
  /** Takes no more work and waits for what is under way. */
  stop(): Promise<void>;
}
