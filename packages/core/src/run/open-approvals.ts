import type { Approval, ApprovalFlow } from '../state/events.js';
import type { RunState } from '../state/state.js';

const undeclared: ApprovalFlow = Object.freeze({ effect: 'write', authority: 'all', declared: false });

/** Everything that waits for people, in this run and in its child runs. */
export function openApprovals(state: RunState): readonly Approval[] {
  const approvals: Approval[] = [];
  if (state.quarantine && state.quarantine.decision === undefined) approvals.push(complete(state, state.quarantine.approval));
  for (const call of state.calls.values()) {
    if (call.phase === 'waiting' && call.approval) approvals.push(complete(state, call.approval));
    const child = call.phase === 'started' ? state.children?.get(call.call.id) : undefined;
    if (child) approvals.push(...openApprovals(child));
  }
  return approvals;
}

/** Logs of 0.1 do not say what an approval depends on: the strictest is taken. */
function complete(state: RunState, approval: Approval): Approval {
  const { label, untrustedFrom } = approval as Partial<Approval>;
  if (label !== undefined && untrustedFrom !== undefined) return approval;
  const strictest = { ...approval, label: { origin: `agent:${state.agent}`, integrity: 'untrusted' }, untrustedFrom: [] } as const;
  if (strictest.surface === 'toolInput') return { ...strictest, flow: undeclared };
  return strictest.surface === 'output' ? { ...strictest, turn: state.quarantine?.turn ?? 0, calls: 0 } : strictest;
}
