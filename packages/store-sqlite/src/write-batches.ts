import type { Tables } from '@guardloop/store/sql';
import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import { isBusy } from './sqlite-failures.js';

export type Work<T> = (db: Kysely<Tables>) => Promise<T>;

interface Waiting {
  readonly work: Work<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** How one work of a batch ended. */
type Outcome = { readonly value: unknown } | { readonly error: unknown };

/** Works in one transaction. */
const most = 64;

/**
 * Writes one transaction after another. What comes while one is under way goes into the next together, since what a transaction costs is the
 * wait for the disk at its end; each work is stored whole or not at all by itself.
 */
export class WriteBatches {
  readonly #waiting: Waiting[] = [];
  #isWriting = false;

  /** `transact` runs a work in a transaction, perhaps more than once. */
  constructor(private readonly transact: <T>(work: Work<T>) => Promise<T>) {}

  add<T>(work: Work<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ work, resolve: (value) => resolve(value as T), reject });
      if (!this.#isWriting) void this.#write();
    });
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, most);
      if (batch.length === 1 || !(await this.#writeTogether(batch))) for (const each of batch) await this.#writeAlone(each);
    }
    this.#isWriting = false;
  }

  async #writeAlone({ work, resolve, reject }: Waiting): Promise<void> {
    try {
      resolve(await this.transact(work));
    } catch (thrown) {
      reject(thrown);
    }
  }

  /** False: nothing of it was stored, perhaps because of one alone; each is to be tried by itself. */
  async #writeTogether(batch: readonly Waiting[]): Promise<boolean> {
    let outcomes: readonly Outcome[];
    try {
      outcomes = await this.transact(async (db) => {
        const ended: Outcome[] = [];
        for (const { work } of batch) ended.push(await apart(db, work));
        return ended;
      });
    } catch (thrown) {
      if (!isBusy(thrown)) return false;
      // The lock would be waited for again by each.
      for (const { reject } of batch) reject(thrown);
      return true;
    }
    for (const [index, { resolve, reject }] of batch.entries()) {
      const outcome = outcomes[index];
      if (outcome && 'value' in outcome) resolve(outcome.value);
      else reject(outcome?.error);
    }
    return true;
  }
}

/** Undoes what this work did, and nothing else, where it throws. Throws where SQLite has undone the whole transaction. */
async function apart(db: Kysely<Tables>, work: Work<unknown>): Promise<Outcome> {
  await sql`savepoint work`.execute(db);
  try {
    const value = await work(db);
    await sql`release work`.execute(db);
    return { value };
  } catch (error) {
    await sql`rollback to work`.execute(db);
    await sql`release work`.execute(db);
    return { error };
  }
}
