// What the server needs of durable runs. Types only.
import type { DurableClient } from '@guardloop/durable';
import type { SessionRecords } from '@guardloop/store';

/** Durable runs, as `durable` and `durableClient` of `@guardloop/durable` make them. */
export interface RunsService
  extends Pick<DurableClient, 'submit' | 'status' | 'hasInput' | 'cancel' | 'result' | 'events' | 'list' | 'approvals'> {
  /**
   * The agents that are known here, which those that are offered must be among. Left out: none are known, and what is offered is not
   * checked.
   */
  readonly agents?: DurableClient['agents'];
  readonly store: {
    readonly sessions: Pick<SessionRecords, 'get' | 'list' | 'delete'>;
  };
}
