import type { CallEnd, GuardVerdictEvent, HandoffEvent, HandoffRefusedEvent, ToolEndEvent, ToolStartEvent } from '@guardloop/core';
import { idOf, record, viewAfter } from './conversation-audit.js';
import { auditHandoffEntry, readRefusedEntry } from './entry-audit.js';
import type { Audit, CallAudit, RunAudit, Standing } from './run-audit.js';
import { find, isEqual, keyOf, runLevel } from './run-audit.js';
import { endAtHandoff } from './standing-audit.js';
import type { Outcome } from './verdict-group.js';
import { checkRefusal, readGroup, standingOn, targetGuardsOf, unknownGuards } from './verdict-group.js';

function findCall(
  audit: Audit,
  run: RunAudit,
  event: ToolStartEvent | ToolEndEvent | HandoffEvent | HandoffRefusedEvent,
): CallAudit | undefined {
  const call = run.calls.get(event.callId);
  if (call === undefined) find(audit, event, `call ${event.callId} is not of the latest answer`);
  return call;
}

export function auditToolStart(audit: Audit, run: RunAudit, event: ToolStartEvent): void {
  const call = findCall(audit, run, event);
  if (call === undefined) return;
  const { id, name } = call.call;
  if (call.ended || call.call.end) find(audit, event, `call ${id} ${call.ended ? 'has ended' : 'was not to run'}`);
  if (call.open) find(audit, event, `call ${id} starts while approval ${call.open.id} is open`);
  if (call.started !== undefined && run.resumed < call.started)
    find(audit, event, `call ${id} was started at seq ${call.started} already, and nothing was resumed since`);
  if (call.started !== undefined && event.once && call.decision === undefined)
    find(audit, event, `call ${id} may have run, and starts again without a person's approval`);
  if (event.tool !== name) find(audit, event, `it starts tool ${event.tool}, but call ${id} is of ${name}`);
  if (event.revision !== call.revision)
    find(audit, event, `it starts revision ${event.revision} of call ${id}, but ${call.revision} is what passed`);
  if (!isEqual(event.input, call.input)) find(audit, event, `call ${id} starts with another input than the one that passed`);
  if (event.idempotencyKey !== `${run.id}/${id}`)
    find(audit, event, `its idempotency key is ${event.idempotencyKey}, expected ${run.id}/${id}`);
  useApproval(audit, event, call);
  const outcome = readRecheck(audit, run, { event, call });
  if (outcome.refused)
    find(
      audit,
      event,
      `${outcome.refused.guardrail} answered ${outcome.refused.action} (seq ${outcome.refused.seq}) after the approval, yet call ${id} starts`,
    );
  call.decision = undefined;
  call.asks = [];
  call.started = event.seq;
  call.once ||= event.once === true;
}

/** What was asked must have been approved, at this revision. */
function useApproval(audit: Audit, event: ToolStartEvent | HandoffEvent, call: CallAudit): void {
  const { decision, asks, revision } = call;
  if (decision === undefined) {
    if (asks.length > 0)
      find(audit, event, `call ${call.call.id} goes on without the approval that ${asks.map(({ by }) => by).join(', ')} asked for`);
    return;
  }
  const isGiven = decision.decision === 'approve' || (decision.decision === 'edit' && !decision.changed);
  if (!isGiven)
    find(
      audit,
      event,
      `call ${call.call.id} goes on, but the decision of seq ${decision.seq} was ${decision.changed ? 'an edit that is to be asked anew' : decision.decision}`,
    );
  else if (decision.revision !== revision)
    find(audit, event, `revision ${decision.revision} of call ${call.call.id} was approved, but ${revision} goes on`);
}

/** After an approval the checks are asked again on the revision that runs. */
function readRecheck(
  audit: Audit,
  run: RunAudit,
  on: { readonly event: ToolStartEvent | ToolEndEvent; readonly call: CallAudit },
): Outcome {
  const { event, call } = on;
  const isDue = call.decision?.decision === 'approve';
  const standing = isDue ? standingOn(run, 'toolInput', call.call.name) : [];
  return readGroup(audit, event, {
    run,
    wanted: { surface: 'toolInput', subject: `${run.id}/${call.call.id}`, standing, phases: 'check', base: call.revision },
  });
}

export function auditToolEnd(audit: Audit, run: RunAudit, event: ToolEndEvent): void {
  const call = findCall(audit, run, event);
  if (call === undefined) return;
  const { id, name } = call.call;
  if (call.ended) find(audit, event, `call ${id} has ended before`);
  if (event.id !== `${run.id}/${id}`) find(audit, event, `the result of call ${id} has the id ${event.id}, expected ${run.id}/${id}`);
  if (event.tool !== name) find(audit, event, `it ends tool ${event.tool}, but call ${id} is of ${name}`);
  checkStatus(audit, event, call);
  const refused = readRefused(audit, run, { event, call });
  if (call.call.end) checkAnnounced(audit, event, call.call.end);
  else if (event.refusal?.action !== 'ask' && !isOfChild(audit, run, event))
    checkRefusal(audit, event, { refusal: event.refusal, refused });
  if (event.copyOf !== undefined) checkCopy(audit, run, event);
  if (event.refusal) run.refusals.push(event.refusal);
  call.open = undefined;
  call.decision = undefined;
  call.returned = event.handoff;
  call.ended = true;
  call.end = event;
  if (call.once && event.status === 'ok') audit.effects.set(event.id, { run, call });
  settleTurn(run);
}

/** A halt in a child run halts its parent, in the child's words. */
function isOfChild(audit: Audit, run: RunAudit, event: ToolEndEvent): boolean {
  const child = audit.runs.get(`${run.id}/${event.callId}`);
  return child?.refusal !== undefined && isEqual(child.refusal, event.refusal) && child.refusal.action === 'halt';
}

/** An answer that a tool gave cannot wait for a person, so an `ask` on it refuses. */
function checkAsk(audit: Audit, event: ToolEndEvent, answer: Outcome): void {
  const [ask] = answer.asks;
  if (ask === undefined || answer.refused) return;
  const { refusal } = event;
  if (refusal?.action !== 'ask' || refusal.by !== ask.by || refusal.surface !== 'output')
    find(audit, event, `${ask.by} asked for a person to look at the answer of call ${event.callId}, yet it was taken`);
}

function checkAnnounced(audit: Audit, event: ToolEndEvent, end: CallEnd): void {
  const said: CallEnd = {
    status: event.status,
    content: event.content,
    errorClass: event.errorClass,
    retryable: event.retryable,
    note: event.note,
    label: event.label,
    refusal: event.refusal,
  };
  const announced: CallEnd = {
    status: end.status,
    content: end.content,
    errorClass: end.errorClass,
    retryable: end.retryable,
    note: end.note ?? event.note,
    label: end.label,
    refusal: end.refusal,
  };
  if (!isEqual(said, announced)) find(audit, event, `call ${event.callId} ends otherwise than its answer had said`);
}

const startedStatus: { readonly [status in ToolEndEvent['status']]: boolean | undefined } = {
  ok: true,
  error: undefined,
  denied: false,
  rejected: false,
  aborted: false,
  unknown: undefined,
};

function checkStatus(audit: Audit, event: ToolEndEvent, call: CallAudit): void {
  const expected = startedStatus[event.status];
  const isStarted =
    call.started !== undefined || call.decision?.decision === 'result' || event.copyOf !== undefined || call.call.kind === 'handoff';
  if (expected === true && !isStarted) find(audit, event, `call ${event.callId} gives a result, but was never started`);
  if (expected === false && call.started !== undefined)
    find(audit, event, `call ${event.callId} was started, so it cannot end ${event.status}`);
  if (event.status === 'rejected' && event.copyOf === undefined && call.decision?.decision !== 'reject')
    find(audit, event, `call ${event.callId} ends rejected, but nobody rejected it`);
}

/** All that was judged on the way to this end: the verdict that counts against it. */
function readRefused(
  audit: Audit,
  run: RunAudit,
  on: { readonly event: ToolEndEvent; readonly call: CallAudit },
): GuardVerdictEvent | undefined {
  const { event, call } = on;
  if (call.call.kind === 'handoff' && call.call.end === undefined) return readRefusedHandoff(audit, run, on);
  if (call.refused) return call.refused;
  const before = call.started === undefined ? readRecheckAtEnd(audit, run, on) : undefined;
  if (before) return before;
  const subject = `${run.id}/${call.call.id}`;
  const isOut = call.started !== undefined || call.decision?.decision === 'result';
  // Core's own words about a failure carry core's label; what is the tool's carries the tool's.
  const isToolsOwn = event.label.origin === `tool:${event.tool}`;
  const isDue = isOut && event.copyOf === undefined && (event.status === 'ok' || (event.status === 'error' && isToolsOwn));
  const read = (end: string, isWanted: boolean): Outcome =>
    readGroup(audit, event, {
      run,
      wanted: {
        surface: 'toolOutput',
        subject: `${subject}${end}`,
        standing: standingOn(run, 'toolOutput', call.call.name),
        phases: 'both',
        base: 0,
        isOptional: !isWanted,
      },
    });
  const output = read('', isDue || (event.refusal?.surface === 'toolOutput' && !isOfChild(audit, run, event)));
  if ((isDue || (event.refusal && !output.isEmpty)) && event.revision !== output.revision)
    find(audit, event, `its output is recorded at revision ${event.revision}, but its verdicts made ${output.revision}`);
  const details = read('/details', event.details !== undefined);
  const projected = read('/projected', event.projection === 'user');
  const answer = readGroup(audit, event, {
    run,
    wanted: {
      surface: 'output',
      subject,
      standing: standingOn(run, 'output'),
      phases: 'both',
      base: 0,
      isOptional: event.answer === undefined && (event.refusal?.surface !== 'output' || isOfChild(audit, run, event)),
    },
  });
  if (event.answer && event.answer.revision !== answer.revision)
    find(audit, event, `its answer is recorded at revision ${event.answer.revision}, but its verdicts made ${answer.revision}`);
  checkAsk(audit, event, answer);
  return output.refused ?? details.refused ?? projected.refused ?? answer.refused;
}

function readRecheckAtEnd(
  audit: Audit,
  run: RunAudit,
  on: { readonly event: ToolEndEvent; readonly call: CallAudit },
): GuardVerdictEvent | undefined {
  if (!run.pending.has(keyOf('toolInput', `${run.id}/${on.call.call.id}`))) return undefined;
  return readRecheck(audit, run, on).refused;
}

function checkCopy(audit: Audit, run: RunAudit, event: ToolEndEvent): void {
  const earlier = audit.effects.get(event.copyOf ?? '');
  const original = earlier?.call ?? run.calls.get(event.copyOf ?? '');
  if (earlier !== undefined && !(isBeside(run, earlier.run) && isEqual(earlier.run.manifest, run.manifest)))
    find(audit, event, `call ${event.callId} shares the end of ${event.copyOf}, which is of no run beside it under the same guardrails`);
  if (original === undefined || !original.ended || original.call.name !== event.tool)
    find(audit, event, `call ${event.callId} shares the end of ${event.copyOf}, which is no ended call of ${event.tool}`);
  else if (!isEqual(original.end?.content, event.content) || original.end?.status !== event.status)
    find(audit, event, `call ${event.callId} shares the end of ${event.copyOf}, but ends otherwise`);
  else if (!isEqual(original.input, run.calls.get(event.callId)?.input))
    find(audit, event, `call ${event.callId} shares the end of ${event.copyOf}, but its input is another one`);
}

/** Both began under one run, which may be further up. */
function isBeside(run: RunAudit, other: RunAudit): boolean {
  for (let each = run.parent; each !== undefined; each = each.parent) if (other !== run && other.id.startsWith(`${each.id}/`)) return true;
  return false;
}

/** Once all calls have ended, their results stand in the transcript, in call order. */
function settleTurn(run: RunAudit): void {
  const calls = [...run.calls.values()];
  if (calls.some((call) => !call.ended || call.returned)) return;
  for (const call of calls) record(run.conversation, { id: `${run.id}/${call.call.id}` });
  // Of several tools that gave an answer the first in call order counts.
  const { answer } = calls.find(({ end }) => end?.answer)?.end ?? {};
  if (answer) run.answer = answer.value === undefined ? { text: answer.text } : { text: answer.text, value: answer.value };
  run.calls = new Map();
}

export function auditHandoff(audit: Audit, run: RunAudit, event: HandoffEvent): void {
  const call = findCall(audit, run, event);
  if (call === undefined) return;
  const isReturned = call.returned !== undefined;
  if (event.from !== run.agent) find(audit, event, `it leaves agent ${event.from}, but ${run.agent} is active`);
  if (call.ended && !isReturned) find(audit, event, `call ${event.callId} has ended before`);
  if (call.call.end) find(audit, event, `call ${event.callId} was not to run`);
  for (const [id, other] of run.calls)
    if (!other.ended && other !== call) find(audit, event, `the agent is swapped while call ${id} has no end`);
  const named = call.returned ?? call.call.handoff;
  if (named && named.to !== event.to) find(audit, event, `it goes to ${event.to}, but call ${event.callId} was to go to ${named.to}`);
  if (!isEqual(event.manifest.run, runLevel(run)) && run.parent === undefined)
    find(audit, event, 'its manifest does not keep the guardrails of the run');
  checkTargetGuards(audit, run, { event, call });
  useApproval(audit, event, call);
  const outcome = readSwap(audit, run, { event, call });
  if (outcome.refused)
    find(
      audit,
      event,
      `${outcome.refused.guardrail} answered ${outcome.refused.action} (seq ${outcome.refused.seq}), yet the handoff took place`,
    );
  if (event.revision !== outcome.revision)
    find(audit, event, `the brief is recorded at revision ${event.revision}, but its verdicts made ${outcome.revision}`);
  call.ended = true;
  call.returned = undefined;
  for (const other of run.calls.values()) other.ended = true;
  settleTurn(run);
  run.answer = undefined;
  auditHandoffEntry(audit, run, event);
  endAtHandoff(audit, run, event);
  run.agent = event.to;
  run.manifest = { ...event.manifest, run: run.manifest.run };
}

/** The target's own that stand on `handoff`. */
function targetStanding(run: RunAudit, event: HandoffEvent): readonly Standing[] {
  if (event.to === run.agent) return [];
  return event.manifest.agent.filter((entry) => entry.surfaces.includes('handoff')).map((entry): Standing => ({ entry, level: 'agent' }));
}

function checkTargetGuards(audit: Audit, run: RunAudit, on: { readonly event: HandoffEvent; readonly call: CallAudit }): void {
  const { event, call } = on;
  if (call.returned === undefined && !isEqual(targetStanding(run, event), call.targetGuards)) {
    find(audit, event, `the guardrails of agent ${event.to} on handoff are not those that ${event.from} was said to ask`);
  }
}

/** The target sees all that the guardrails on `handoff` were shown, apart from what its own guardrails then rewrote. */
function seesAll(run: RunAudit, event: HandoffEvent): boolean {
  if (event.view === 'all') return true;
  const isWhole = isEqual(viewAfter(run.conversation, { ...event, view: 'all' }), event.view.map(idOf));
  return isWhole && event.view.every((entry) => typeof entry === 'string' || (event.revisions?.[entry.id] ?? 0) > 0);
}

/** Asked again at the swap, unless nothing that the target will see can have changed since. */
function readSwap(audit: Audit, run: RunAudit, on: { readonly event: HandoffEvent; readonly call: CallAudit }): Outcome {
  const { event, call } = on;
  const isFirst = call.returned !== undefined;
  const isSame = seesAll(run, event) && run.calls.size === 1 && !call.wasAsked;
  const subject = `${run.id}/${event.callId}`;
  const pending = run.pending.get(keyOf('handoff', subject)) ?? [];
  const isChecksOnly = call.decision?.decision === 'approve' && !pending.some(({ phase }) => phase === 'rewrite');
  return readGroup(audit, event, {
    run,
    wanted: {
      surface: 'handoff',
      subject,
      standing: [...standingOn(run, 'handoff'), ...targetStanding(run, event)],
      phases: isChecksOnly ? 'check' : 'both',
      base: isFirst ? 0 : call.revision,
      isOptional: isSame && !isFirst,
    },
  });
}

/** The run was stopped while the target's guardrails were asked: nothing crossed, so what some of them answered is void. A refusal is not. */
function dropEntry(run: RunAudit): void {
  const entry = [...run.pending].filter(([key]) => key.startsWith('input '));
  const isRefused = entry.some(([, verdicts]) =>
    verdicts.some(({ action, shadow }) => !shadow && (action === 'deny' || action === 'halt')),
  );
  if (!isRefused) for (const [key] of entry) run.pending.delete(key);
}

/** A handoff that was refused at the swap: by its own guardrails, asked again, or at the target's door. */
function readRefusedHandoff(
  audit: Audit,
  run: RunAudit,
  on: { readonly event: ToolEndEvent | HandoffRefusedEvent; readonly call: CallAudit },
): GuardVerdictEvent | undefined {
  const { event, call } = on;
  const subject = `${run.id}/${call.call.id}`;
  const isReturned = call.returned !== undefined;
  const isApproved = call.decision?.decision === 'approve';
  const isDue = event.refusal !== undefined && (event.refusal.surface === 'handoff' || isReturned || run.calls.size > 1 || isApproved);
  const known = standingOn(run, 'handoff');
  const to = (call.returned ?? call.call.handoff)?.to ?? '';
  // A tool may hand over to an agent that no manifest tells of: then its guardrails are those that answered.
  const isKnown = !isReturned || Object.hasOwn(run.manifest.targets ?? {}, to);
  const target = isKnown ? targetGuardsOf(run, to, 'handoff') : unknownGuards(run.pending.get(keyOf('handoff', subject)) ?? [], known);
  const again = readGroup(audit, event, {
    run,
    wanted: {
      surface: 'handoff',
      subject,
      standing: [...known, ...target],
      phases: isApproved ? 'check' : 'both',
      base: isReturned ? 0 : call.revision,
      isOptional: !isDue,
    },
  });
  if (again.refused) return again.refused;
  if (event.status === 'aborted' && event.refusal === undefined) {
    dropEntry(run);
    return undefined;
  }
  return readRefusedEntry(audit, run, { event, callId: call.call.id, to, isKnown });
}

export function auditHandoffRefused(audit: Audit, run: RunAudit, event: HandoffRefusedEvent): void {
  const call = findCall(audit, run, event);
  if (call === undefined) return;
  if (call.returned === undefined) find(audit, event, `the tool of call ${event.callId} returned no handoff`);
  checkRefusal(audit, event, { refusal: event.refusal, refused: readRefusedHandoff(audit, run, { event, call }) });
  if (event.refusal) run.refusals.push(event.refusal);
  call.returned = undefined;
  call.ended = true;
  settleTurn(run);
}
