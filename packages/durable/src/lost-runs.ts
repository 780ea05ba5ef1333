/** Two leases, four, eight …: at most this many. */
const mostLeases = 64;

/**
 * Runs that another worker took while this one lived: it leaves them to that one for a while, each time longer. Two workers that both hold
 * themselves for the owner, because their clocks differ or their machine is too slow for the lease, would else take a run from each other
 * until it was given up.
 */
export class LostRuns {
  private readonly runs = new Map<string, { readonly leases: number; readonly until: number }>();

  /** `now`: a clock that nobody sets, milliseconds. */
  constructor(
    private readonly leaseMs: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Notes how this worker let go of a run. */
  note(run: string, isLost: boolean): void {
    if (!isLost) {
      this.runs.delete(run);
      return;
    }
    const leases = Math.min(mostLeases, 2 * (this.runs.get(run)?.leases ?? 1));
    this.runs.set(run, { leases, until: this.now() + leases * this.leaseMs });
  }

  /** Ids of the runs that are left to others now. */
  left(): readonly string[] {
    const now = this.now();
    for (const [run, { leases, until }] of this.runs) if (until + leases * this.leaseMs < now) this.runs.delete(run);
    return [...this.runs].flatMap(([run, { until }]) => (until > now ? [run] : []));
  }
}
