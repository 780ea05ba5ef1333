import type { LogEvent } from '@guardloop/core';

/** Puts the events of parallel calls in call order, in child runs too. Events of one call keep their order. */
export function inCallOrder(events: readonly LogEvent[]): readonly LogEvent[] {
  const ordered: LogEvent[] = [];
  for (let start = 0; start < events.length; ) {
    const run = rootOf(events, start);
    let end = start + 1;
    while (end < events.length && isWithin(events[end], run)) end += 1;
    arrange(events.slice(start, end), run, ordered);
    start = end;
  }
  return ordered;
}

function rootOf(events: readonly LogEvent[], at: number): string {
  return events[at]?.run ?? '';
}

function isWithin(event: LogEvent | undefined, run: string): boolean {
  return event !== undefined && (event.run === run || event.run.startsWith(`${run}/`));
}

function arrange(events: readonly LogEvent[], run: string, ordered: LogEvent[]): void {
  const byCall = new Map<string, LogEvent[]>();
  const flush = (): void => {
    for (const [call, own] of [...byCall].sort(([left], [right]) => compareCalls(left, right))) arrangeCall(own, { run, call }, ordered);
    byCall.clear();
  };
  for (const event of events) {
    const call = callOf(event, run);
    if (call === undefined) {
      flush();
      ordered.push(event);
      continue;
    }
    const own = byCall.get(call);
    if (own) own.push(event);
    else byCall.set(call, [event]);
  }
  flush();
}

/** A call's own events, with each stretch of its child run's put in order. */
function arrangeCall(events: readonly LogEvent[], at: { readonly run: string; readonly call: string }, ordered: LogEvent[]): void {
  let child: LogEvent[] = [];
  const flush = (): void => {
    if (child.length > 0) arrange(child, `${at.run}/${at.call}`, ordered);
    child = [];
  };
  for (const event of events) {
    if (event.run !== at.run) {
      child.push(event);
      continue;
    }
    flush();
    ordered.push(event);
  }
  flush();
}

/** The call of `run` that an event belongs to; undefined for events of the run itself, which keep calls before and after apart. */
function callOf(event: LogEvent, run: string): string | undefined {
  if (event.run !== run) return event.run.slice(run.length + 1).split('/')[0];
  switch (event.type) {
    case 'tool.start':
    case 'tool.end':
      return event.callId;
    case 'guard.verdict':
      return event.surface === 'input' ? undefined : callIn(event.subject, run);
    case 'approval.request':
      return callIn(event.approval.subject, run);
    case 'approval.resolve':
      return callIn(event.subject, run);
    default:
      return undefined;
  }
}

function callIn(subject: string, run: string): string | undefined {
  const name = subject.slice(run.length + 1).split('/')[0] ?? '';
  return /^\d+\.\d+$/.test(name) ? name : undefined;
}

function compareCalls(left: string, right: string): number {
  const [leftTurn = 0, leftIndex = 0] = left.split('.').map(Number);
  const [rightTurn = 0, rightIndex = 0] = right.split('.').map(Number);
  return leftTurn - rightTurn || leftIndex - rightIndex;
}
