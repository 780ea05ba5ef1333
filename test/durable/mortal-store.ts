import type { Store } from '@guardloop/store';

/** A process's store: after so many appends nothing that it is asked comes back, as for a process that was killed there. */
export function mortalStore(inner: Store, appends: number): { readonly store: Store; readonly isDead: () => boolean; bury(): void } {
  let left = appends;
  let isDead = false;
  let isBuried = false;
  const waiting: ((reason: Error) => void)[] = [];
  const gone = (): Promise<never> =>
    isBuried ? Promise.reject(new Error('buried')) : new Promise((_, reject) => void waiting.push(reject));
  const wrap = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value === 'object' && value !== null) return wrap(value);
        if (typeof value !== 'function') return value;
        if (name === 'watch') return value.bind(target);
        return async (...given: unknown[]) => {
          if (isDead) return gone();
          if (name === 'append' && left === 0) {
            isDead = true;
            return gone();
          }
          if (name === 'append') left -= 1;
          const answer: unknown = await value.apply(target, given);
          return isDead ? gone() : answer;
        };
      },
    });
  return {
    store: wrap(inner),
    isDead: () => isDead,
    bury: () => {
      isDead = true;
      isBuried = true;
      for (const reject of waiting.splice(0)) reject(new Error('buried'));
    },
  };
}
