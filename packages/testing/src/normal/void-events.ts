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
      for (const each of runs.values()) cut(each, dropped);
    } else if (event.type === 'guard.verdict') run.verdicts.push(event);
    else {
      dropRepeated(run, { event, committed: commit(run, event) }, dropped);
    }
  }
  for (const run of runs.values()) voidVerdicts(run, dropped);
  return events.filter((event) => !dropped.has(event));
}

interface OpenRun {
  verdicts: GuardVerdictEvent[];
  /** Calls of the model that were made beside the input's checks; undefined once the input was accepted. */
  early: LogEvent[] | undefined;
  /** Of the call of the model that is open. */
  modelStart: LogEvent | undefined;
  /** Ids of the calls that are open. */
  readonly started: Set<string>;
}

function newRun(): OpenRun {
  return { verdicts: [], early: [], modelStart: undefined, started: new Set() };
}

/** A cut makes void what no event had committed, and before the input was accepted everything. */
function cut(run: OpenRun, dropped: Set<LogEvent>): void {
  voidVerdicts(run, dropped);
  if (run.early === undefined) return;
  for (const event of run.early) dropped.add(event);
  run.early = [];
  run.modelStart = undefined;
}

function voidVerdicts(run: OpenRun, dropped: Set<LogEvent>): void {
  for (const verdict of run.verdicts) dropped.add(verdict);
  run.verdicts = [];
}

function dropRepeated(
  run: OpenRun,
  { event, committed }: { readonly event: LogEvent; readonly committed: readonly LogEvent[] },
  dropped: Set<LogEvent>,
): void {
  if (event.type === 'model.start' || event.type === 'model.end') run.early?.push(...committed, event);
  switch (event.type) {
    case 'input.accept':
    case 'run.end':
      run.early = undefined;
      return;
    case 'model.start':
      // With the verdicts on what its view wrote again.
      if (run.modelStart) for (const again of [...committed, event]) dropped.add(again);
      else run.modelStart = event;
      return;
    case 'model.end':
      run.modelStart = undefined;
      return;
    case 'approval.request':
      if (event.approval.surface === 'output') run.modelStart = undefined;
      return;
    case 'tool.start':
      if (run.started.has(event.callId)) dropped.add(event);
      run.started.add(event.callId);
      return;
    case 'tool.end':
      run.started.delete(event.callId);
      return;
    default:
  }
}

/** Takes the verdicts that this event commits out of those that are open, and gives them. */
function commit(run: OpenRun, event: LogEvent): readonly GuardVerdictEvent[] {
  const isCommitted = committedBy(event);
  if (isCommitted === undefined) return [];
  const committed = run.verdicts.filter(isCommitted);
  run.verdicts = run.verdicts.filter((verdict) => !isCommitted(verdict));
  return committed;
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
