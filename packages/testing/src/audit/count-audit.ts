import type { Action, GuardVerdictEvent, LogEvent } from '@guardloop/core';
import { idOfForm } from './conversation-audit.js';
import type { Audit, RunAudit } from './run-audit.js';
import { find } from './run-audit.js';

const letters: { readonly [action in Action]: string } = { allow: 'a', rewrite: 'r', ask: 'k', deny: 'd', halt: 'h' };

/** What is about a recorded call counts for the events of that call; what a view wrote, for the request; all else, for entry and answer. */
export function noteAnswer(run: RunAudit, event: GuardVerdictEvent): void {
  const matter = matterOf(run, event);
  run.uncounted.set(matter, (run.uncounted.get(matter) ?? '') + letters[event.action]);
}

function matterOf(run: RunAudit, event: GuardVerdictEvent): string {
  if (event.surface === 'input') {
    if (event.subject.startsWith(`${run.id}/${run.turn + 1}/v`)) return 'view';
    return run.accepted && !isSteer(run, event.subject) ? 'swap' : '';
  }
  const call = /^\d+\.\d+/.exec(event.subject.slice(run.id.length + 1))?.[0];
  return call !== undefined && run.calls.has(call) ? call : '';
}

/** What a person said while the run was under way, before it is recorded. */
function isSteer({ id, conversation }: RunAudit, subject: string): boolean {
  if (subject.startsWith(`${id}/input/s`)) return true;
  return subject.startsWith(`${id}/s`) && !conversation.view.some((form) => idOfForm(form) === subject);
}

/** An event that commits verdicts says what each of them was: none was taken out, added or turned. */
export function checkCount(audit: Audit, run: RunAudit, event: LogEvent): void {
  const matters = mattersOf(run, event);
  if (matters === undefined) {
    if (event.answers !== undefined) find(audit, event, 'it commits no verdicts, but counts some');
    return;
  }
  const counted = matters.map((matter) => run.uncounted.get(matter) ?? '').join('');
  for (const matter of matters) run.uncounted.delete(matter);
  if (counted !== (event.answers ?? ''))
    find(audit, event, `it counts the answers "${event.answers ?? ''}", but the verdicts before it are "${counted}"`);
}

function mattersOf(run: RunAudit, event: LogEvent): readonly string[] | undefined {
  switch (event.type) {
    case 'input.accept':
    case 'model.end':
      return [''];
    case 'run.end':
      // What refused a view's text has ended the run.
      return ['', 'view'];
    case 'model.start':
      return ['view'];
    case 'tool.start':
      return [event.callId];
    case 'tool.end':
    case 'handoff':
    case 'handoff.refused':
      // At a swap the brief is judged before what enters the target's view.
      return [event.callId, ...(run.calls.get(event.callId)?.call.kind === 'handoff' || event.type !== 'tool.end' ? ['swap'] : [])];
    case 'approval.request':
      return [event.approval.surface === 'output' ? '' : event.approval.callId];
    case 'approval.resolve':
      return [event.subject.slice(run.id.length + 1)];
    default:
      return undefined;
  }
}
