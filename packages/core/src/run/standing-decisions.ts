import type { Approval } from '../state/events.js';
import { findStanding } from '../state/standing.js';
import { RunHandle } from './handle.js';
import { openApprovals } from './open-approvals.js';

/** Answers what was just asked, or was asked before a cut, by a standing decision that holds for it now. The log says which. */
export function answerByStanding(handle: RunHandle, approval: Approval): boolean {
  const { root, state } = handle;
  if (root.log.standing.length === 0 || root.settings.ignoresStanding) return false;
  const asked = root.events.findLast((event) => event.type === 'approval.request' && event.approval.id === approval.id);
  // One reading of the clock: the decision holds at the time that the event tells.
  const now = root.clock.now();
  const standing = asked && findStanding(root.log.standing, { approval, seq: asked.seq, now });
  if (standing === undefined) return false;
  const { id, subject, revision, digest } = approval;
  handle.publish({
    type: 'approval.resolve',
    seq: root.log.seq + 1,
    at: now,
    run: state.id,
    agent: state.agent,
    ...(state.parent === undefined ? {} : { parent: state.parent.id }),
    id,
    subject,
    revision,
    digest,
    decision: 'approve',
    byStanding: standing.id,
  });
  return true;
}

/** After a cut: what was asked while a standing decision held, and has no decision of its own now. */
export function answerOpenByStanding(handle: RunHandle, decided: ReadonlyMap<string, unknown>): void {
  const { root, agents } = handle;
  if (root.log.standing.length === 0) return;
  for (const approval of openApprovals(handle.state)) {
    const run = root.log.runs.get(approval.run);
    if (run && !decided.has(approval.id)) answerByStanding(new RunHandle(root, run, { agents }), approval);
  }
}
