import type { Encoded, ReadPayloads } from '../codec.js';
import type { Db } from './sql-context.js';

/** Values in one statement, below the limits of all databases. */
const most = 500;

/** Keeps payloads that are not there yet, and that the session uses them. `session` is a written name. */
export async function putPayloads(db: Db, { session, encoded }: { readonly session: string; readonly encoded: Encoded }): Promise<void> {
  for (const { digest, text } of encoded.payloads) {
    await db
      .insertInto('payloads')
      .values({ digest, content: text })
      .onConflict((conflict) => conflict.column('digest').doNothing())
      .execute();
    await db
      .insertInto('payload_uses')
      .values({ session, digest })
      .onConflict((conflict) => conflict.columns(['session', 'digest']).doNothing())
      .execute();
  }
}

/** Reads payloads for a codec. */
export function payloadReader(db: Db): ReadPayloads {
  return async (digests) => {
    const found = new Map<string, string>();
    for (let at = 0; at < digests.length; at += most) {
      const rows = await db
        .selectFrom('payloads')
        .select(['digest', 'content'])
        .where('digest', 'in', digests.slice(at, at + most))
        .execute();
      for (const { digest, content } of rows) found.set(digest, content);
    }
    return found;
  };
}

/**
 * Takes a session's uses away, and deletes payloads that nothing else refers to. The foreign key refuses this transaction, or that of
 * somebody who begins to use one of them meanwhile; whoever is refused tries again.
 */
export async function dropPayloads(db: Db, session: string): Promise<void> {
  const uses = await db.deleteFrom('payload_uses').where('session', '=', session).returning('digest').execute();
  const digests = uses.map(({ digest }) => digest);
  for (let at = 0; at < digests.length; at += most)
    await db
      .deleteFrom('payloads')
      .where('digest', 'in', digests.slice(at, at + most))
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom('payload_uses').select('session').whereRef('payload_uses.digest', '=', 'payloads.digest'))),
      )
      .execute();
}
