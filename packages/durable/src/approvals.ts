import type { ApprovalRecord, DecideOutcome, Store } from '@guardloop/store';
import type { Engine } from './engine.js';
import { makeDue } from './run-changes.js';
import type { DurableApprovals } from './types.js';

/** Approvals as records, whose decisions make their runs due. */
export function durableApprovals({ store, engine }: { readonly store: Store; readonly engine: Engine }): DurableApprovals {
  return {
    get: (id) => store.approvals.get(id),
    list: (query) => store.approvals.list(query),
    async decide(id, decision, options) {
      const found = await store.approvals.get(id);
      if (found === undefined) return { status: 'unknown' };
      const late = await tooLate(store, found);
      if (late) return late;
      const outcome = await store.approvals.decide(id, decision, options);
      // Also where it was decided before: whoever did may have died in between.
      if (outcome.status === 'recorded' || (outcome.status === 'already' && outcome.approval.state === 'decided')) {
        const due = await makeDue(store, found.run);
        if (due) await engine.kick(due);
      }
      return outcome;
    },
  };
}

/** A run that has ended, or is to be ended, takes no decisions. */
async function tooLate(store: Store, approval: ApprovalRecord): Promise<DecideOutcome | undefined> {
  if (approval.state !== 'open') return undefined;
  const run = await store.runs.get(approval.run);
  return run && (run.state === 'ended' || run.cancel) ? { status: 'late', why: 'void', approval } : undefined;
}
