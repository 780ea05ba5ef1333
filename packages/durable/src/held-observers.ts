import type { RunEvent } from '@guardloop/core';
import type { Lease } from './lease.js';

type Tell = (event: RunEvent) => unknown;

const canObserve = (observer: unknown): boolean => typeof observer === 'function' || (typeof observer === 'object' && observer !== null);

/** A user's observers as long as the lease is held: of what a run that was let go does in memory alone they see nothing. */
export class HeldObservers {
  private tells: readonly Tell[] = [];
  private isTold = false;

  constructor(
    private readonly run: string,
    private readonly lease: Lease,
  ) {}

  /** What core is given in their place. What is no observer, core refuses. */
  wrap(observers: readonly unknown[]): readonly unknown[] {
    const wrapped = observers.map((observer) => (canObserve(observer) ? tellOf(observer) : observer));
    this.tells = wrapped.filter((each): each is Tell => typeof each === 'function');
    return wrapped.map((each) =>
      typeof each === 'function' ? (event: RunEvent) => (this.lease.isHeld && !this.isTold ? each(event) : undefined) : each,
    );
  }

  /** The last that they see of a run that is let go: it came back without an end. */
  tellLeft(agent: string): void {
    this.isTold = true;
    const event: RunEvent = Object.freeze({ type: 'run.wait', at: Date.now(), run: this.run, agent, approvals: [] });
    for (const tell of this.tells) {
      try {
        void Promise.resolve(tell(event)).catch(() => undefined);
      } catch {
        // An observer changes nothing.
      }
    }
  }
}

function tellOf(observer: unknown): Tell {
  if (typeof observer === 'function') return observer as Tell;
  return (event) => {
    const listener = (observer as { readonly [type: string]: unknown })[event.type];
    return typeof listener === 'function' ? listener(event) : undefined;
  };
}
