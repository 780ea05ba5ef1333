import type { LogEvent, SessionStore } from '@guardloop/core';
import { GuardloopError } from '@guardloop/core';
import type { Store } from '@guardloop/store';
import type { Lease } from './lease.js';

const lost = (session: string): GuardloopError =>
  new GuardloopError(
    'LOG_CONFLICT',
    `This worker does not have the run of the session ${session} any more: another one has taken it over, or it was handed back.`,
  );

interface Entry {
  readonly lease: Lease;
  /** The run has entered its log under this lease. */
  hasEntered: boolean;
  /** Its own end is stored. */
  hasEnded: boolean;
}

/**
 * The logs of a store as one worker's runs may write them: each only under its lease. A lease that seems to be over is asked about before
 * anything is appended, and again before the run hears that it is: then an effect may follow. What is left of a run that was let go reaches no log, also where the worker has its session again: the first that is
 * appended under a lease is the entry of its run. One object for all runs, by which core knows what it remembers of a session.
 */
export class LeasedLog implements SessionStore {
  private readonly entries = new Map<string, Entry>();

  constructor(private readonly store: Store) {}

  /** From here on the session may be written under this lease. Returns what ends it. */
  open(session: string, lease: Lease): () => void {
    const entry = { lease, hasEntered: false, hasEnded: false };
    this.entries.set(session, entry);
    return () => {
      if (this.entries.get(session) === entry) this.entries.delete(session);
    };
  }

  /** Whether the end of the leased run is stored. */
  hasEnded(session: string): boolean {
    return this.entries.get(session)?.hasEnded ?? false;
  }

  async load(session: string, afterSeq?: number): Promise<readonly LogEvent[]> {
    const entry = this.entryOf(session);
    const events = await this.store.load(session, afterSeq);
    await this.stillHolds(entry, session);
    return events;
  }

  async append(session: string, events: readonly LogEvent[], afterSeq: number): Promise<void> {
    const entry = this.entryOf(session);
    if (!entry.hasEntered && !isEntry(events[0])) throw lost(session);
    await this.stillHolds(entry, session);
    await this.store.append(session, events, afterSeq);
    entry.hasEntered = true;
    if (events.some(({ type, run }) => type === 'run.end' && run === entry.lease.run)) entry.hasEnded = true;
    // The process may have stood still since it asked: what it is about to do, another may have done.
    await this.stillHolds(entry, session);
  }

  private async stillHolds({ lease }: Entry, session: string): Promise<void> {
    if (!lease.isHeld || (lease.seemsOver && !(await lease.renew()))) throw lost(session);
  }

  private entryOf(session: string): Entry {
    const entry = this.entries.get(session);
    if (entry === undefined || !entry.lease.isHeld) throw lost(session);
    return entry;
  }
}

const isEntry = (event: LogEvent | undefined): boolean =>
  event !== undefined && event.parent === undefined && (event.type === 'run.start' || event.type === 'run.resume');
