import { checkNewRun, maxLeaseMs } from './check-arguments.js';
import type { NewRun, RunChange, RunRecord } from './contract.js';

/** The record of a run that was just submitted. Throws CONFIG_INVALID. */
export function newRunRecord(run: NewRun, now: number): RunRecord {
  checkNewRun(run);
  const { id, session, agent, queue, priority, dueAt, submission, abandons, owner, tenant } = run;
  return {
    id,
    session,
    ...(owner === undefined ? {} : { owner }),
    ...(tenant === undefined ? {} : { tenant }),
    agent,
    queue,
    priority,
    state: 'queued',
    submission,
    abandons,
    attempts: 0,
    dueAt,
    createdAt: now,
    updatedAt: now,
    version: 1,
  };
}

/** The record after a change, one version on. A run that is not `running` has no lease, one that is not `ended` no status. */
export function changedRun(record: RunRecord, change: RunChange, now: number): RunRecord {
  const { status: statusBefore, cancel: cancelBefore, lease: leaseBefore, trouble: troubleBefore, ...rest } = record;
  const state = change.state ?? record.state;
  const status = state === 'ended' ? (change.status ?? statusBefore) : undefined;
  const cancel = change.cancel === undefined ? cancelBefore : (change.cancel ?? undefined);
  const trouble = change.trouble === undefined ? troubleBefore : (change.trouble ?? undefined);
  const lease = state === 'running' && change.lease !== null ? leaseBefore : undefined;
  return {
    ...rest,
    ...(change.submission === undefined ? {} : { submission: change.submission }),
    state,
    ...(status === undefined ? {} : { status }),
    ...(cancel === undefined ? {} : { cancel }),
    ...(lease === undefined ? {} : { lease }),
    ...(trouble === undefined ? {} : { trouble }),
    dueAt: change.dueAt ?? record.dueAt,
    attempts: change.attempts ?? record.attempts,
    updatedAt: now,
    version: record.version + 1,
  };
}

type Timed = Pick<RunRecord, 'state' | 'dueAt' | 'lease' | 'updatedAt'>;

/** Whether a worker may take it, apart from its session and the limits of its queue. */
export function isDue(run: Timed, now: number): boolean {
  return (run.state === 'queued' && isTimeCome(run, now)) || (run.state === 'running' && run.lease !== undefined && !isHeld(run, now));
}

/** Whether the time of a queued run has come: by the clock now, or by what it was when that was written. */
export function isTimeCome({ dueAt, updatedAt }: Pick<RunRecord, 'dueAt' | 'updatedAt'>, now: number): boolean {
  return dueAt <= now || dueAt <= updatedAt;
}

/**
 * Until when a run needs its session, whose time to live counts from then on: one that is `queued` until it is due, one that somebody has
 * until the lease is over. Undefined: one that waits or has ended keeps no session.
 */
export function neededUntil({ state, dueAt, lease }: Pick<RunRecord, 'state' | 'dueAt' | 'lease'>, now: number): number | undefined {
  if (state === 'queued') return Math.max(now, dueAt);
  return state === 'running' ? Math.max(now, lease?.until ?? now) : undefined;
}

/** Whether somebody has it: a `running` one without a lease is held by what made it so. */
export function isHeld({ state, lease }: Pick<RunRecord, 'state' | 'lease'>, now: number): boolean {
  return state === 'running' && (lease === undefined || (lease.until > now && lease.until <= now + maxLeaseMs));
}
