const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `listener` when a signal of the caller's is aborted; returns what takes it off again. One signal may serve any number of runs at
 * once: it carries one listener for all of them, and none when none is under way.
 */
export function whenAborted(signal: AbortSignal, listener: () => void): () => void {
  const known = waiting.get(signal);
  const listeners = known ?? new Set();
  listeners.add(listener);
  if (known === undefined) {
    waiting.set(signal, listeners);
    signal.addEventListener('abort', tellAll, { once: true });
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0 || waiting.get(signal) !== listeners) return;
    waiting.delete(signal);
    signal.removeEventListener('abort', tellAll);
  };
}

function tellAll(this: AbortSignal): void {
  const listeners = waiting.get(this) ?? [];
  waiting.delete(this);
  for (const listener of [...listeners]) listener();
}
