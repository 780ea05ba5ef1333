import type { LogEvent } from '../state/events.js';

/**
 * Keeps logs. One session is one append-only log, with one run after another in it. This is all a database has to do to hold runs; the
 * suite `sessionConformance` of `@guardloop/testing` says whether one does it right.
 *
 * A store may be used by many runs and processes at once. Its methods are called only by core: `load` when a run enters the session (of one
 * that this process remembers, from its last event on; whole where that is another one now), and again after a conflict or an append whose
 * outcome is not known; `append` by the one writer of a run, one batch at a time, never
 * before the batch before it has settled.
 *
 * Both methods reject with a `GuardloopError`, or with any error: core wraps it as `STORE_FAILED`. A store does not retry what it does not
 * know the outcome of: core looks at the tail and finds its own events there, or not.
 */
export interface SessionStore {
  /**
   * Of a store that is a view of another one, for example under a lease: that one. What a process remembers of sessions, and the order of
   * runs that queue, are shared by all views of one store.
   */
  readonly origin?: SessionStore | undefined;

  /**
   * The events of session `id` whose `seq` is above `afterSeq`, in order of `seq`. All of them when `afterSeq` is left out or 0. `[]` for
   * an id that was never appended to, and for an `afterSeq` at or beyond the last. Everything whose `append` had resolved before the call
   * is in it, and of a batch all or nothing.
   *
   * The caller may keep the array; it never changes an event.
   */
  load(id: string, afterSeq?: number): Promise<readonly LogEvent[]>;

  /**
   * Adds `events` to the end of session `id`, durably and atomically: after it resolved all of them are stored, after it rejected with
   * `LOG_CONFLICT` none of them. Any other rejection leaves the outcome open.
   *
   * `afterSeq` is the last `seq` that the writer knows, 0 for a session without events. If the store's own last `seq` is another one, the
   * writer is stale: reject with `GuardloopError` `LOG_CONFLICT` and store nothing. Of two appends at once with the same `afterSeq` exactly
   * one wins; comparing and storing are one step (a transaction, a unique key on id and seq, a script in the server).
   *
   * `events` is never empty; its events are numbered `afterSeq + 1`, `afterSeq + 2`, … They are plain JSON, and must come back from `load`
   * equal, whatever their strings hold: U+0000, lone surrogates, any object key. They are never changed after the call, so they may be
   * kept as they are or be serialised later within the call.
   */
  append(id: string, events: readonly LogEvent[], afterSeq: number): Promise<void>;

  /**
   * Of a view under a lease: whether the writer still has session `id`. `undefined`: yes, as far as is known without asking. Else resolves
   * where the store says yes, and rejects with `LOG_CONFLICT` where another writer has it. Asked right before a tool begins without waiting
   * for its `tool.start` to be stored (one that is repeatable), and before it is tried again: a process that stood still begins nothing more.
   */
  confirm?(id: string): Promise<void> | undefined;
}
