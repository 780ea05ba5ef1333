/** How many schedulers drive something now. */
let watchers = 0;
/** Promises of the platform's own threads that have not settled yet: digests and signatures. */
let outside = 0;

type Method = (...given: unknown[]) => Promise<unknown>;

function counted(method: Method): Method {
  return function count(this: unknown, ...given) {
    const promise = method.apply(this, given);
    const settle = (): void => {
      outside -= 1;
    };
    outside += 1;
    promise.then(settle, settle);
    return promise;
  };
}

/**
 * Counts what the platform computes on other threads, so that {@link quiet} can wait for it: their time is real, and would else decide
 * the order. Returns what stops the counting.
 */
export function watchOutside(): () => void {
  const { subtle } = globalThis.crypto;
  const methods = subtle as unknown as Record<string, Method>;
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(subtle)).filter(
    (name) => name !== 'constructor' && typeof methods[name] === 'function',
  );
  watchers += 1;
  if (watchers === 1) for (const name of names) methods[name] = counted(methods[name] as Method);
  return () => {
    watchers -= 1;
    if (watchers === 0) for (const name of names) delete methods[name];
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Resolves when no promise can go on by itself: the microtasks are done, and nothing is under way on other threads. */
export async function quiet(): Promise<void> {
  do await turn();
  while (outside > 0);
}
