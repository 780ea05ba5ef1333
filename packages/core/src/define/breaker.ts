/** What a breaker is made with. */
export interface BreakerSettings {
  readonly failures: number;
  /** Undefined: failures in a row. */
  readonly withinMs: number | undefined;
  readonly coolDownMs: number;
  /** How long an answer can take: a probe that is out for longer is lost. */
  readonly timeoutMs: number;
}

export type BreakerState = 'closed' | 'open' | 'half-open';

/**
 * Keeps a guardrail that keeps failing from being asked. Closed: it is asked. Open: it is not, for a while. Half-open: one ask at a time is
 * let through, and its outcome decides. Shared by all runs of its guardrail; time is given, and may be of several clocks.
 */
export class Breaker {
  state: BreakerState = 'closed';
  /** When the failures happened that count. */
  private readonly failedAt: number[] = [];
  private openedAt = 0;
  private probedAt: number | undefined;
  /** Asks of a state that is over, or of a probe that was lost, have no say. */
  private era = 0;

  constructor(private readonly settings: BreakerSettings) {}

  /** What the outcome is to be told with; undefined: do not ask. */
  enter(now: number): number | undefined {
    if (this.state === 'closed') return this.era;
    const { coolDownMs, timeoutMs } = this.settings;
    if (this.state === 'open') {
      if (!hasPassed(this.openedAt, coolDownMs, now)) return undefined;
      this.state = 'half-open';
    } else if (this.probedAt !== undefined && !hasPassed(this.probedAt, Math.max(coolDownMs, timeoutMs), now)) return undefined;
    this.probedAt = now;
    this.era += 1;
    return this.era;
  }

  settle(era: number, isFailed: boolean, now: number): void {
    if (era !== this.era) return;
    const { failures, withinMs } = this.settings;
    if (this.state === 'half-open') {
      if (isFailed) this.open(now);
      else this.turn('closed');
      return;
    }
    if (!isFailed) {
      if (withinMs === undefined) this.failedAt.length = 0;
      return;
    }
    this.failedAt.push(now);
    if (withinMs !== undefined) while (this.failedAt[0] !== undefined && hasPassed(this.failedAt[0], withinMs, now)) this.failedAt.shift();
    if (this.failedAt.length >= failures) this.open(now);
  }

  /** The ask was given up before it had an outcome. */
  release(era: number): void {
    if (era === this.era) this.probedAt = undefined;
  }

  private open(now: number): void {
    this.openedAt = now;
    this.turn('open');
  }

  private turn(state: BreakerState): void {
    this.state = state;
    this.failedAt.length = 0;
    this.probedAt = undefined;
    this.era += 1;
  }
}

/** A time that lies ahead is of another clock: what was then is over. */
function hasPassed(since: number, ms: number, now: number): boolean {
  return now < since || now - since >= ms;
}
