import type { RunRecord, Store } from '@guardloop/store';
import { approvalsOfRun } from './approvals-of-run.js';
import type { ApprovalTimes } from './types.js';

/** Sets the times of the questions that a run asks now, where they have none yet. */
export async function scheduleApprovals(
  store: Store,
  run: Pick<RunRecord, 'id' | 'session'>,
  times: ApprovalTimes | undefined,
): Promise<void> {
  const { remindAfterMs, expireAfterMs } = times ?? {};
  if (remindAfterMs === undefined && expireAfterMs === undefined) return;
  const { items } = await approvalsOfRun(store, run, 'open');
  for (const { id, requestedAt, remindAt, expiresAt } of items) {
    // One that is put before people anew keeps its end, and has no reminder left.
    const isNew = remindAt === undefined && expiresAt === undefined;
    const times = {
      ...(remindAfterMs === undefined || remindAt !== undefined ? {} : { remindAt: Math.ceil(requestedAt + remindAfterMs) }),
      ...(expireAfterMs === undefined || !isNew ? {} : { expiresAt: Math.ceil(requestedAt + expireAfterMs) }),
    };
    if (Object.keys(times).length > 0) await store.approvals.schedule(id, times);
  }
}
