import type { LogEvent } from '@guardloop/core';
import { checkTtl } from '../check-arguments.js';
import type { CodecOptions } from '../codec.js';
import { makeCodec, placeOf, writeName } from '../codec.js';
import type { LiveText, LiveTexts, Store } from '../contract.js';
import { Calls } from './calls.js';
import type { SqlDatabase } from './database.js';
import { payloadReader } from './payloads.js';
import { sqlApprovals } from './sql-approvals.js';
import type { SqlContext } from './sql-context.js';
import { nowOf, timeOf } from './sql-context.js';
import { appendEvents, loadEvents } from './sql-log.js';
import { sqlRuns } from './sql-runs.js';
import { sessionIsLive, sqlSessions, sweepSessions } from './sql-sessions.js';
import { Stands } from './stands.js';

/** Options that every SQL store takes. */
export interface SqlStoreOptions extends CodecOptions {
  /** How long a session stays after its last event, milliseconds, where `sessions.create` says nothing else. Default: for ever. */
  readonly ttlMs?: number | undefined;
}

/** The whole store over one SQL database. Throws CONFIG_INVALID. */
export function sqlStore(database: SqlDatabase, options: SqlStoreOptions = {}): Store {
  const { ttlMs, blobChars, encryption } = options;
  checkTtl(ttlMs);
  const context: SqlContext = {
    database,
    codec: makeCodec({ blobChars, encryption }),
    wholeCodec: makeCodec({ blobChars: Number.POSITIVE_INFINITY, encryption }),
    ttlMs,
    stands: new Stands(),
  };
  const calls = new Calls();
  return {
    ...calls.counted({
      load: (id: string, afterSeq?: number) => loadEvents(context, id, afterSeq),
      append: (id: string, events: readonly LogEvent[], afterSeq: number) => appendEvents(context, id, { events, afterSeq }),
      now: () => database.read((db) => timeOf(db, context)),
      // Payloads go with the last session that uses them.
      sweep: () => sweepSessions(context),
    }),
    sessions: calls.counted(sqlSessions(context)),
    approvals: calls.counted(sqlApprovals(context)),
    runs: calls.counted(sqlRuns(context)),
    live: calls.counted(sqlLives(context)),
    watch: (session, listener) => database.watching.watch(session, listener),
    async close() {
      if (await calls.close()) await database.close();
    },
  };
}

function sqlLives(context: SqlContext): LiveTexts {
  const { database, wholeCodec } = context;
  return {
    async put(id, live) {
      const session = writeName(id);
      const encoded = await wholeCodec.encode(live === undefined ? [] : [{ place: placeOf('live', session), value: live }]);
      const [content] = encoded.rows.map(({ text }) => text);
      await database.once(async (db) => {
        if (content === undefined) await db.deleteFrom('lives').where('session', '=', session).execute();
        else
          await db
            .insertInto('lives')
            .columns(['session', 'content'])
            .expression(({ selectFrom, val }) =>
              selectFrom('sessions')
                .select(['sessions.id', val(content).as('content')])
                .where('sessions.id', '=', session),
            )
            .onConflict((conflict) => conflict.column('session').doUpdateSet({ content }))
            .execute();
      });
      database.watching.announce(id);
    },
    async get(id) {
      const session = writeName(id);
      return database.read(async (db) => {
        const row = await db
          .selectFrom('lives')
          .select('content')
          .where('session', '=', session)
          .where(sessionIsLive(nowOf(context), 'lives'))
          .executeTakeFirst();
        if (row === undefined) return undefined;
        const [live] = await wholeCodec.decode([{ place: placeOf('live', session), text: row.content }], payloadReader(db));
        return live as LiveText;
      });
    },
  };
}
