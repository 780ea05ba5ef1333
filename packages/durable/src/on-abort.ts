const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `act` when the signal is aborted; returns what takes it off. A signal carries one listener for all who wait on it, however many.
 */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  const acts = waiting.get(signal) ?? new Set();
  acts.add(act);
  if (!waiting.has(signal)) {
    waiting.set(signal, acts);
    signal.addEventListener('abort', tellAll, { once: true });
  }
  return () => {
    acts.delete(act);
    if (acts.size > 0 || waiting.get(signal) !== acts) return;
    waiting.delete(signal);
    signal.removeEventListener('abort', tellAll);
  };
}

function tellAll(this: AbortSignal): void {
  const acts = waiting.get(this) ?? [];
  waiting.delete(this);
  for (const act of [...acts]) act();
}
