import { GuardloopError } from '@guardloop/core';

/** The calls of one store. After {@link Calls.close} none begins any more; those that are under way are let end. */
export class Calls {
  readonly #underWay = new Set<Promise<unknown>>();
  #isClosed = false;

  /** The same methods, counted. */
  counted<T extends object>(methods: T): T {
    const wrapped = Object.entries(methods).map(([name, method]: readonly [string, (...given: readonly unknown[]) => Promise<unknown>]) => [
      name,
      (...given: readonly unknown[]) => this.#count(() => method(...given)),
    ]);
    return Object.fromEntries(wrapped) as T;
  }

  /** False: it was closed before. */
  async close(): Promise<boolean> {
    const wasClosed = this.#isClosed;
    this.#isClosed = true;
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
    return !wasClosed;
  }

  async #count<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new GuardloopError('STORE_FAILED', 'The store was closed, and takes no more calls. Make a new one.');
    const working = work();
    this.#underWay.add(working);
    try {
      return await working;
    } finally {
      this.#underWay.delete(working);
    }
  }
}
