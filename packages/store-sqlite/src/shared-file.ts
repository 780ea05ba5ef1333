import type { Tables } from '@guardloop/store/sql';
import { Line, migrate, migrations, patiently } from '@guardloop/store/sql';
import { Kysely, sql } from 'kysely';
import { sqliteDialect } from './sqlite-dialect.js';
import { isBusy } from './sqlite-failures.js';
import type { SqliteFileOptions } from './sqlite-file.js';
import { SqliteFile } from './sqlite-file.js';

export interface SharedFileOptions extends SqliteFileOptions {
  /** How long a lock of another process is waited for, milliseconds in all. */
  readonly busyMs: number;
}

/** Longest pause between two tries, milliseconds. */
const longestPauseMs = 25;

interface Opened {
  readonly file: SqliteFile;
  readonly db: Kysely<Tables>;
}

/** One connection to a file, opened and migrated at its first use. What it throws is libsql's. */
export class SharedFile {
  readonly #options: SharedFileOptions;
  readonly #writes = new Line();
  #opening: Promise<Opened> | undefined;
  /** What is told of writes: by store. */
  readonly listeners = new Set<(session: string | undefined) => void>();

  constructor(options: SharedFileOptions) {
    this.#options = options;
  }

  async read<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
    const { db } = await this.#open();
    return this.#patiently(() => work(db));
  }

  /** In one transaction. One after another: two at once on one connection, or on two of one process, would only wait for each other. */
  async write<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
    const { db } = await this.#open();
    return this.#writes.stand(() => this.#patiently(() => db.transaction().execute(work)));
  }

  /** One statement that changes something. */
  async once<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
    const { db } = await this.#open();
    return this.#writes.stand(() => this.#patiently(() => work(db)));
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
    return patiently(work, { patienceMs: this.#options.busyMs, isPassing: isBusy, longestPauseMs });
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
