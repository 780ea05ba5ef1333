import type { SessionRow } from './tables.js';

/** Sessions that are remembered; those that were not written to for longest are forgotten. */
const most = 5_000;

/**
 * How sessions stood after this store's last append to them, so that the next one need not look. It is a guess: `events` and `created_at`
 * are compared when it is used, and everything else follows from the log up to there.
 */
export class Stands {
  readonly #rows = new Map<string, SessionRow>();

  /** The session after `afterSeq`, if it is known. */
  at(session: string, afterSeq: number): SessionRow | undefined {
    const row = this.#rows.get(session);
    return row?.events === afterSeq ? row : undefined;
  }

  keep(row: SessionRow): void {
    this.#rows.delete(row.id);
    this.#rows.set(row.id, row);
    if (this.#rows.size <= most) return;
    const [oldest] = this.#rows.keys();
    if (oldest !== undefined) this.#rows.delete(oldest);
  }

  forget(session: string): void {
    this.#rows.delete(session);
  }
}
