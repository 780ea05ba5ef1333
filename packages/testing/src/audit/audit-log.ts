import type { GuardVerdictEvent, Log, LogEvent, RunEndEvent, RunResumeEvent, RunStartEvent } from '@guardloop/core';
import { fromLog, numberedAnew } from '../from-log.js';
import { auditModelEnd, auditModelStart } from './answer-audit.js';
import { auditApprovalRequest, auditApprovalResolve } from './approval-audit.js';
import { auditHandoff, auditHandoffRefused, auditToolEnd, auditToolStart } from './call-audit.js';
import { newConversation, record, takeOver } from './conversation-audit.js';
import { checkCount, noteAnswer } from './count-audit.js';
import { auditInputAccept, readRefusedInput } from './entry-audit.js';
import type { Audit, RunAudit } from './run-audit.js';
import { find, isEqual, keyOf, runLevel } from './run-audit.js';
import { endAtStart } from './standing-audit.js';
import { checkRefusal } from './verdict-group.js';

/**
 * Finds every breach of complete mediation in a log: content that crossed a boundary without the answer of a guardrail that stood there,
 * with an answer on another revision, or against an answer; calls that do not end exactly once; approvals that were not asked for, not
 * given, or given for something else. `[]` says that all is as it must be.
 *
 * It works from the log alone: which guardrails stood where is told by the manifests in `run.start`, `run.resume` and `handoff`. The log
 * may be of one run or of a session, ended or interrupted. Each finding names the event and what was expected. Throws LOG_INVALID for what
 * is no log, and where an event does not have the form of its type; a wrong number of an event is a finding.
 *
 * ```ts
 * expect(auditLog(result.log)).toEqual([]);
 * ```
 */
export function auditLog(log: Log): readonly string[] {
  // What a word says that nobody knows is found where it matters; so is a wrong number.
  return fromLog(numberedAnew(log), () => auditEvents(log.events), { words: 'any' });
}

function auditEvents(events: readonly LogEvent[]): readonly string[] {
  const audit: Audit = {
    findings: [],
    runs: new Map(),
    conversation: newConversation(),
    standing: [],
    effects: new Map(),
    root: undefined,
  };
  let seq = 0;
  for (const event of events) {
    seq += 1;
    if (event.seq !== seq) find(audit, event, `its number is ${event.seq}, expected ${seq}`);
    if (event.type === 'run.start') auditRunStart(audit, event);
    else auditEvent(audit, event);
  }
  return audit.findings;
}

function auditRunStart(audit: Audit, event: RunStartEvent): void {
  if (audit.runs.has(event.run)) find(audit, event, 'the run was started before');
  const parent = event.parent === undefined ? undefined : audit.runs.get(event.parent);
  if (event.parent !== undefined) checkParent(audit, event, parent);
  else if (audit.root && !audit.root.ended) find(audit, event, `run ${audit.root.id} before it has no end`);
  const conversation = parent === undefined ? audit.conversation : newConversation();
  const run: RunAudit = {
    id: event.run,
    parent,
    conversation,
    agent: event.agent,
    manifest: event.manifest,
    accepted: false,
    turn: 0,
    openTurn: undefined,
    calls: new Map(),
    quarantine: undefined,
    asked: new Map(),
    pending: new Map(),
    uncounted: new Map(),
    refusals: [],
    refusal: undefined,
    written: new Set(),
    answer: undefined,
    isLast: false,
    ended: false,
    resumed: 0,
  };
  audit.runs.set(run.id, run);
  if (parent === undefined) audit.root = run;
  endAtStart(audit, event, conversation.agent);
  const isSame = conversation.agent === event.agent;
  takeOver(conversation, event.agent, isSame ? conversation.view : conversation.messages.map(({ id }) => id));
}

function checkParent(audit: Audit, event: RunStartEvent, parent: RunAudit | undefined): void {
  const call = event.call === undefined ? undefined : parent?.calls.get(event.call);
  if (parent === undefined) find(audit, event, `its parent run ${event.parent} is not in the log`);
  else if (call === undefined || call.ended || call.started === undefined || call.call.kind !== 'agent') {
    find(audit, event, `call ${event.call} of run ${parent.id} is no started call of an agent`);
  } else if (event.run !== `${parent.id}/${event.call}`)
    find(audit, event, `a child run of call ${event.call} is named ${parent.id}/${event.call}`);
  if (parent && !isEqual(event.manifest.run, runLevel(parent)))
    find(audit, event, 'its manifest does not keep the guardrails of the outermost run');
}

function auditEvent(audit: Audit, event: Exclude<LogEvent, RunStartEvent>): void {
  const run = audit.runs.get(event.run);
  if (run === undefined) {
    find(audit, event, 'the run was never started');
    return;
  }
  if (run.ended && event.type !== 'run.resume') find(audit, event, 'the run has ended');
  if (event.agent !== run.agent) find(audit, event, `it names agent ${event.agent}, but ${run.agent} is active`);
  if (event.parent !== run.parent?.id) find(audit, event, `it names the parent ${event.parent}, but the run's is ${run.parent?.id}`);
  checkCount(audit, run, event);
  dispatch(audit, run, event);
}

function dispatch(audit: Audit, run: RunAudit, event: Exclude<LogEvent, RunStartEvent>): void {
  switch (event.type) {
    case 'run.resume':
      auditRunResume(audit, run, event);
      break;
    case 'guard.verdict':
      auditVerdict(audit, run, event);
      break;
    case 'input.accept':
      auditInputAccept(audit, run, event);
      break;
    case 'model.start':
      auditModelStart(audit, run, event);
      break;
    case 'model.end':
      auditModelEnd(audit, run, event);
      break;
    case 'approval.request':
      auditApprovalRequest(audit, run, event);
      break;
    case 'approval.resolve':
      auditApprovalResolve(audit, run, event);
      break;
    case 'tool.start':
      auditToolStart(audit, run, event);
      break;
    case 'tool.end':
      auditToolEnd(audit, run, event);
      break;
    case 'handoff':
      auditHandoff(audit, run, event);
      break;
    case 'handoff.refused':
      auditHandoffRefused(audit, run, event);
      break;
    case 'run.end':
      auditRunEnd(audit, run, event);
      break;
    case 'monitor.alert':
      break;
    default:
      event satisfies never;
  }
}

/** Whatever was judged and not committed is void: it is asked again. */
function auditRunResume(audit: Audit, run: RunAudit, event: RunResumeEvent): void {
  if (run.ended && !event.reopens) find(audit, event, 'the run has ended, and is not said to be reopened');
  run.ended = false;
  run.manifest = event.manifest;
  for (const each of audit.runs.values()) {
    if (each.ended) continue;
    each.pending.clear();
    each.uncounted.clear();
    if (!each.accepted) each.written.clear();
    each.resumed = event.seq;
  }
}

function auditVerdict(audit: Audit, run: RunAudit, event: GuardVerdictEvent): void {
  noteAnswer(run, event);
  const key = keyOf(event.surface, event.subject);
  const before = run.pending.get(key);
  if (before) before.push(event);
  else run.pending.set(key, [event]);
  const canAsk = event.surface !== 'input' && event.surface !== 'toolOutput';
  if (event.action === 'ask' && !canAsk)
    find(audit, event, `${event.guardrail} asks for a person, which nobody can do on ${event.surface}`);
  if (event.action === 'rewrite' && event.phase === 'check') find(audit, event, `${event.guardrail} rewrites in the phase of checks`);
  if (event.failed && event.reason !== `guardrail ${event.guardrail} failed`)
    find(audit, event, `${event.guardrail} failed, and the reason must say just that`);
  if (event.failure !== undefined && !event.failed) find(audit, event, `${event.guardrail} is said to have failed, and not to have failed`);
}

function auditRunEnd(audit: Audit, run: RunAudit, event: RunEndEvent): void {
  run.ended = true;
  for (const [id, call] of run.calls) if (!call.ended) find(audit, event, `call ${id} has no end`);
  if (event.status === 'completed') checkCompleted(audit, run, event);
  if (event.status === 'exhausted' && event.text !== undefined) checkCompleted(audit, run, event);
  if (event.status === 'blocked') checkBlocked(audit, run, event);
  run.refusal = event.refusal;
  // Where a run is stopped, what was judged last may be void.
  if (event.status === 'completed' || event.status === 'blocked') {
    for (const verdict of [...run.pending.values()].flat())
      find(audit, event, `the verdict of ${verdict.guardrail} at seq ${verdict.seq} belongs to nothing that was judged`);
  }
  if (run.parent && event.refusal) run.parent.refusals.push(event.refusal);
  if (event.reply !== undefined && run.accepted) record(run.conversation, { id: `${run.id}/reply` });
  run.pending.clear();
}

function checkCompleted(audit: Audit, run: RunAudit, event: RunEndEvent): void {
  if (run.answer === undefined) find(audit, event, 'the run ends with an answer, but none passed');
  else if (event.text !== run.answer.text || !isEqual(event.value, run.answer.value))
    find(audit, event, 'the run ends with another answer than the one that passed');
}

function checkBlocked(audit: Audit, run: RunAudit, event: RunEndEvent): void {
  const { refusal } = event;
  if (refusal === undefined) {
    find(audit, event, 'the run is blocked, but nothing says by whom');
    return;
  }
  const isEntry = refusal.surface === 'input' && !run.refusals.some((each) => isEqual(each, refusal));
  if (isEntry) {
    checkRefusal(audit, event, { refusal, refused: readRefusedInput(audit, run, event) });
    return;
  }
  const isKnown = run.refusals.some(
    ({ by, action, surface, reason }) =>
      by === refusal.by && action === refusal.action && surface === refusal.surface && reason === refusal.reason,
  );
  if (!isKnown)
    find(audit, event, `the run is blocked by ${refusal.action} of ${refusal.by} on ${refusal.surface}, which nothing in it says`);
}
