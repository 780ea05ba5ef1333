import type { Kysely, RawBuilder } from 'kysely';
import { sql } from 'kysely';
import type { Codec } from '../codec.js';
import type { SqlDatabase } from './database.js';
import type { Stands } from './stands.js';
import type { Tables } from './tables.js';

/** What every part of the store works with. */
export interface SqlContext {
  readonly database: SqlDatabase;
  readonly codec: Codec;
  /** For what is written again and again: nothing of it is moved out. */
  readonly wholeCodec: Codec;
  readonly ttlMs: number | undefined;
  readonly stands: Stands;
}

export type Db = Kysely<Tables>;
/** The database's now, to stand in a statement. */
export type Now = RawBuilder<number>;

export function nowOf({ database: { clock } }: SqlContext): Now {
  return typeof clock === 'function' ? sql<number>`${clock()}` : clock;
}

/** The database's now, as a number. */
export async function timeOf(db: Db, { database: { clock } }: SqlContext): Promise<number> {
  if (typeof clock === 'function') return clock();
  return (await db.selectNoFrom(clock.as('now')).executeTakeFirstOrThrow()).now;
}
