import type { GuardVerdictEvent, HandoffEvent, InputAcceptEvent, LogEvent, ModelStartEvent } from '@guardloop/core';
import type { ConversationAudit } from './conversation-audit.js';
import {
  commitEntry,
  formOf,
  hasPassed,
  idOf,
  idOfForm,
  markPassed,
  passKey,
  record,
  see,
  takeOver,
  viewAfter,
} from './conversation-audit.js';
import type { Audit, RunAudit, Standing } from './run-audit.js';
import { find, keyOf, runLevel, takeVerdicts } from './run-audit.js';
import { readGroup, standingOn, targetGuardsOf, unknownGuards } from './verdict-group.js';

/** What enters an agent's view, and what its event says about it. */
interface Entry {
  readonly subject: string;
  readonly agent: string;
  readonly standing: readonly Standing[];
  /** Never judged by anyone. */
  readonly fresh: readonly string[];
  /** Something is fresh although it is not recorded, since it was refused. */
  readonly isRefused?: boolean | undefined;
  /** Items of the history that were judged. */
  readonly judged: readonly string[];
  /** In which forms they came, by id; left out: as they are recorded. */
  readonly forms?: ReadonlyMap<string, string> | undefined;
  /** Results of the open turn: they arose under the guardrails that stand around the active agent. */
  readonly arisen?: readonly string[] | undefined;
}

interface EntryOutcome {
  readonly revisions: ReadonlyMap<string, number>;
  readonly revision: number;
  readonly refused: GuardVerdictEvent | undefined;
}

const keyOfGuard = ({ entry, level }: Standing, agent: string): string => passKey(entry, level === 'run' ? undefined : agent);

function readEntry(audit: Audit, event: LogEvent, on: { readonly run: RunAudit; readonly entry: Entry }): EntryOutcome {
  const { run, entry } = on;
  const { conversation } = run;
  const isNewTo = (standing: Standing, id: string): boolean => {
    if (entry.fresh.includes(id)) return true;
    const key = keyOfGuard(standing, entry.agent);
    return (
      !hasPassed(conversation, key, entry.forms?.get(id) ?? id) && !(entry.arisen?.includes(id) && conversation.standing.includes(key))
    );
  };
  const revisions = new Map<string, number>();
  let revision = 0;
  let refused: GuardVerdictEvent | undefined;
  for (const id of [...entry.judged, ...entry.fresh]) {
    const standing = entry.standing.filter((each) => isNewTo(each, id));
    const outcome = readGroup(audit, event, {
      run,
      wanted: { surface: 'input', subject: id, standing, phases: 'rewrite', base: 0, isOptional: refused !== undefined },
    });
    if (outcome.revision > 0) revisions.set(id, outcome.revision);
    revision += outcome.revision;
    refused ??= outcome.refused;
  }
  if (refused) return { revisions, revision, refused };
  const asked = entry.standing.filter((each) => entry.isRefused || entry.fresh.length > 0 || entry.judged.some((id) => isNewTo(each, id)));
  const verdicts = takeVerdicts(run, 'input', entry.subject);
  const isBeside = ({ beside }: { readonly beside?: true | undefined }): boolean => beside ?? false;
  // Beside the model is only who looks at a run's input; at a handoff, and at what a view wrote, all are asked together.
  const parts = entry.subject === `${run.id}/input` ? [(each: Parameters<typeof isBeside>[0]) => !isBeside(each), isBeside] : [() => true];
  for (const isPart of parts) {
    const outcome = readGroup(audit, event, {
      run,
      wanted: {
        surface: 'input',
        subject: entry.subject,
        standing: asked.filter((each) => isPart(each.entry)),
        verdicts: verdicts.filter(isPart),
        phases: 'check',
        base: revision,
        isOptional: refused !== undefined,
      },
    });
    refused ??= outcome.refused;
  }
  return { revisions, revision, refused };
}

/** All that the agent will see must have passed, or be in this entry. */
function checkHistory(
  audit: Audit,
  event: LogEvent,
  on: { readonly entry: Entry; readonly view: readonly string[]; readonly conversation: ConversationAudit },
): void {
  const { entry, view, conversation } = on;
  for (const form of view) {
    const id = idOfForm(form);
    if (entry.judged.includes(id) || entry.fresh.includes(id)) continue;
    const unseen = entry.standing.find((standing) => !hasPassed(conversation, keyOfGuard(standing, entry.agent), form));
    if (unseen)
      find(
        audit,
        event,
        `agent ${entry.agent} will see item ${id}, which ${unseen.level} guardrail ${unseen.entry.name} has not judged on input`,
      );
  }
}

interface Said {
  readonly revision: number;
  readonly revisions: { readonly [item: string]: number } | undefined;
}

function checkRevisions(audit: Audit, event: LogEvent, on: { readonly said: Said; readonly outcome: EntryOutcome }): void {
  const { said, outcome } = on;
  if (said.revision !== outcome.revision)
    find(audit, event, `the entry is said to have taken ${said.revision} rewrites, but its verdicts made ${outcome.revision}`);
  for (const id of new Set([...Object.keys(said.revisions ?? {}), ...outcome.revisions.keys()])) {
    const recorded = said.revisions?.[id] ?? 0;
    const made = outcome.revisions.get(id) ?? 0;
    if (recorded !== made) find(audit, event, `item ${id} is recorded at revision ${recorded}, but its verdicts made ${made}`);
  }
}

export function auditInputAccept(audit: Audit, run: RunAudit, event: InputAcceptEvent): void {
  // What was said while the run was under way is named by its first item.
  const first = run.accepted ? event.items[0]?.id.slice(run.id.length) : '';
  if (run.accepted && !first?.startsWith('/s')) find(audit, event, 'the input was accepted before');
  else if (event.subject !== `${run.id}/input${first}`)
    find(audit, event, `its subject is ${event.subject}, expected ${run.id}/input${first}`);
  const entry: Entry = {
    subject: event.subject,
    agent: run.agent,
    standing: standingOn(run, 'input'),
    fresh: event.items.map((item) => item.id),
    judged: event.judged ?? [],
    forms: formsNow(run),
  };
  const outcome = readEntry(audit, event, { run, entry });
  if (outcome.refused)
    find(
      audit,
      event,
      `${outcome.refused.guardrail} answered ${outcome.refused.action} (seq ${outcome.refused.seq}), yet the input was accepted`,
    );
  checkHistory(audit, event, { entry, view: run.conversation.view, conversation: run.conversation });
  checkRevisions(audit, event, { said: { revision: event.revision, revisions: event.revisions }, outcome });
  const changed = new Set((event.changed ?? []).map(idOf));
  for (const id of entry.judged) {
    if (changed.has(id) !== (outcome.revisions.get(id) ?? 0) > 0)
      find(
        audit,
        event,
        `history item ${id} ${changed.has(id) ? 'is changed, but no verdict rewrote it' : 'was rewritten, but is not recorded as changed'}`,
      );
    changed.delete(id);
  }
  for (const id of changed) find(audit, event, `history item ${id} is changed, but was not judged`);
  run.accepted = true;
  const forms = new Map((event.changed ?? []).map((each) => [each.id, formOf(each)]));
  run.conversation.view = run.conversation.view.map((form) => forms.get(idOfForm(form)) ?? form);
  for (const id of entry.fresh) record(run.conversation, { id });
  commitEntry(run.conversation, { run: runLevel(run), agent: run.manifest.agent });
}

const formsNow = ({ conversation }: RunAudit): ReadonlyMap<string, string> =>
  new Map(conversation.view.map((form) => [idOfForm(form), form]));

/** The verdict that refused an input which was never accepted, or what a view wrote. Its items are in no event but their verdicts. */
export function readRefusedInput(audit: Audit, run: RunAudit, event: LogEvent): GuardVerdictEvent | undefined {
  const standing = standingOn(run, 'input');
  const view = `${run.id}/${run.turn + 1}/v`;
  const next = 1 + run.conversation.messages.filter(({ id }) => id.startsWith(`${run.id}/s`)).length;
  const steer = `${run.id}/s${next}`;
  if (run.accepted && (run.pending.has(keyOf('input', steer)) || run.pending.has(keyOf('input', `${run.id}/input/s${next}`))))
    return readRefusedItems(audit, event, { run, subject: `${run.id}/input/s${next}`, items: `${run.id}/s`, from: next, standing });
  if (![...run.pending.keys()].some((key) => key.startsWith(`input ${view}`)))
    return readRefusedItems(audit, event, { run, subject: `${run.id}/input`, items: `${run.id}/i`, standing });
  if (!run.accepted) {
    // A view is asked before the guardrails beside the model, after all others have passed the input.
    const refused = readRefusedItems(audit, event, {
      run,
      subject: `${run.id}/input`,
      items: `${run.id}/i`,
      standing: standing.filter(({ entry }) => !entry.beside),
    });
    if (refused)
      find(audit, event, `${refused.guardrail} answered ${refused.action} on the input (seq ${refused.seq}), yet the view was asked`);
  }
  return readRefusedItems(audit, event, { run, subject: `${view}iew`, items: view, standing });
}

function readRefusedItems(
  audit: Audit,
  event: LogEvent,
  on: {
    readonly run: RunAudit;
    readonly subject: string;
    readonly items: string;
    readonly from?: number;
    readonly standing: readonly Standing[];
  },
): GuardVerdictEvent | undefined {
  const { run, subject, items, from = 1, standing } = on;
  const fresh: string[] = [];
  while (run.pending.has(keyOf('input', `${items}${fresh.length + from}`))) fresh.push(`${items}${fresh.length + from}`);
  const known = [...run.conversation.messages.map(({ id }) => id), ...run.conversation.view.map(idOfForm)];
  const judged = [...new Set(known)].filter((id) => run.pending.has(keyOf('input', id)));
  const entry: Entry = { subject, agent: run.agent, standing, fresh, judged, forms: formsNow(run), isRefused: true };
  return readEntry(audit, event, { run, entry }).refused;
}

/** The verdict by which a handoff was refused at the target's door. Where no manifest tells of the target, its guardrails are those that answered. */
export function readRefusedEntry(
  audit: Audit,
  run: RunAudit,
  on: { readonly event: LogEvent; readonly callId: string; readonly to: string; readonly isKnown: boolean },
): GuardVerdictEvent | undefined {
  const { event, callId, to, isKnown } = on;
  const subject = `${run.id}/${callId}/input`;
  const pending = [...run.pending].flatMap(([key, verdicts]) => (key.startsWith('input ') ? verdicts : []));
  if (pending.length === 0) return undefined;
  const items = [...new Set(pending.map((verdict) => verdict.subject))].filter((id) => id !== subject);
  const arisen = [...run.calls.values()].flatMap((call) => (call.ended ? [`${run.id}/${call.call.id}`] : []));
  const known = new Set([...run.conversation.messages.map(({ id }) => id), ...arisen]);
  const judged = items.filter((id) => known.has(id));
  const runGuards = runLevel(run)
    .filter((entry) => entry.surfaces.includes('input'))
    .map((entry): Standing => ({ entry, level: 'run' }));
  const { refused } = readEntry(audit, event, {
    run,
    entry: {
      subject,
      agent: to,
      standing: [...runGuards, ...(isKnown ? targetGuardsOf(run, to, 'input') : unknownGuards(pending, []))],
      fresh: [...judged.filter((id) => isAskedAgain(run, to, id)), `${run.id}/${callId}/brief`],
      judged: judged.filter((id) => !isAskedAgain(run, to, id)),
      arisen,
      isRefused: true,
    },
  });
  for (const id of items)
    if (run.pending.has(keyOf('input', id))) find(audit, event, `${id} was judged for agent ${to}, which would not have seen it`);
  return refused;
}

/** Items whose text a filter wrote: nobody has judged it. It is changed without a rewrite, or was judged by who had passed the item before. */
function writtenByFilter(run: RunAudit, event: HandoffEvent): readonly string[] {
  if (event.view === 'all') return [];
  return event.view.flatMap((each) => {
    const id = idOf(each);
    const isChanged = typeof each !== 'string' && ('role' in each || !((event.revisions?.[id] ?? 0) > 0));
    return isChanged || isAskedAgain(run, event.to, id) ? [id] : [];
  });
}

function isAskedAgain(run: RunAudit, agent: string, id: string): boolean {
  return (run.pending.get(keyOf('input', id)) ?? []).some(({ guardrail: name, version, level, shadow }) =>
    hasPassed(run.conversation, passKey({ name, version, shadow }, level === 'run' ? undefined : agent), id),
  );
}

/** The target's entry at a handoff; afterwards the target is the active agent. */
export function auditHandoffEntry(audit: Audit, run: RunAudit, event: HandoffEvent): void {
  const { conversation } = run;
  const view = viewAfter(conversation, event);
  const own = writtenByFilter(run, event);
  const target: RunAudit = { ...run, agent: event.to, manifest: { ...event.manifest, run: run.manifest.run } };
  const entry: Entry = {
    subject: event.entry.subject,
    agent: event.to,
    standing: standingOn(target, 'input'),
    fresh: [...own, event.item.id],
    judged: event.entry.judged.filter((id) => !own.includes(id)),
  };
  if (entry.subject !== `${run.id}/${event.callId}/input`)
    find(audit, event, `the entry's subject is ${entry.subject}, expected ${run.id}/${event.callId}/input`);
  const outcome = readEntry(audit, event, { run, entry });
  if (outcome.refused)
    find(
      audit,
      event,
      `${outcome.refused.guardrail} answered ${outcome.refused.action} (seq ${outcome.refused.seq}), yet the handoff took place`,
    );
  checkHistory(audit, event, { entry, view, conversation });
  checkRevisions(audit, event, { said: { revision: event.entry.revision, revisions: event.revisions }, outcome });
  takeOver(conversation, event.to, view);
  see(conversation, event.item.id);
  commitEntry(conversation, { run: runLevel(run), agent: event.manifest.agent });
}

/** What a view wrote itself enters with the request; what it wrote before must have passed all that stand now. */
export function auditView(audit: Audit, run: RunAudit, event: ModelStartEvent): void {
  const { conversation } = run;
  const written = (event.view ?? []).flatMap((each) =>
    typeof each !== 'string' && 'role' in each && each.via === 'view' ? [each.id] : [],
  );
  // What a rewrite changed is asked again where a cut call is made again, under the same id.
  const fresh = written.filter((id) => !run.written.has(id) || run.pending.has(keyOf('input', id)));
  const entry: Entry = { subject: `${run.id}/${event.turn}/view`, agent: run.agent, standing: standingOn(run, 'input'), fresh, judged: [] };
  checkHistory(audit, event, { entry, view: written, conversation });
  if (fresh.length === 0) return;
  const outcome = readEntry(audit, event, { run, entry });
  if (outcome.refused)
    find(audit, event, `${outcome.refused.guardrail} answered ${outcome.refused.action} on what the view wrote, yet it was sent`);
  for (const id of fresh) {
    run.written.add(id);
    markPassed(
      conversation,
      id,
      entry.standing.map((each) => keyOfGuard(each, run.agent)),
    );
  }
}
