import type { StatementsWork, Tables } from '@guardloop/store/sql';
import { migrate, migrations, patiently } from '@guardloop/store/sql';
import { Kysely, sql } from 'kysely';
import { sqliteDialect } from './sqlite-dialect.js';
import { isBusy } from './sqlite-failures.js';
import type { SqliteFileOptions } from './sqlite-file.js';
import { SqliteFile } from './sqlite-file.js';
import type { Work } from './write-batches.js';
import { WriteBatches } from './write-batches.js';

export interface SharedFileOptions extends SqliteFileOptions {
  /** How long a lock of another process is waited for, milliseconds in all. */
  readonly busyMs: number;
}

/** Others hold the lock for less than a millisecond, again and again: looking often is what gets one in between. */
const pauses = { firstMs: 1, growth: 1.05, longestMs: 25 };

interface Opened {
  readonly file: SqliteFile;
  readonly db: Kysely<Tables>;
}

/** One connection to a file, opened and migrated at its first use. What it throws is libsql's. */
export class SharedFile {
  readonly #options: SharedFileOptions;
  readonly #writes = new WriteBatches({
    transact: async (work) => {
      const { db } = await this.#open();
      return this.#patiently(() => db.transaction().execute(work));
    },
    transactNow: async (work) => {
      const { file, db } = await this.#open();
      return this.#patiently(async () => file.transact((run) => work(run, db)));
    },
  });
  #opening: Promise<Opened> | undefined;
  /** What is told of writes: by store. */
  readonly listeners = new Set<(session: string | undefined) => void>();

  constructor(options: SharedFileOptions) {
    this.#options = options;
  }

  async read<T>(work: Work<T>): Promise<T> {
    const { db } = await this.#open();
    return this.#patiently(() => work(db));
  }

  /** In one transaction, which others may share. */
  write<T>(work: Work<T>): Promise<T> {
    return this.#writes.add(work);
  }

  /** The same, in one go. */
  writeNow<T>(work: StatementsWork<T>): Promise<T> {
    return this.#writes.addNow(work);
  }

  /** Rises when another connection has changed the file. */
  async version(): Promise<number> {
    const { file } = await this.#open();
    return Number(file.value('pragma data_version'));
  }

  async close(): Promise<void> {
    const opening = this.#opening;
    this.#opening = undefined;
    const opened = await opening?.catch(() => undefined);
    opened?.file.close();
  }

  #patiently<T>(work: () => Promise<T>): Promise<T> {
    return patiently(work, { patienceMs: this.#options.busyMs, isPassing: isBusy, pauses });
  }

  #open(): Promise<Opened> {
    this.#opening ??= this.#patiently(() => openFile(this.#options)).catch((thrown: unknown) => {
      this.#opening = undefined;
      throw thrown;
    });
    return this.#opening;
  }
}

async function openFile(options: SharedFileOptions): Promise<Opened> {
  const file = new SqliteFile(options);
  try {
    const db = new Kysely<Tables>({ dialect: sqliteDialect(file) });
    // Looking needs no lock, so that a file that is as it should be is opened while another process writes, or read-only.
    if (!isMigrated(file)) {
      await db.transaction().execute((trx) => migrate(trx, { dialect: 'sqlite', now: sql<number>`${Date.now()}` }));
      file.forgetStatements();
    }
    return { file, db };
  } catch (thrown) {
    file.close();
    throw thrown;
  }
}

function isMigrated(file: SqliteFile): boolean {
  const hasTable = file.value("select count(*) from sqlite_master where type = 'table' and name = 'migrations'") === 1;
  return hasTable && file.value('select max(version) from migrations') === migrations.length;
}
