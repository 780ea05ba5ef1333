import type { Ask, ModelEndEvent, ModelStartEvent, RecordedCall } from '@guardloop/core';
import { recordAnswer } from './conversation-audit.js';
import { auditView } from './entry-audit.js';
import type { Audit, CallAudit, RunAudit, Standing } from './run-audit.js';
import { find, isEqual, keyOf } from './run-audit.js';
import type { Outcome } from './verdict-group.js';
import { checkRefusal, readGroup, standingOn, targetGuardsOf } from './verdict-group.js';

export function auditModelStart(audit: Audit, run: RunAudit, event: ModelStartEvent): void {
  if (!run.accepted && !event.beside) find(audit, event, 'the model is called before the input was accepted');
  if (event.turn !== run.turn + 1) find(audit, event, `it is turn ${event.turn}, but ${run.turn} answers are recorded`);
  for (const [id, call] of run.calls) if (!call.ended) find(audit, event, `the model is called while call ${id} has no end`);
  if (run.quarantine) find(audit, event, 'the model is called while an answer waits for a person');
  auditView(audit, run, event);
  run.openTurn = event.turn;
  run.isLast = event.final !== undefined;
}

export function auditModelEnd(audit: Audit, run: RunAudit, event: ModelEndEvent): void {
  const released = run.quarantine;
  const turn = released?.turn ?? run.openTurn;
  if (turn === undefined) find(audit, event, 'no call of the model is open');
  else if (turn !== event.turn) find(audit, event, `it ends turn ${event.turn}, but turn ${turn} is open`);
  if (event.status === 'ok') auditAnswer(audit, run, event);
  else auditNoAnswer(audit, run, event);
  dropTurn(audit, run, event);
  run.openTurn = undefined;
  run.quarantine = undefined;
  if (event.status === 'ok' || event.status === 'refused') run.turn = event.turn;
  if (event.refusal) run.refusals.push(event.refusal);
}

function auditAnswer(audit: Audit, run: RunAudit, event: ModelEndEvent): void {
  if (!run.accepted) find(audit, event, 'an answer is recorded before the input was accepted');
  const released = run.quarantine;
  if (released && released.decision?.decision !== 'approve')
    find(audit, event, `the quarantined answer was released, but approval ${released.approval.id} was not given`);
  const output = readGroup(audit, event, {
    run,
    wanted: {
      surface: 'output',
      subject: `${run.id}/${event.turn}`,
      standing: standingOn(run, 'output'),
      phases: released ? 'check' : 'both',
      base: released?.approval.revision ?? 0,
      isOptional: event.text === '' && event.value === undefined,
    },
  });
  const reasoning = readGroup(audit, event, {
    run,
    wanted: {
      surface: 'output',
      subject: `${run.id}/${event.turn}/reasoning`,
      standing: standingOn(run, 'output'),
      phases: released ? 'check' : 'both',
      base: released?.approval.revision ?? 0,
      isOptional: event.reasoning === undefined,
    },
  });
  checkRefusal(audit, event, { refusal: event.refusal, refused: output.refused ?? reasoning.refused });
  if (!released)
    for (const ask of output.asks) find(audit, event, `${ask.by} asked for a person to look at the answer, but it was recorded at once`);
  if (event.revision !== output.revision)
    find(audit, event, `the answer is recorded at revision ${event.revision}, but its verdicts made ${output.revision}`);
  run.calls = new Map();
  for (const [index, call] of event.calls.entries()) {
    if (call.id !== `${event.turn}.${index}`) find(audit, event, `call ${index} has the id ${call.id}, expected ${event.turn}.${index}`);
    run.calls.set(call.id, auditCall(audit, run, { event, call }));
  }
  run.answer = undefined;
  if (!event.empty && (event.calls.length === 0 || (run.isLast && event.text !== '')))
    run.answer = event.value === undefined ? { text: event.text } : { text: event.text, value: event.value };
  if (!event.empty) recordAnswer(run.conversation, event);
}

function auditCall(audit: Audit, run: RunAudit, on: { readonly event: ModelEndEvent; readonly call: RecordedCall }): CallAudit {
  const { event, call } = on;
  const surface = call.kind === 'handoff' ? 'handoff' : 'toolInput';
  const subject = `${run.id}/${call.id}`;
  const targetGuards = surface === 'handoff' ? findTargetGuards(run, subject, call.handoff?.to) : [];
  const standing =
    call.kind === 'unknown'
      ? []
      : surface === 'handoff'
        ? [...standingOn(run, surface), ...targetGuards]
        : standingOn(run, surface, call.name);
  const isStopped = call.end !== undefined && call.end.refusal === undefined;
  const outcome = readGroup(audit, event, { run, wanted: { surface, subject, standing, phases: 'both', base: 0, isOptional: isStopped } });
  checkRefusal(audit, event, { refusal: call.end?.refusal, refused: outcome.refused });
  if (call.end) {
    if (Object.keys(call.input).length > 0) find(audit, event, `call ${call.id} will not run, but its input is recorded`);
    if (call.end.refusal) run.refusals.push(call.end.refusal);
  } else {
    if (call.kind === 'unknown') find(audit, event, `call ${call.id} is of a tool that is not known, but has no end`);
    checkAsks(audit, event, { call, outcome });
  }
  if (!(outcome.isEmpty && isStopped) && call.revision !== outcome.revision) {
    find(audit, event, `call ${call.id} is recorded at revision ${call.revision}, but its verdicts made ${outcome.revision}`);
  }
  if (
    Object.keys(call.input).length < (call.changedFields?.length ?? 0) ||
    call.changedFields?.some((name) => !Object.hasOwn(call.input, name))
  )
    find(audit, event, `call ${call.id} names changed fields that are not in the input that passed`);
  return {
    call,
    label: event.label,
    input: call.input,
    revision: call.revision,
    asks: call.asks ?? [],
    started: undefined,
    once: false,
    open: undefined,
    decision: undefined,
    wasAsked: false,
    ended: false,
    end: undefined,
    refused: undefined,
    targetGuards,
    returned: undefined,
  };
}

/** The asks of guardrails come first, as they were given; then the tool's own rule and core's. */
function checkAsks(audit: Audit, event: ModelEndEvent, on: { readonly call: RecordedCall; readonly outcome: Outcome }): void {
  const asks = on.call.asks ?? [];
  const byGuards = asks.slice(0, on.outcome.asks.length);
  const rest = asks.slice(byGuards.length);
  if (!isEqual(byGuards, on.outcome.asks) || rest.some(({ by }) => !isOwnAsk(by))) {
    find(audit, event, `call ${on.call.id} has the asks of ${names(asks)}, but the guardrails that asked are ${names(on.outcome.asks)}`);
  }
}

export const isOwnAsk = (by: string): boolean => by === 'approval' || by === 'core';
export const names = (asks: readonly Ask[]): string => (asks.length === 0 ? 'nobody' : asks.map(({ by }) => by).join(', '));

/**
 * What the target has on `handoff`. A refused handoff does not say where it was to go: then it is the target that has all the guardrails
 * which answered beside the run's and the source's.
 */
function findTargetGuards(run: RunAudit, subject: string, to: string | undefined): readonly Standing[] {
  if (to !== undefined) return targetGuardsOf(run, to, 'handoff');
  const expected = new Set(
    standingOn(run, 'handoff').flatMap(({ entry, level }) => entry.phases.map((phase) => `${level} ${entry.name} ${phase}`)),
  );
  // Of two answers under one name, the first is the source's.
  const others = (run.pending.get(keyOf('handoff', subject)) ?? []).filter(
    (verdict) => !expected.delete(`${verdict.level} ${verdict.guardrail} ${verdict.phase}`),
  );
  const fits = (standing: readonly Standing[]): number =>
    others.filter(({ guardrail }) => standing.some(({ entry }) => entry.name === guardrail)).length;
  const candidates = Object.keys(run.manifest.targets ?? {}).map((target) => targetGuardsOf(run, target, 'handoff'));
  const [best] = candidates.sort((left, right) => fits(right) - fits(left) || left.length - right.length);
  return best !== undefined && fits(best) > 0 ? best : [];
}

function auditNoAnswer(audit: Audit, run: RunAudit, event: ModelEndEvent): void {
  if (
    event.text !== '' ||
    event.value !== undefined ||
    event.calls.length > 0 ||
    event.native !== undefined ||
    event.reasoning !== undefined
  ) {
    find(audit, event, `the answer was ${event.status}, but something of it is recorded`);
  }
  if (event.status !== 'refused' || run.quarantine?.decision?.decision === 'reject') return;
  if (event.refusal?.by === 'model') return;
  if (event.refusal === undefined && event.misfit === undefined)
    find(audit, event, 'the answer was refused, but neither by a refusal nor as a misfit');
  const released = run.quarantine;
  const read = (subject: string, isOptional: boolean): Outcome =>
    readGroup(audit, event, {
      run,
      wanted: {
        surface: 'output',
        subject,
        standing: standingOn(run, 'output'),
        phases: released ? 'check' : 'both',
        base: released?.approval.revision ?? 0,
        isOptional,
      },
    });
  const reasoning = read(`${run.id}/${event.turn}/reasoning`, true);
  // Shown reasoning cannot wait for a person: an ask about it ends the answer before its text is judged.
  const isReasoningAsked = event.refusal?.action === 'ask' && reasoning.asks.length > 0;
  const output = read(`${run.id}/${event.turn}`, event.unread === true || reasoning.refused !== undefined || isReasoningAsked);
  const refused = output.refused ?? reasoning.refused;
  const asked = output.asks[0] ?? reasoning.asks[0];
  if (refused === undefined && event.refusal?.action === 'ask') {
    if (asked?.by !== event.refusal.by)
      find(audit, event, `the refusal names an ask by ${event.refusal.by}, but ${asked ? asked.by : 'nobody'} asked`);
    return;
  }
  checkRefusal(audit, event, { refusal: event.refusal, refused });
}

/** What was judged of an answer that is settled now counts no more. Of a recorded one, all belongs to something in it. */
function dropTurn(audit: Audit, run: RunAudit, event: ModelEndEvent): void {
  const whole = `${run.id}/${event.turn}`;
  for (const [key, verdicts] of run.pending) {
    const [surface, subject] = splitKey(key);
    const isPart = subject === whole || subject.startsWith(`${whole}.`) || subject.startsWith(`${whole}/`);
    if (surface === 'input' || !isPart) continue;
    run.pending.delete(key);
    if (event.status !== 'ok') continue;
    for (const { guardrail, seq } of verdicts)
      find(audit, event, `the verdict of ${guardrail} at seq ${seq} is about ${surface} ${subject}, which is not in the answer`);
  }
}

function splitKey(key: string): readonly [string, string] {
  const at = key.indexOf(' ');
  return [key.slice(0, at), key.slice(at + 1)];
}
