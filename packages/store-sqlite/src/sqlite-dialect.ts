import type { DatabaseConnection, Dialect, SqliteDatabase } from 'kysely';
import { CompiledQuery, SqliteAdapter, SqliteDriver, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';

/** Kysely's SQLite, with transactions that take the write lock when they begin: later they could no longer wait for it. */
export function sqliteDialect(database: SqliteDatabase): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new ImmediateDriver({ database }),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

class ImmediateDriver extends SqliteDriver {
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }

  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    try {
      await super.rollbackTransaction(connection);
    } catch {
      // SQLite has rolled back by itself, as it does when the disk is full; the error before this one tells more.
    }
  }
}
