import type { Approval, ApprovalResolveEvent, HandoffEvent, JsonObject, RunStartEvent, StandingApproval } from '@guardloop/core';
import type { Audit, RunAudit } from './run-audit.js';
import { find, isEqual } from './run-audit.js';

interface Resolved {
  readonly event: ApprovalResolveEvent;
  readonly approval: Approval;
  /** Seq of its `approval.request`. */
  readonly asked: number;
}

/** Who decided: a person, who comes with a `run.resume`, or a standing decision that holds for this call. */
export function auditDecider(audit: Audit, run: RunAudit, on: Resolved): void {
  const { event, approval, asked } = on;
  if (event.byStanding !== undefined) auditUse(audit, on);
  else if (event.decision !== 'void' && asked > run.resumed)
    find(
      audit,
      event,
      `approval ${approval.id} was asked at seq ${asked}, and nobody has resumed the run since: no person can have decided it`,
    );
  if (event.standing) auditGiven(audit, on, event.standing);
}

function auditGiven(audit: Audit, { event, approval }: Resolved, decision: StandingApproval): void {
  if (event.decision !== 'approve' || approval.surface !== 'toolInput' || event.byStanding !== undefined)
    find(audit, event, 'a standing decision can only be given with the approval of a call, by a person');
  else if (!isFor(decision, approval) || !fits(decision, approval.input))
    find(audit, event, `the standing decision does not fit the call of ${approval.tool} that it was given for`);
  audit.standing.push({ id: event.id, seq: event.seq, decision, endedBy: undefined });
}

function auditUse(audit: Audit, { event, approval, asked }: Resolved): void {
  const given = audit.standing.find(({ id }) => id === event.byStanding);
  const wrong = (what: string): void =>
    find(audit, event, `approval ${approval.id} was given by the standing decision of ${event.byStanding}, ${what}`);
  if (given === undefined) {
    wrong('but none was given with that approval');
    return;
  }
  const { decision, seq, endedBy } = given;
  if (event.decision !== 'approve') wrong(`which can only approve, not ${event.decision}`);
  if (endedBy !== undefined) wrong(`which ${endedBy} had ended`);
  if (asked < seq) wrong(`which was made at seq ${seq}, after the question of seq ${asked}`);
  if (decision.expiresAt !== undefined && !(event.at < decision.expiresAt)) wrong(`which had expired at ${decision.expiresAt}`);
  if (approval.surface !== 'toolInput') {
    wrong(`which does not hold on ${approval.surface}`);
    return;
  }
  if (!isFor(decision, approval)) wrong(`which is for ${decision.tool} of ${decision.agentPath.join(' > ')}`);
  if (!fits(decision, approval.input)) wrong('but the input of the call does not fit it');
  if (approval.mayHaveRun || approval.caller || approval.asks.some(({ by }) => by === 'core'))
    wrong('but core asked, and only a person can answer that');
}

const isFor = ({ agentPath, tool }: StandingApproval, approval: Approval): boolean =>
  tool === approval.tool && isEqual(agentPath, approval.agentPath);

function fits({ when, exact }: StandingApproval, input: JsonObject): boolean {
  if (exact) return isEqual(when, input);
  return Object.entries(when).every(([name, value]) => Object.hasOwn(input, name) && isEqual(input[name], value));
}

/** The decisions for an agent that is left end, and those for agents below it. */
function endPath(audit: Audit, path: readonly string[], by: string): void {
  for (const each of audit.standing) if (path.every((agent, index) => each.decision.agentPath[index] === agent)) each.endedBy ??= by;
}

export function endAtHandoff(audit: Audit, run: RunAudit, event: HandoffEvent): void {
  const path: string[] = [event.from];
  for (let each = run.parent; each; each = each.parent) path.unshift(each.agent);
  endPath(audit, path, `the handoff at seq ${event.seq}`);
}

/** A run that another agent starts leaves the one that was active in the session. */
export function endAtStart(audit: Audit, event: RunStartEvent, active: string | undefined): void {
  if (event.parent === undefined && active !== undefined && active !== event.agent)
    endPath(audit, [active], `the start of ${event.agent} at seq ${event.seq}`);
}
