// DBOS on PostgreSQL as the engine: it queues kicks, times them, and brings them to a worker of some machine.
import { AsyncResource } from 'node:async_hooks';
import { DBOSClient } from '@dbos-inc/dbos-sdk';
import { GuardloopError } from '@guardloop/core';
import type { RunRecord } from '@guardloop/store';
import { kickOptions } from './dbos/kicks.js';
import { join } from './dbos/process.js';
import type { DbosLogger, DbosSettings } from './dbos/settings.js';
import { silent } from './dbos/settings.js';
import type { Engine, EngineWork, EngineWorker } from './engine.js';
import { lookInterval } from './look-interval.js';
import type { Places } from './places.js';
import { openPlaces } from './places.js';
import { invalid, OptionReader } from './read-options.js';
import { isWellFormed } from './well-formed.js';

export type { DbosLogger } from './dbos/settings.js';

export interface DbosOptions {
  /** `postgresql://…` of the database that holds DBOS's tables; it may be the store's. They are made when the first worker starts. */
  readonly databaseUrl: string;
  /** Schema of DBOS's tables. Default `dbos`. */
  readonly schema?: string | undefined;
  /** DBOS's name for the application: those of one name share kicks, others know nothing of them. Without `:`. Default `guardloop`. */
  readonly application?: string | undefined;
  /** How often a worker asks for kicks, milliseconds, 10 to 60,000. Default 200: a kick reaches an idle worker after 100 on average. */
  readonly pollMs?: number | undefined;
  /**
   * How often a worker looks for runs whose kick was lost or met a limit, and for those of dead workers, milliseconds, 50 to 60,000.
   * Default: a third of the lease, at most 2,000.
   */
  readonly lookMs?: number | undefined;
  /** How long the rows of kicks that are done stay in DBOS, milliseconds. Default 3,600,000: an hour. */
  readonly keepMs?: number | undefined;
  /** How long a kick waits for the database, milliseconds. Default 5,000; then workers find the run by looking. */
  readonly kickMs?: number | undefined;
  /** Where DBOS's own log lines go: ids and states, nothing of a run's content. Default: nowhere. */
  readonly logger?: DbosLogger | undefined;
}

const names = ['databaseUrl', 'schema', 'application', 'pollMs', 'lookMs', 'keepMs', 'kickMs', 'logger'] as const;

function readSettings(options: DbosOptions): DbosSettings {
  const reader = new OptionReader('dbosEngine', options, names);
  const databaseUrl = reader.get('databaseUrl');
  if (typeof databaseUrl !== 'string' || !/^postgres(ql)?:\/\/./.test(databaseUrl))
    invalid('dbosEngine: `databaseUrl` is not the address of a PostgreSQL database. Give `postgresql://user@host:port/database`.');
  const logger = reader.get('logger');
  if (logger !== undefined && (typeof logger !== 'object' || logger === null))
    reader.refuse('logger', 'Give an object with info, debug, warn and error, or leave it out.');
  return {
    databaseUrl,
    schema: reader.text('schema', 63) ?? 'dbos',
    application: readApplication(reader),
    pollMs: reader.number('pollMs', { least: 10, most: 60_000 }) ?? 200,
    lookMs: reader.number('lookMs', { least: 50, most: 60_000 }),
    keepMs: reader.number('keepMs', { least: 1_000 }) ?? 3_600_000,
    kickMs: reader.number('kickMs', { least: 1, most: 600_000 }) ?? 5_000,
    logger: options.logger ?? silent,
  };
}

function readApplication(reader: OptionReader<(typeof names)[number]>): string {
  const application = reader.text('application', 100) ?? 'guardloop';
  return application.includes(':') || !isWellFormed(application) ? reader.refuse('application', 'Give a name without `:`.') : application;
}

/** No worker has been started yet: one that starts looks for what is due. SQLSTATE: no such database, schema, table. */
const hasNoTables = (error: unknown) => ['3D000', '3F000', '42P01'].includes((error as { readonly code?: string } | null)?.code ?? '');

/**
 * Runs over many machines with DBOS on PostgreSQL. DBOS queues, delays and distributes kicks: one small workflow for each change of a
 * record, which asks the store for the run and advances it. What is running, waiting, limited or lost stands in the store alone, so a run
 * that waits for people is nothing in DBOS but a row that is done.
 *
 * Needs `@dbos-inc/dbos-sdk`. DBOS is one for each process: a process that launches it itself cannot hold a worker, but can kick. Of
 * several workers in one process the first one's queues are listened to; the others' runs are found by looking. DBOS keeps one
 * `concurrency` for a queue, that of the worker that started last: give all workers the same.
 *
 * Throws `CONFIG_INVALID`. `kick` rejects with `STORE_FAILED` where the database refuses it; one that cannot be reached for `kickMs` is no
 * error, since workers look for runs too.
 */
export function dbosEngine(options: DbosOptions): Engine {
  const settings = readSettings(options);
  let connecting: Promise<DBOSClient> | undefined;
  let isClosed = false;
  const connect = (): Promise<DBOSClient> => {
    connecting ??= DBOSClient.create({
      systemDatabaseUrl: settings.databaseUrl,
      systemDatabaseSchemaName: settings.schema,
      systemDatabasePoolSize: 2,
      applicationName: settings.application,
      logger: settings.logger,
    }).catch((error) => {
      connecting = undefined;
      throw error;
    });
    return connecting;
  };

  const enqueue = async (run: RunRecord): Promise<void> => {
    const kick = kickOptions(settings.application, run);
    if (kick === undefined) return;
    try {
      await (await connect()).enqueue<(run: string, queue: string) => Promise<void>>(kick, run.id, run.queue);
    } catch (cause) {
      if (hasNoTables(cause) || isClosed) return;
      throw new GuardloopError(
        'STORE_FAILED',
        `The run ${run.id} is recorded, but DBOS could not be told of it. Workers find it by looking.`,
        { cause },
      );
    }
  };

  return {
    name: 'dbos',
    async kick(run) {
      if (isClosed) invalid('dbosEngine: this engine is closed. Make another one.');
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, settings.kickMs);
      });
      const sent = enqueue(run);
      // A kick that is sent later than `late` has nobody who waits for it.
      sent.catch(() => undefined);
      await Promise.race([sent, late]).finally(() => clearTimeout(timer));
    },
    work: (work) => startWorker(settings, work),
    async close() {
      isClosed = true;
      await connecting?.then((client) => client.destroy()).catch(() => undefined);
    },
  };
}

async function startWorker(settings: DbosSettings, work: EngineWork): Promise<EngineWorker> {
  let places: Places | undefined;
  const leave = await join(settings, {
    owner: work.owner,
    store: work.store,
    queues: work.queues.map(({ queue }) => queue),
    concurrency: work.concurrency,
    leaseMs: work.leaseMs,
    free: () => places?.free ?? 0,
    take: AsyncResource.bind(async () => places?.take() ?? { status: 'nothing' }),
  });
  const opened = openPlaces(work, settings.lookMs ?? lookInterval(work.leaseMs));
  places = opened;
  return { stop: () => leave(opened.stop()) };
}
