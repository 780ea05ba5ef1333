import type { Store } from '@guardloop/store';
import { onAbort } from './on-abort.js';

/** A watcher looks again after so long, whatever it was told. */
const netMs = 2_000;

/** Waits for changes of one session; those that come between two waits are not missed. */
export class Changes {
  private hasChanged = false;
  private wake: (() => void) | undefined;
  private readonly off: () => void;

  constructor(store: Store, session: string) {
    this.off = store.watch(session, () => {
      this.hasChanged = true;
      this.wake?.();
    });
  }

  /** Resolves when something may have changed, after `ms`, or when the signal is aborted. */
  async next(ms = Number.POSITIVE_INFINITY, signal?: AbortSignal): Promise<void> {
    if (!this.hasChanged && !signal?.aborted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => done(), Math.min(ms, netMs));
        const done = (): void => {
          clearTimeout(timer);
          off?.();
          resolve();
        };
        const off = signal && onAbort(signal, done);
        this.wake = done;
      });
      this.wake = undefined;
    }
    this.hasChanged = false;
  }

  end(): void {
    this.off();
    this.wake?.();
  }
}
