import type { RunRecord, Store } from '@guardloop/store';

/** A moment by both clocks: one that nobody sets, and one that goes on while the machine sleeps. */
export interface Instant {
  readonly steady: number;
  readonly wall: number;
}
export const instant = (): Instant => ({ steady: performance.now(), wall: Date.now() });
/** The longer time counts: a clock that is set forward costs a question to the store. */
const msSince = ({ steady, wall }: Instant): number => Math.max(performance.now() - steady, Date.now() - wall);

/** What a lease is told of. */
export interface LeaseListener {
  /** The record as it is now: somebody may want the run ended. */
  onRecord(record: RunRecord): void;
  /** Once: somebody else has the run, or it was given away. */
  onLost(): void;
}

/**
 * A worker's hold on a run. It is renewed by a timer for as long as the event loop lives, so that a tool may take longer than the lease.
 * Once it is lost, nothing of the run reaches the store.
 */
export class Lease {
  isHeld = true;
  private readonly timer: ReturnType<typeof setInterval>;
  private renewing: Promise<boolean> | undefined;
  private renewedAt: Instant;

  constructor(
    private readonly store: Store,
    private readonly claim: { readonly id: string; readonly token: number; readonly leaseMs: number; readonly claimedAt: Instant },
    private readonly listener: LeaseListener,
  ) {
    this.renewedAt = claim.claimedAt;
    // A renewal that failed is tried again by the next tick; what is appended meanwhile waits for it.
    this.timer = setInterval(() => void this.renew().catch(() => undefined), claim.leaseMs / 3);
  }

  get run(): string {
    return this.claim.id;
  }

  /** Whether it has not been renewed in time: somebody may have it. */
  get seemsOver(): boolean {
    return msSince(this.renewedAt) >= this.claim.leaseMs;
  }

  /** Whether it is still this worker's, asked of the store. Rejects where the store does. */
  renew(): Promise<boolean> {
    this.renewing ??= this.ask().finally(() => {
      this.renewing = undefined;
    });
    return this.renewing;
  }

  private async ask(): Promise<boolean> {
    const { id, token, leaseMs } = this.claim;
    if (!this.isHeld) return false;
    const asked = instant();
    const record = await this.store.runs.renew(id, token, leaseMs);
    if (record === undefined) {
      this.lose();
      return false;
    }
    this.renewedAt = asked;
    if (this.isHeld) this.listener.onRecord(record);
    return this.isHeld;
  }

  /** Lets go: from here on nothing is appended. */
  lose(): void {
    if (!this.isHeld) return;
    this.end();
    this.listener.onLost();
  }

  /** As `lose`, with nobody told: the run has come to where it ends or waits. */
  end(): void {
    this.isHeld = false;
    clearInterval(this.timer);
  }
}
