import type { Problem } from './problem.js';

/** The promise's value, or the problem after so many milliseconds. What comes later is left alone. */
export async function within<T>(promise: Promise<T>, ms: number, late: () => Problem): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  promise.catch(() => undefined);
  try {
    return await Promise.race([promise, over]);
  } finally {
    clearTimeout(timer);
  }
}
