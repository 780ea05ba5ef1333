import type { LogEvent, SessionStore } from '@guardloop/core';
import { GuardloopError } from '@guardloop/core';
import type { Store } from '@guardloop/store';
import type { Lease } from './lease.js';

/**
 * The log of a store as one run may write it, under its lease. A lease that seems to be over is asked about before anything is appended,
 * and again before the run hears that it is: then an effect may follow. Each lease has an object of its own, so that what is left of a run
 * that was let go reaches no log, also where the worker has the same run again.
 */
export class LeasedLog implements SessionStore {
  /** The end of the leased run is stored. */
  hasEnded = false;

  constructor(
    /** What core remembers of a session is the store's. */
    readonly origin: Store,
    private readonly lease: Lease,
  ) {}

  async load(session: string, afterSeq?: number): Promise<readonly LogEvent[]> {
    await this.checkHeld(session);
    const events = await this.origin.load(session, afterSeq);
    await this.checkHeld(session);
    return events;
  }

  async append(session: string, events: readonly LogEvent[], afterSeq: number): Promise<void> {
    await this.checkHeld(session);
    await this.origin.append(session, events, afterSeq);
    if (events.some(({ type, run }) => type === 'run.end' && run === this.lease.run)) this.hasEnded = true;
    // The process may have stood still since it asked: what it is about to do, another may have done.
    await this.checkHeld(session);
  }

  confirm(session: string): Promise<void> | undefined {
    const { isHeld, seemsOver } = this.lease;
    return isHeld && !seemsOver ? undefined : this.checkHeld(session);
  }

  private async checkHeld(session: string): Promise<void> {
    const { lease } = this;
    if (lease.isHeld && !(lease.seemsOver && !(await lease.renew()))) return;
    throw new GuardloopError(
      'LOG_CONFLICT',
      `This worker does not have the run of the session ${session} any more: another one has taken it over, or it was handed back.`,
    );
  }
}
