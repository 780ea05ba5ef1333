import type { Approval, ApprovalRequestEvent, ApprovalResolveEvent } from '@guardloop/core';
import { isOwnAsk, names } from './answer-audit.js';
import type { Audit, CallAudit, RunAudit } from './run-audit.js';
import { find, isEqual, keyOf } from './run-audit.js';
import { auditDecider } from './standing-audit.js';
import { readGroup, standingOn } from './verdict-group.js';

type OutputApproval = Extract<Approval, { surface: 'output' }>;
type CallOrHandoff = Exclude<Approval, { surface: 'output' }>;

export function auditApprovalRequest(audit: Audit, run: RunAudit, event: ApprovalRequestEvent): void {
  const { approval } = event;
  if (run.asked.has(approval.id)) find(audit, event, `approval ${approval.id} was requested before`);
  run.asked.set(approval.id, event.seq);
  if (approval.run !== run.id) find(audit, event, `approval ${approval.id} is of run ${approval.run}`);
  if (approval.surface === 'output') requestOutput(audit, run, { event, approval });
  else requestCall(audit, run, { event, approval });
}

function requestOutput(audit: Audit, run: RunAudit, on: { readonly event: ApprovalRequestEvent; readonly approval: OutputApproval }): void {
  const { event, approval } = on;
  const turn = run.openTurn;
  if (turn === undefined || event.turn !== turn)
    find(
      audit,
      event,
      `it stands in place of the end of turn ${event.turn}, but ${turn === undefined ? 'no turn' : `turn ${turn}`} is open`,
    );
  const subject = `${run.id}/${event.turn}`;
  if (approval.subject !== subject) find(audit, event, `its subject is ${approval.subject}, expected ${subject}`);
  const standing = standingOn(run, 'output');
  const outcome = readGroup(audit, event, { run, wanted: { surface: 'output', subject, standing, phases: 'both', base: 0 } });
  const reasoning = readGroup(audit, event, {
    run,
    wanted: { surface: 'output', subject: `${subject}/reasoning`, standing, phases: 'both', base: 0, isOptional: true },
  });
  const refused = outcome.refused ?? reasoning.refused;
  if (refused) find(audit, event, `${refused.guardrail} answered ${refused.action} (seq ${refused.seq}); that is no question for a person`);
  if (!isEqual(approval.asks, [...outcome.asks, ...reasoning.asks]))
    find(audit, event, `it is asked by ${names(approval.asks)}, but ${names(outcome.asks)} asked`);
  if (approval.revision !== outcome.revision)
    find(audit, event, `it is about revision ${approval.revision}, but the verdicts made ${outcome.revision}`);
  run.openTurn = undefined;
  run.quarantine = { approval, turn: event.turn ?? 0, decision: undefined };
}

function requestCall(audit: Audit, run: RunAudit, on: { readonly event: ApprovalRequestEvent; readonly approval: CallOrHandoff }): void {
  const { event, approval } = on;
  const call = run.calls.get(approval.callId);
  if (call === undefined || call.ended) {
    find(audit, event, `call ${approval.callId} ${call ? 'has ended' : 'is not of the latest answer'}`);
    return;
  }
  const subject = `${run.id}/${approval.callId}`;
  if (approval.subject !== subject) find(audit, event, `its subject is ${approval.subject}, expected ${subject}`);
  if (call.open) find(audit, event, `call ${approval.callId} waits for approval ${call.open.id} already`);
  if (call.started !== undefined && !(approval.surface === 'toolInput' && approval.mayHaveRun))
    find(audit, event, `call ${approval.callId} has started, but a person is not told that it may have run`);
  if (approval.tool !== call.call.name)
    find(audit, event, `it is about tool ${approval.tool}, but call ${approval.callId} is of ${call.call.name}`);
  if (!isEqual(approval.input, call.input))
    find(audit, event, `it shows another input than the one of call ${approval.callId} that will run`);
  // Logs of 0.1 have none.
  if (approval.label !== undefined && !isEqual(approval.label, call.label))
    find(
      audit,
      event,
      `it has the label ${JSON.stringify(approval.label)}, but the answer that made call ${approval.callId} has ${JSON.stringify(call.label)}`,
    );
  const again = run.pending.has(keyOf(approval.surface, subject)) ? readAgain(audit, run, { event, approval, call }) : undefined;
  const revision = again?.revision ?? call.revision;
  if (approval.revision !== revision)
    find(audit, event, `it is about revision ${approval.revision} of call ${approval.callId}, but ${revision} will run`);
  const wanted = (again?.asks ?? call.asks).filter(({ by }) => !isOwnAsk(by));
  const byGuards = approval.asks.filter(({ by }) => !isOwnAsk(by));
  if (!isEqual(byGuards, wanted) && !(call.started !== undefined && byGuards.length === 0)) {
    find(audit, event, `it is asked by ${names(byGuards)}, but the guardrails that asked are ${names(wanted)}`);
  }
  call.open = approval;
  call.decision = undefined;
  call.refused = undefined;
  call.wasAsked = true;
}

function readAgain(
  audit: Audit,
  run: RunAudit,
  on: { readonly event: ApprovalRequestEvent; readonly approval: CallOrHandoff; readonly call: CallAudit },
) {
  const { event, approval, call } = on;
  const { surface, subject } = approval;
  const standing = surface === 'handoff' ? [...standingOn(run, surface), ...call.targetGuards] : standingOn(run, surface, call.call.name);
  const outcome = readGroup(audit, event, { run, wanted: { surface, subject, standing, phases: 'both', base: call.revision } });
  if (outcome.refused)
    find(
      audit,
      event,
      `${outcome.refused.guardrail} answered ${outcome.refused.action} (seq ${outcome.refused.seq}); that is no question for a person`,
    );
  call.revision = outcome.revision;
  return outcome;
}

export function auditApprovalResolve(audit: Audit, run: RunAudit, event: ApprovalResolveEvent): void {
  if (run.quarantine?.approval.id === event.id) {
    checkAgainst(audit, event, run.quarantine.approval);
    auditDecider(audit, run, { event, approval: run.quarantine.approval, asked: run.asked.get(event.id) ?? 0 });
    if (run.quarantine.decision) find(audit, event, `approval ${event.id} was decided before`);
    if (event.decision !== 'approve' && event.decision !== 'reject' && event.decision !== 'void')
      find(audit, event, `${event.decision} is no decision on an answer`);
    run.quarantine.decision = event;
    return;
  }
  const call = [...run.calls.values()].find(({ open }) => open?.id === event.id);
  if (call?.open === undefined) {
    find(audit, event, `approval ${event.id} is not open`);
    return;
  }
  const approval = call.open;
  call.open = undefined;
  call.decision = event;
  auditDecider(audit, run, { event, approval, asked: run.asked.get(event.id) ?? 0 });
  if (event.decision === 'edit') resolveEdit(audit, run, { event, call, approval });
  else checkAgainst(audit, event, approval);
}

function checkAgainst(audit: Audit, event: ApprovalResolveEvent, approval: Approval): void {
  for (const field of ['subject', 'revision', 'digest'] as const) {
    if (event[field] !== approval[field])
      find(audit, event, `its ${field} is ${event[field]}, but approval ${approval.id} was asked about ${approval[field]}`);
  }
}

function resolveEdit(
  audit: Audit,
  run: RunAudit,
  on: { readonly event: ApprovalResolveEvent; readonly call: CallAudit; readonly approval: Approval },
): void {
  const { event, call, approval } = on;
  const { surface, subject } = approval;
  if (event.subject !== subject)
    find(audit, event, `its subject is ${event.subject}, but approval ${approval.id} was asked about ${subject}`);
  const standing = surface === 'handoff' ? [...standingOn(run, surface), ...call.targetGuards] : standingOn(run, surface, call.call.name);
  const outcome = readGroup(audit, event, { run, wanted: { surface, subject, standing, phases: 'both', base: approval.revision + 1 } });
  if (event.revision !== outcome.revision)
    find(audit, event, `the edit is recorded at revision ${event.revision}, but its verdicts made ${outcome.revision}`);
  if (outcome.refused) {
    if (event.input)
      find(
        audit,
        event,
        `${outcome.refused.guardrail} answered ${outcome.refused.action} on the edit (seq ${outcome.refused.seq}), yet it is recorded`,
      );
    call.refused = outcome.refused;
    return;
  }
  call.revision = outcome.revision;
  if (event.input === undefined) find(audit, event, 'the edit passed, but is not recorded');
  else call.input = event.input;
  if ((event.changed ?? false) !== outcome.rewrites > 0)
    find(
      audit,
      event,
      `the edit is ${event.changed ? 'said to be changed, but no verdict rewrote it' : 'not said to be changed, but a verdict rewrote it'}`,
    );
  call.asks = event.changed ? outcome.asks : [];
  const byGuards = (event.asks ?? []).filter(({ by }) => !isOwnAsk(by));
  if (!isEqual(byGuards, call.asks)) find(audit, event, `it is to be asked anew by ${names(byGuards)}, but ${names(call.asks)} asked`);
}
