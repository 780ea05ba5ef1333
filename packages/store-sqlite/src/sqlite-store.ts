import { checkOptionNames, checkWholeNumber, optionFault } from '@guardloop/core/model';
import type { Store } from '@guardloop/store';
import { checkTimers } from '@guardloop/store/kit';
import type { SqlStoreOptions } from '@guardloop/store/sql';
import { sqlStore } from '@guardloop/store/sql';
import { sqliteDatabase } from './sqlite-database.js';

/** Options of {@link sqliteStore}. */
export interface SqliteStoreOptions extends SqlStoreOptions {
  /** A path; the file is made if it is not there, its folder must be. `:memory:`: nothing is kept beyond this object. */
  readonly file: string;
  /**
   * `full` (the default): what was stored outlives a loss of power. `normal`: the last events may be lost then, though never when a process
   * dies, and the file is never damaged; an append costs a fraction.
   */
  readonly synchronous?: 'full' | 'normal' | undefined;
  /** How long a lock of another process is waited for in all, milliseconds, before `STORE_FAILED`. Default 10,000. */
  readonly busyMs?: number | undefined;
  /** How often `watch` looks whether another process has written, milliseconds. Default 250. */
  readonly pollMs?: number | undefined;
  /** Bound of the file, bytes: beyond it appends fail as on a full disk. Default: none. */
  readonly maxBytes?: number | undefined;
  /** The clock, milliseconds since 1970. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

const names: { readonly [K in keyof SqliteStoreOptions]-?: true } = {
  file: true,
  synchronous: true,
  busyMs: true,
  pollMs: true,
  maxBytes: true,
  now: true,
  ttlMs: true,
  blobChars: true,
  encryption: true,
};

/**
 * Sessions, approvals and runs in one SQLite file, in WAL mode. Any number of store objects and processes of one machine may use the file
 * at the same time; a network drive cannot hold it. Opened at the first call, which makes and migrates the tables. Throws CONFIG_INVALID.
 *
 * ```ts
 * const store = sqliteStore({ file: 'guardloop.db' });
 * ```
 */
export function sqliteStore(options: SqliteStoreOptions): Store {
  const where = 'sqliteStore';
  checkOptionNames(where, options, names);
  const { file, synchronous = 'full', busyMs = 10_000, pollMs = 250, maxBytes, now = Date.now, ...rest } = options;
  if (typeof file !== 'string' || file.trim() === '' || file.includes('\0') || /^[a-z]+:\/\//i.test(file))
    throw optionFault(where, "`file` is no path. Give the path of a file, or ':memory:'.");
  if (synchronous !== 'full' && synchronous !== 'normal') throw optionFault(where, "`synchronous` must be 'full' or 'normal'.");
  checkWholeNumber(where, { busyMs }, 0);
  checkWholeNumber(where, { maxBytes }, 1);
  checkTimers(where, { pollMs }, 1);
  if (typeof now !== 'function') throw optionFault(where, '`now` is no function. Give one that returns milliseconds since 1970.');
  return sqlStore(sqliteDatabase({ file, synchronous, busyMs, pollMs, maxBytes, now }), rest);
}
