import type { Clock } from '../model/clock.js';
import { graceMs } from './handle.js';
import { whenAborted } from './when-aborted.js';

/** Who waits. */
interface Waiting {
  readonly options: { readonly signal: AbortSignal | undefined; readonly clock: Clock };
  readonly onLeave?: ((listener: () => void) => void) | undefined;
}

/** It has taken too long after the caller had stopped wanting it. */
export const late = Symbol('late');

/**
 * Waits for what a run needs before it is entered: however long that takes, but once the run is aborted or its reader has left, no longer
 * than `graceMs`. Rejects as the promise does.
 */
export function beforeEntry<T>({ options: { signal, clock }, onLeave }: Waiting, promise: PromiseLike<T>): Promise<T | typeof late> {
  return new Promise((resolve, reject) => {
    let stopTimer: (() => void) | undefined;
    let off: (() => void) | undefined;
    let isDone = false;
    const done = (): void => {
      isDone = true;
      stopTimer?.();
      off?.();
    };
    const hurry = (): void => {
      if (isDone) return;
      stopTimer ??= clock.after(graceMs, () => {
        done();
        resolve(late);
      });
    };
    promise.then(
      (value) => {
        done();
        resolve(value);
      },
      (error) => {
        done();
        reject(error);
      },
    );
    if (signal?.aborted) hurry();
    else if (signal) off = whenAborted(signal, hurry);
    onLeave?.(hurry);
  });
}
