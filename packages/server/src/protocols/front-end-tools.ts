// Tools that the front end runs: those of the agent without `execute`. Their calls wait for a result of who is shown them.
import type { Approval, CallApproval, JsonValue, ToolEndEvent } from '@guardloop/core';
import { canonicalJson } from '@guardloop/core';
import type { DurableEvent } from '@guardloop/durable';
import type { ApprovalRecord } from '@guardloop/store';
import type { Caller } from '../caller.js';
import type { Call } from '../operation.js';
import type { Show } from '../show.js';
import { showsContent } from '../show.js';

export const isFrontEndCall = (approval: Approval): approval is CallApproval =>
  approval.surface === 'toolInput' && approval.caller === true;

/** Core asks for the result; where somebody asks beside it, a person says yes before the call is run. */
export const needsYes = ({ asks }: CallApproval): boolean => asks.length > 1;

/** A call that has ended, and what was asked for it. */
export interface EndedCall {
  readonly approval: CallApproval;
  readonly end: ToolEndEvent;
}

/** What is heard of calls that the front end runs, of whichever agent of the run. */
export class FrontEndCalls {
  readonly #asked = new Map<string, CallApproval>();

  /** Takes every event of the run in; with the end of a call that was asked for, gives the call. */
  take(event: DurableEvent): EndedCall | undefined {
    if (event.type === 'approval.request' && isFrontEndCall(event.approval))
      this.#asked.set(callKey(event.approval.run, event.approval.callId), event.approval);
    if (event.type !== 'tool.end') return undefined;
    const approval = this.#asked.get(callKey(event.run, event.callId));
    return approval === undefined ? undefined : { approval, end: event };
  }
}

/** Of a call, unique over runs. */
export const callKey = (run: string, callId: string): string => `${run}/${callId}`;

/** Whether the client sees what became of the result; what it gave itself passed guardrails on its way to the model, not back. */
export const showsEnd = (show: Show, { end }: EndedCall, root: string): boolean =>
  (end.run === root || show.agents === true) && showsContent(show, end);

/**
 * Whether a result that comes again is the one that the run has taken up. The log holds what the model was told: where that is not the
 * result itself, since it was cut or guardrails changed it, whoever gave it is believed, since nothing comes of it.
 */
export async function isTakenResult<U extends Caller>(
  { settings, caller, request }: Call<U>,
  { id, run, approval, decidedBy }: ApprovalRecord,
  value: JsonValue,
): Promise<boolean> {
  if (decidedBy !== caller.user || approval.surface !== 'toolInput') return false;
  for await (const { event } of settings.runs.events(run, { until: 'wait', signal: request.signal })) {
    if (event.type === 'approval.resolve' && event.id === id && event.decision !== 'result') return false;
    if (event.type === 'tool.end' && event.run === approval.run && event.callId === approval.callId) return isSameResult(event, value);
  }
  return true;
}

function isSameResult({ status, content, completeness, projection, revision, structured }: ToolEndEvent, value: JsonValue): boolean {
  if (status !== 'ok' || completeness !== 'full' || projection !== undefined || revision !== 0 || typeof content !== 'string') return true;
  // A client that came back was told no more of it than how it ended.
  const shown: readonly JsonValue[] = [{ status }, structured === true ? (JSON.parse(content) as JsonValue) : content];
  return shown.some((one) => canonicalJson(one) === canonicalJson(value));
}
