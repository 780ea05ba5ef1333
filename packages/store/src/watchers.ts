type Listener = (session: string | undefined) => void;

/**
 * Who watches which session, for the `watch` of a store. Listeners are called in a later microtask, once for all that was told before it;
 * one that throws is called again for the next change, and disturbs nobody.
 */
export class Watchers {
  readonly #listeners = new Map<symbol, { readonly session: string | undefined; readonly call: Listener }>();
  readonly #changed = new Set<string | undefined>();

  /** Watches one session, or all. Returns what ends it. */
  add(session: string | undefined, call: Listener): () => void {
    const key = Symbol();
    this.#listeners.set(key, { session, call });
    return () => void this.#listeners.delete(key);
  }

  /** How many watch. */
  get size(): number {
    return this.#listeners.size;
  }

  /** The sessions that are watched by themselves. */
  get sessions(): ReadonlySet<string> {
    const sessions = [...this.#listeners.values()].map(({ session }) => session);
    return new Set(sessions.filter((session) => session !== undefined));
  }

  /** Something of the session may have changed; `undefined`: of any. */
  tell(session: string | undefined): void {
    if (this.#listeners.size === 0) return;
    if (this.#changed.size === 0) queueMicrotask(() => this.#call());
    this.#changed.add(session);
  }

  /** Ends all. */
  clear(): void {
    this.#listeners.clear();
  }

  #call(): void {
    const changed = [...this.#changed];
    this.#changed.clear();
    for (const session of changed)
      for (const [key, listener] of [...this.#listeners]) {
        if (!this.#listeners.has(key)) continue;
        if (session !== undefined && listener.session !== undefined && listener.session !== session) continue;
        try {
          listener.call(session ?? listener.session);
        } catch {
          // The listener's own business.
        }
      }
  }
}
