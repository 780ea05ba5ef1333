import type { DBOSConfig } from '@dbos-inc/dbos-sdk';
import type { Store } from '@guardloop/store';
import type { Places } from '../places.js';

/** Where DBOS's own log lines go. */
export type DbosLogger = NonNullable<DBOSConfig['logger']>;

/** The options of `dbosEngine`, read. */
export interface DbosSettings {
  readonly databaseUrl: string;
  readonly schema: string;
  readonly application: string;
  readonly pollMs: number;
  readonly lookMs: number | undefined;
  readonly keepMs: number;
  readonly kickMs: number;
  readonly logger: DbosLogger;
}

const ignore = () => undefined;
export const silent: DbosLogger = { info: ignore, debug: ignore, warn: ignore, error: ignore };

/** One worker of this process. */
export interface Member {
  readonly owner: string;
  readonly store: Store;
  readonly queues: readonly string[];
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly free: () => number;
  /** Called outside of DBOS's own context, so that a tool that uses DBOS is not taken for a step of a kick. */
  readonly take: Places['take'];
}
