import type { JsonObject } from '../model/types.js';
import type { LogEvent, RecordedCall, ToolEndEvent } from './events.js';

/** A call that has run, may have, or is still to run. */
export interface RunCall {
  /** The run that made it: this one, or another of the same tree. */
  readonly run: string;
  /** `<turn>.<index>`, unique in its run. */
  readonly callId: string;
  readonly tool: string;
  /** As the log holds it: raw, after rewrites and edits. */
  readonly input: JsonObject;
  /** Its effect may have happened. False: it has passed its guardrails, or is before them in this moment, and has not begun. */
  readonly isStarted: boolean;
}

/** The calls of the latest tree of runs in a log that have run, may have, or are still to run. Reads each event once. */
export class CallTally {
  private read = 0;
  private readonly calls = new Map<string, RunCall>();

  /** By path, in the order in which they were recorded. `events` is always the same list, which only grows. */
  catchUp(events: readonly LogEvent[]): ReadonlyMap<string, RunCall> {
    for (; this.read < events.length; this.read += 1) this.take(events[this.read] as LogEvent);
    return this.calls;
  }

  private take(event: LogEvent): void {
    switch (event.type) {
      case 'run.start':
        if (event.parent === undefined) this.calls.clear();
        return;
      case 'model.end':
        for (const call of event.calls) if (mayRun(call)) this.set(event.run, { callId: call.id, tool: call.name, input: call.input });
        return;
      case 'approval.resolve': {
        const call = this.calls.get(event.subject);
        if (call === undefined) return;
        // With `result`, a person ran it.
        this.set(event.run, { ...call, input: event.input ?? call.input, isStarted: call.isStarted || event.decision === 'result' });
        return;
      }
      case 'tool.start':
        this.set(event.run, { ...event, isStarted: true });
        return;
      case 'tool.end':
        if (!this.calls.get(event.id)?.isStarted && !hasHappened(event)) this.calls.delete(event.id);
        return;
      default:
    }
  }

  private set(
    run: string,
    { callId, tool, input, isStarted = false }: Omit<RunCall, 'run' | 'isStarted'> & { readonly isStarted?: boolean },
  ): void {
    this.calls.set(`${run}/${callId}`, Object.freeze({ run, callId, tool, input, isStarted }));
  }
}

const mayRun = ({ kind, end, copyOf }: RecordedCall): boolean =>
  end === undefined && copyOf === undefined && kind !== 'handoff' && kind !== 'unknown';

/** Of a call of which no start was recorded. */
const hasHappened = ({ status, copyOf }: ToolEndEvent): boolean => copyOf === undefined && (status === 'ok' || status === 'unknown');
