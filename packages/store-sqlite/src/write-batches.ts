import type { StatementsWork, Tables } from '@guardloop/store/sql';
import type { Kysely } from 'kysely';
import { CompiledQuery, sql } from 'kysely';
import { isBusy } from './sqlite-failures.js';

export type Work<T> = (db: Kysely<Tables>) => Promise<T>;

/** Runs works in a transaction, perhaps more than once. */
export interface Transactions {
  transact<T>(work: Work<T>): Promise<T>;
  transactNow<T>(work: StatementsWork<T>): Promise<T>;
}

interface Settling {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}
type Waiting = Settling &
  ({ readonly kind: 'work'; readonly work: Work<unknown> } | { readonly kind: 'now'; readonly work: StatementsWork<unknown> });

/** How one work of a batch ended. */
type Outcome = { readonly value: unknown } | { readonly error: unknown };

/** Kept from the start, so that a test's false timers do not stop the store. */
const soon = globalThis.setImmediate;

/** Works in one transaction. */
const most = 64;

/**
 * Writes one transaction after another. What comes while one is under way goes into the next together, since what a transaction costs is
 * the wait for the disk at its end; each work is stored whole or not at all by itself.
 */
export class WriteBatches {
  readonly #waiting: Waiting[] = [];
  #isWriting = false;

  constructor(private readonly transactions: Transactions) {}

  add<T>(work: Work<T>): Promise<T> {
    return new Promise((resolve, reject) => this.#push({ kind: 'work', work, resolve: (value) => resolve(value as T), reject }));
  }

  /** Work that awaits nothing: between the beginning and the end of its transaction nothing else runs in this process. */
  addNow<T>(work: StatementsWork<T>): Promise<T> {
    return new Promise((resolve, reject) => this.#push({ kind: 'now', work, resolve: (value) => resolve(value as T), reject }));
  }

  #push(waiting: Waiting): void {
    this.#waiting.push(waiting);
    if (!this.#isWriting) void this.#write();
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    this.#isWriting = true;
    // What comes in this turn of the event loop goes together; a run's next events gather meanwhile, and cost no wait for the disk of their
    // own.
    await new Promise<void>((resolve) => soon(resolve));
    while (this.#waiting.length > 0) {
      const batch = this.#nextBatch();
      if (batch.length === 1 || !(await this.#writeTogether(batch))) for (const each of batch) await this.#writeAlone(each);
    }
    this.#isWriting = false;
  }

  /** The first that wait, as long as they are of one kind. */
  #nextBatch(): readonly Waiting[] {
    const kind = this.#waiting[0]?.kind;
    const end = this.#waiting.findIndex((each) => each.kind !== kind);
    return this.#waiting.splice(0, Math.min(most, end === -1 ? this.#waiting.length : end));
  }

  async #writeAlone(each: Waiting): Promise<void> {
    try {
      each.resolve(await (each.kind === 'work' ? this.transactions.transact(each.work) : this.transactions.transactNow(each.work)));
    } catch (thrown) {
      each.reject(thrown);
    }
  }

  /** False: nothing of it was stored, perhaps because of one alone; each is to be tried by itself. */
  async #writeTogether(batch: readonly Waiting[]): Promise<boolean> {
    let outcomes: readonly Outcome[];
    try {
      outcomes = await this.#outcomes(batch);
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

  #outcomes(batch: readonly Waiting[]): Promise<readonly Outcome[]> {
    const now = batch.flatMap((each) => (each.kind === 'now' ? [each.work] : []));
    if (now.length > 0) return this.transactions.transactNow((run, db) => now.map((work) => apartNow(work, { run, db })));
    const works = batch.flatMap((each) => (each.kind === 'work' ? [each.work] : []));
    return this.transactions.transact(async (db) => {
      const ended: Outcome[] = [];
      for (const work of works) ended.push(await apart(work, db));
      return ended;
    });
  }
}

/** Undoes what this work did, and nothing else, where it throws. Throws where SQLite has undone the whole transaction. */
async function apart(work: Work<unknown>, db: Kysely<Tables>): Promise<Outcome> {
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

const savepoint = CompiledQuery.raw('savepoint work');
const release = CompiledQuery.raw('release work');
const rollback = CompiledQuery.raw('rollback to work');

/** The same without waiting. */
function apartNow(
  work: StatementsWork<unknown>,
  { run, db }: { readonly run: (query: CompiledQuery) => number; readonly db: Kysely<Tables> },
): Outcome {
  run(savepoint);
  try {
    const value = work(run, db);
    run(release);
    return { value };
  } catch (error) {
    run(rollback);
    run(release);
    return { error };
  }
}
