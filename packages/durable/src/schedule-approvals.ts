import type { Store } from '@guardloop/store';
import type { ApprovalTimes } from './types.js';

/** Sets the times of the questions that a run asks now, where they have none yet. */
export async function scheduleApprovals(store: Store, run: string, times: ApprovalTimes | undefined): Promise<void> {
  const { remindAfterMs, expireAfterMs } = times ?? {};
  if (remindAfterMs === undefined && expireAfterMs === undefined) return;
  const { items } = await store.approvals.list({ run, state: 'open', limit: 1_000 });
  for (const { id, requestedAt, remindAt, expiresAt } of items) {
    if (remindAt !== undefined || expiresAt !== undefined) continue;
    await store.approvals.schedule(id, {
      ...(remindAfterMs === undefined ? {} : { remindAt: Math.ceil(requestedAt + remindAfterMs) }),
      ...(expireAfterMs === undefined ? {} : { expiresAt: Math.ceil(requestedAt + expireAfterMs) }),
    });
  }
}
