import type { LogEvent } from '@guardloop/core';
import { GuardloopError } from '@guardloop/core';
import type { Store } from '@guardloop/store';

/** A process's store that can freeze with its process, thaw, die, or fail. */
export interface FrailStore {
  readonly store: Store;
  /** From here on no call gets through, and none comes back: as for a process that is stopped, or dead. */
  freeze(): void;
  /** What was asked meanwhile is done now. */
  thaw(): void;
  /** What hangs, and all that is asked from here on, is refused: so that the dead can be buried. */
  bury(): void;
  /** Freezes once the store has an event of this type, before the process hears of it. */
  freezeAfter(type: LogEvent['type']): void;
  /** Refuses the next appends. */
  failAppends(count: number): void;
}

const refused = (): GuardloopError => new GuardloopError('STORE_FAILED', 'The store does not answer.', { isRetryable: true });

/** One process's view of a store. */
export function frailStore(inner: Store): FrailStore {
  let state: 'alive' | 'frozen' | 'dead' = 'alive';
  let hanging: { go(): void; refuse(): void }[] = [];
  let failing = 0;
  let fatal: LogEvent['type'] | undefined;
  const call = async (name: string, given: readonly unknown[], act: () => unknown): Promise<unknown> => {
    if (state === 'frozen') await new Promise<void>((resolve, reject) => hanging.push({ go: resolve, refuse: () => reject(refused()) }));
    if (state === 'dead') throw refused();
    if (name === 'append' && failing > 0) {
      failing -= 1;
      throw refused();
    }
    const answer = await act();
    if (name === 'append' && (given[1] as readonly LogEvent[]).some(({ type }) => type === fatal)) state = 'frozen';
    // An answer to a process that froze meanwhile waits with it.
    if (state === 'frozen') await new Promise<void>((resolve, reject) => hanging.push({ go: resolve, refuse: () => reject(refused()) }));
    return answer;
  };
  const wrap = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value === 'object' && value !== null) return wrap(value);
        if (typeof value !== 'function' || typeof name !== 'string') return value;
        if (name === 'watch')
          return (session: string | undefined, listener: (session: string | undefined) => void) =>
            inner.watch(session, (changed) => {
              if (state === 'alive') listener(changed);
            });
        if (name === 'close') return () => value.call(target);
        return (...given: unknown[]) => call(name, given, () => value.apply(target, given));
      },
    });
  return {
    store: wrap(inner),
    freeze: () => {
      state = 'frozen';
    },
    freezeAfter: (type) => {
      fatal = type;
    },
    thaw: () => {
      state = 'alive';
      fatal = undefined;
      for (const each of hanging.splice(0)) each.go();
    },
    bury: () => {
      state = 'dead';
      const left = hanging;
      hanging = [];
      for (const each of left) each.refuse();
    },
    failAppends: (count) => {
      failing = count;
    },
  };
}
