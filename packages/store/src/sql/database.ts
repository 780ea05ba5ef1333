import type { CompiledQuery, Kysely, RawBuilder } from 'kysely';
import type { Tables } from './tables.js';

/**
 * What {@link sqlStore} needs of a database. One object is one database; it may be used by many calls at once. Its methods reject with a
 * `GuardloopError`: what the work threw if that was one, else `STORE_FAILED`. Opens and migrates the database before the first work.
 */
export interface SqlDatabase {
  readonly dialect: 'sqlite' | 'postgres';
  /** Work that changes nothing: it may be done again where the database could not be reached. */
  read<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T>;
  /**
   * Work in one transaction: all of it is stored, or, when `work` throws, nothing. It is begun anew where the database was busy or could
   * not be reached before it began, so `work` may be called more than once. A connection that is lost later leaves the outcome open.
   */
  write<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T>;
  /** Work of one statement that is its own transaction, and may be left open as that of {@link write} may. */
  once<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T>;
  /**
   * As {@link write}, in one go: no other code of this process runs while the transaction is open. Undefined where the database is not in
   * this process.
   */
  readonly writeNow: (<T>(work: StatementsWork<T>) => Promise<T>) | undefined;
  /** Whole milliseconds since 1970: a function of this process, or an expression that the server works out. */
  readonly clock: (() => number) | RawBuilder<number>;
  readonly watching: Watching;
  /** Called once, when no work is under way. */
  close(): Promise<void>;
}

/** Work that awaits nothing: `run` runs a statement and gives how many rows it changed; `db` is for building only. */
export type StatementsWork<T> = (run: (query: CompiledQuery) => number, db: Kysely<Tables>) => T;

/** How changes are made known. */
export interface Watching {
  /** A session, or something beside it, was changed by this store object; undefined: many were. Never throws. */
  announce(session: string | undefined): void;
  /** As `Store.watch`. */
  watch(session: string | undefined, listener: (session: string | undefined) => void): () => void;
}
