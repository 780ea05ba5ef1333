import { closeSync, openSync } from 'node:fs';
import type { CompiledQuery, SqliteDatabase, SqliteStatement } from 'kysely';
import Database from 'libsql';

/** How a file is opened. */
export interface SqliteFileOptions {
  /** A path, or `:memory:`. */
  readonly file: string;
  readonly synchronous: 'full' | 'normal';
  readonly maxBytes: number | undefined;
}

type Statement = ReturnType<Database.Database['prepare']>;

/** Most statements are the same again and again; this many are kept. */
const mostStatements = 256;

/** One connection to a SQLite file. All calls are synchronous; a lock of another's is told at once. */
export class SqliteFile implements SqliteDatabase {
  readonly #database: Database.Database;
  readonly #statements = new Map<string, SqliteStatement>();

  /** Throws what libsql throws: also that the file is busy, while another process makes it. */
  constructor({ file, synchronous, maxBytes }: SqliteFileOptions) {
    if (file !== ':memory:') makeFile(file);
    this.#database = new Database(file, { timeout: 0 } as Database.Options);
    try {
      if (file !== ':memory:') this.#database.pragma('journal_mode = WAL');
      this.#database.pragma(`synchronous = ${synchronous}`);
      // What is deleted is overwritten, not only let go.
      this.#database.pragma('secure_delete = on');
      if (maxBytes !== undefined) {
        const pageSize = Number(this.value('pragma page_size'));
        this.#database.pragma(`max_page_count = ${Math.max(1, Math.floor(maxBytes / pageSize))}`);
      }
    } catch (thrown) {
      this.#database.close();
      throw thrown;
    }
  }

  /** The one value of a statement, which gives one. */
  value(sql: string): unknown {
    const [row] = this.prepare(sql).all([]) as readonly object[];
    return row && Object.values(row)[0];
  }

  prepare(sql: string): SqliteStatement {
    const known = this.#statements.get(sql);
    if (known) return known;
    const made = kyselyStatement(this.#database.prepare(sql));
    const [oldest] = this.#statements.keys();
    if (this.#statements.size >= mostStatements && oldest !== undefined) this.#statements.delete(oldest);
    this.#statements.set(sql, made);
    return made;
  }

  /** Work in one transaction, in one go. `run` gives how many rows a statement changed. */
  transact<T>(work: (run: (query: CompiledQuery) => number) => T): T {
    const run = ({ sql, parameters }: CompiledQuery): number => Number(this.prepare(sql).run(parameters).changes);
    this.prepare('begin immediate').run([]);
    try {
      const result = work(run);
      this.prepare('commit').run([]);
      return result;
    } catch (thrown) {
      // SQLite has rolled back by itself where the disk is full.
      if (this.#database.inTransaction) this.prepare('rollback').run([]);
      throw thrown;
    }
  }

  /** Statements that were prepared before tables changed. */
  forgetStatements(): void {
    this.#statements.clear();
  }

  close(): void {
    this.#statements.clear();
    if (!this.#database.open) return;
    try {
      // libsql leaves the log file where statements are still in memory.
      this.#database.pragma('wal_checkpoint(TRUNCATE)');
    } catch {
      // Whoever opens the file next does it.
    }
    this.#database.close();
  }
}

/** Conversations are nobody else's business: a new file is its user's own. The files that SQLite puts beside it take its rights over. */
function makeFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch {
    // It is there, or cannot be made: SQLite tells.
  }
}

function kyselyStatement(statement: Statement): SqliteStatement {
  // `get` and `iterate` of libsql may leave a statement open, and with it what it reads locked: everything is read by `all`.
  const all = (parameters: readonly unknown[]): unknown[] => statement.all(parameters.map(checked));
  return {
    reader: statement.reader,
    all,
    run: (parameters) => statement.run(parameters.map(checked)),
    iterate: (parameters) => all(parameters)[Symbol.iterator]() as IterableIterator<unknown>,
  };
}

/** libsql ends the process at a value that it does not know. */
function checked(value: unknown): string | number | null {
  if (typeof value === 'string' || typeof value === 'number' || value === null) return value;
  throw new TypeError(`A value of type ${typeof value} cannot be bound to a statement.`);
}
