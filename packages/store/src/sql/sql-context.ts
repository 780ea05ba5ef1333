import type { Kysely } from 'kysely';
import type { Codec } from '../codec.js';
import type { SqlDatabase } from './database.js';
import type { Tables } from './tables.js';

/** What every part of the store works with. */
export interface SqlContext {
  readonly database: SqlDatabase;
  readonly codec: Codec;
  /** For what is written again and again: nothing of it is moved out. */
  readonly wholeCodec: Codec;
  readonly ttlMs: number | undefined;
}

export type Db = Kysely<Tables>;

/** The database's now. */
export async function timeOf(db: Db, { database }: SqlContext): Promise<number> {
  return (await db.selectNoFrom(database.now().as('now')).executeTakeFirstOrThrow()).now;
}
