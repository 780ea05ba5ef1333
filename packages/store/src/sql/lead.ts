import type { RawBuilder } from 'kysely';
import { sql } from 'kysely';

/**
 * The filter by which a list finds its rows, the first that is given of `fields`: all others look at what that gives. Left to itself a
 * database without statistics takes whichever it likes, and may go through all that has ended.
 */
export function leadOf<F extends string>(query: { readonly [K in F]?: unknown }, fields: readonly F[]): F | undefined {
  return fields.find((field) => query[field] !== undefined);
}

/** A column by which no row is found, as long as no index is of this very form. */
export const lookedAt = (column: string): RawBuilder<string> => sql<string>`(${sql.ref(column)} || '')`;
