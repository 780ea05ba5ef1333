import type { GuardVerdictEvent, LogEvent } from '@guardloop/core';

/**
 * Leaves out what a cut made void: verdicts that no event committed, and starts of calls, of the model or a tool, that were made again. And
 * `run.resume` itself.
 */
export function dropVoid(events: readonly LogEvent[]): readonly LogEvent[] {
  const dropped = new Set<LogEvent>();
  const runs = new Map<string, OpenRun>();
  for (const event of events) {
    const run = runs.get(event.run) ?? newRun();
    runs.set(event.run, run);
    if (event.type === 'run.resume') {
      dropped.add(event);
      for (const each of runs.values()) voidVerdicts(each, dropped);
    } else if (event.type === 'guard.verdict') run.verdicts.push(event);
    else {
      commit(run, event);
      dropRepeated(run, event, dropped);
    }
  }
  for (const run of runs.values()) voidVerdicts(run, dropped);
  return events.filter((event) => !dropped.has(event));
}

interface OpenRun {
  verdicts: GuardVerdictEvent[];
  modelStart: LogEvent | undefined;
  readonly toolStarts: Map<string, LogEvent>;
}

function newRun(): OpenRun {
  return { verdicts: [], modelStart: undefined, toolStarts: new Map() };
}

function voidVerdicts(run: OpenRun, dropped: Set<LogEvent>): void {
  for (const verdict of run.verdicts) dropped.add(verdict);
  run.verdicts = [];
}

function dropRepeated(run: OpenRun, event: LogEvent, dropped: Set<LogEvent>): void {
  if (event.type === 'model.start') {
    if (run.modelStart) dropped.add(run.modelStart);
    run.modelStart = event;
  } else if (event.type === 'model.end' || (event.type === 'approval.request' && event.approval.surface === 'output'))
    run.modelStart = undefined;
  else if (event.type === 'tool.start') {
    const before = run.toolStarts.get(event.callId);
    if (before) dropped.add(before);
    run.toolStarts.set(event.callId, event);
  } else if (event.type === 'tool.end') run.toolStarts.delete(event.callId);
}

/** Takes the verdicts that this event commits out of those that are open. */
function commit(run: OpenRun, event: LogEvent): void {
  const isCommitted = committedBy(event);
  if (isCommitted) run.verdicts = run.verdicts.filter((verdict) => !isCommitted(verdict));
}

function committedBy(event: LogEvent): ((verdict: GuardVerdictEvent) => boolean) | undefined {
  const isOf = (id: string) => (verdict: GuardVerdictEvent) => verdict.surface !== 'input' && isPart(verdict.subject, `${event.run}/${id}`);
  switch (event.type) {
    case 'input.accept':
      return (verdict) => verdict.surface === 'input';
    case 'model.start':
      return (verdict) => verdict.surface === 'input' && verdict.subject.startsWith(`${event.run}/${event.turn}/v`);
    case 'model.end':
      return event.status === 'failed' || event.status === 'aborted' ? undefined : isOf(`${event.turn}`);
    case 'approval.request':
    case 'approval.resolve': {
      const subject = event.type === 'approval.resolve' ? event.subject : event.approval.subject;
      return (verdict) => verdict.surface !== 'input' && isPart(verdict.subject, subject);
    }
    case 'tool.start':
      return isOf(event.callId);
    case 'tool.end':
    case 'handoff.refused':
      return event.refusal?.surface === 'input'
        ? (verdict) => verdict.surface === 'input' || isOf(event.callId)(verdict)
        : isOf(event.callId);
    case 'handoff':
      return (verdict) => verdict.surface === 'input' || isOf(event.callId)(verdict);
    case 'run.end':
      return event.refusal?.surface === 'input' ? (verdict) => verdict.surface === 'input' : undefined;
    default:
      return undefined;
  }
}

/** `r1/2` has the parts `r1/2/reasoning` and `r1/2.0`, not `r1/20`. */
function isPart(subject: string, whole: string): boolean {
  if (!subject.startsWith(whole)) return false;
  const next = subject[whole.length];
  return next === undefined || next === '/' || next === '.';
}
