// What the server needs of durable runs. Types only.
import type { DurableClient } from '@guardloop/durable';
import type { RunRecords, SessionRecords } from '@guardloop/store';

/** Durable runs, as `durable` and `durableClient` of `@guardloop/durable` make them. */
export interface RunsService extends Pick<DurableClient, 'submit' | 'status' | 'cancel' | 'result' | 'events' | 'list' | 'approvals'> {
  readonly store: {
    readonly sessions: Pick<SessionRecords, 'get' | 'list' | 'delete'>;
    readonly runs: Pick<RunRecords, 'get'>;
  };
}
