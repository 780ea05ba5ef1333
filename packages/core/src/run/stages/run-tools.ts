import pLimit from 'p-limit';
import type { ToolSpec } from '../../define/specs.js';
import type { JsonObject } from '../../model/types.js';
import { canonicalJson } from '../../state/canonical-json.js';
import type { ApprovalResolveEvent, Ask, RecordedCall } from '../../state/events.js';
import { hasToolCallsLeft, spentLimit } from '../../state/limit-reached.js';
import { nextOfCall } from '../../state/next-step.js';
import type { CallState } from '../../state/state.js';
import { addTo } from '../add-to.js';
import { callLabel } from '../call-label.js';
import type { CallInput, RunHandle } from '../handle.js';
import { faultStop } from '../handle.js';
import { inTime, unread } from '../in-time.js';
import { isPromise } from '../is-promise.js';
import { deniedEnd, errorEnd, limitEnd, unknownEnd } from '../observations.js';
import type { OpenCall } from '../open-call.js';
import { endCall } from '../open-call.js';
import { deepFreeze } from '../plain-output.js';
import { standNow } from '../plan.js';
import { judgeToolInput, runsOnce } from '../prepare-calls.js';
import { requestCallApproval, requestHandoffApproval } from '../request-approval.js';
import { runCall } from '../run-call.js';
import { earlierEffect, endAsEarlier } from '../shared-effects.js';
import { answerByStanding } from '../standing-decisions.js';

/** Advances every call that can go on: ends the refused, asks for the approvals, runs the rest. Together, but for declared effects and approvals. */
export function runTools(handle: RunHandle): Promise<undefined> {
  const { state } = handle;
  let side: CallState[] | undefined;
  let serial: CallState[] | undefined;
  for (const call of state.calls.values()) {
    if (nextOfCall(state, call) !== 'go') continue;
    if (call.call.end) {
      endCall({ handle, call }, { ...call.call.end, revision: 0, chars: 0 });
      continue;
    }
    const tool = toolOf(handle, call);
    if (
      tool === undefined ||
      isSerial(tool) ||
      call.phase === 'decided' ||
      call.asksAnew ||
      state.suspected !== undefined ||
      call.call.asks ||
      call.call.copyOf !== undefined
    )
      serial = addTo(serial, call);
    else side = addTo(side, call);
  }
  const only = side?.length === 1 && serial === undefined ? side[0] : undefined;
  return only === undefined ? attemptAll(handle, side, serial) : attempt(handle, only);
}

async function attemptAll(
  handle: RunHandle,
  side: readonly CallState[] | undefined,
  serial: readonly CallState[] | undefined,
): Promise<undefined> {
  if (side !== undefined) {
    // What fits under the cap needs no queue.
    const { concurrency } = handle.root.settings;
    handle.slots ??= side.length > concurrency ? pLimit(concurrency) : undefined;
    const { slots } = handle;
    await Promise.all(side.map((call) => (slots ? slots(() => attempt(handle, call)) : attempt(handle, call))));
  }
  // One may wait by now for the one before it.
  if (serial !== undefined) for (const call of serial) if (nextOfCall(handle.state, call) === 'go') await attempt(handle, call);
  return undefined;
}

const sharedNote = 'The same call stands earlier in this answer. It ran once; this is its result.';

/** Shares the end of the call that this one is a copy of. False: that one was edited. */
function endCopy(handle: RunHandle, call: CallState, copyOf: string): boolean {
  const original = handle.state.calls.get(copyOf);
  if (original?.end === undefined || original.revision !== original.call.revision) return false;
  const { status, content, errorClass, retryable, label, note, completeness } = original.end;
  endCall(
    { handle, call },
    {
      status,
      content,
      ...(errorClass === undefined ? {} : { errorClass }),
      ...(retryable === undefined ? {} : { retryable }),
      label,
      ...(completeness === undefined ? {} : { completeness }),
      // What is missing of the result is missing here too.
      note: note === undefined || completeness !== 'partial' ? sharedNote : `${note} ${sharedNote}`,
      copyOf,
      revision: 0,
      chars: 0,
    },
  );
  return true;
}

const isSerial = (tool: ToolSpec): boolean =>
  tool.approval !== false || (tool.flow.declared && (tool.flow.effect === 'write' || tool.flow.effect === 'send'));

export function toolOf(handle: RunHandle, call: CallState): ToolSpec | undefined {
  for (const { offered } of standNow(handle).tools)
    if (offered.kind === 'tool' && offered.spec.name === call.call.name) return offered.spec;
  return undefined;
}

/** As {@link advance}, but never rejects: what throws stops the run, and the calls beside it still come to their ends. */
async function attempt(handle: RunHandle, call: CallState): Promise<undefined> {
  try {
    await advance(handle, call);
  } catch (thrown) {
    handle.abort(faultStop(handle, thrown));
  }
  return undefined;
}

function advance(handle: RunHandle, call: CallState): Promise<void> | undefined {
  if (handle.stop) return undefined;
  if (call.call.kind === 'handoff') return advanceHandoff(handle, call);
  const tool = toolOf(handle, call);
  if (tool === undefined) {
    const { decision } = call;
    if (call.phase === 'decided' && decision?.decision === 'reject') {
      endCall({ handle, call }, { ...rejectedEnd(call, decision.reason), revision: 0, chars: 0 });
      return undefined;
    }
    endCall(
      { handle, call },
      { ...errorEnd({ status: 'error', errorClass: 'unknown_tool', summary: 'This tool is not there any more.' }), revision: 0, chars: 0 },
    );
    return undefined;
  }
  const open: OpenCall = { handle, call, tool };
  if (call.asksAnew) return requestApproval(open, { asks: call.asksAnew, mayHaveRun: call.wasStarted });
  if (call.call.copyOf !== undefined && endCopy(handle, call, call.call.copyOf)) return undefined;
  switch (call.phase) {
    case 'started':
      return goOn(open);
    case 'decided':
      return followDecision(open);
    default:
      return begin(open);
  }
}

/** A call that a process had started and did not end. */
async function goOn(open: OpenCall): Promise<void> {
  const { tool } = open;
  if (!tool.repeatable && tool.agent === undefined) {
    await requestApproval(open, {
      asks: [{ by: 'core', reason: 'the run was interrupted while this call was under way: it may have happened' }],
      mayHaveRun: true,
    });
    return;
  }
  const input = await inputOf(open);
  if (input !== undefined) await runCall(open, input.parsed);
}

function begin(open: OpenCall): Promise<void> | undefined {
  const reading = inputOf(open);
  return isPromise(reading) ? reading.then((input) => beginWith(open, input)) : beginWith(open, reading);
}

function beginWith(open: OpenCall, input: CallInput | undefined): Promise<void> | undefined {
  if (input === undefined || endAtLimit(open)) return undefined;
  const asking = needsApproval(open, input);
  return isPromise(asking) ? asking.then((own) => askOrRun(open, input, own)) : askOrRun(open, input, asking);
}

function askOrRun(open: OpenCall, input: CallInput, own: string | undefined): Promise<void> | undefined {
  const { handle, call, tool } = open;
  if (handle.stop) return undefined;
  const asks: Ask[] = [...(call.call.asks ?? [])];
  if (tool.execute === undefined && tool.agent === undefined) asks.push({ by: 'core', reason: 'the caller runs this tool' });
  if (own !== undefined) asks.push({ by: 'approval', reason: own });
  if (handle.state.suspected !== undefined) asks.push({ by: 'core', reason: handle.state.suspected });
  if (runsOnce(tool)) {
    const earlier = earlierEffect(open);
    if (earlier !== undefined && !hasRun(open) && endAsEarlier(open, earlier)) return undefined;
    if (hasRun(open)) asks.push(equalCallRan);
    else if (earlier !== undefined) asks.push(equalCallRanBeside);
  }
  if (asks.length > 0) return requestApproval(open, { asks, mayHaveRun: false });
  // Calls that run together may have used the limit up meanwhile.
  return endAtLimit(open) ? undefined : runCall(open, input.parsed);
}

function endAtLimit(open: OpenCall): boolean {
  const { handle, call, tool } = open;
  const { state } = handle;
  const limit = spentLimit(state) ?? (call.isCounted || hasToolCallsLeft(state) ? undefined : 'toolCalls');
  if (limit === undefined) return false;
  const end = call.wasStarted
    ? unknownEnd(tool.name, `the limit ${limit} of the run was reached before it was run again`)
    : limitEnd(limit);
  endCall(open, { ...end, revision: 0, chars: 0, limit });
  return true;
}

/** The parsed input of the revision that will run; a call whose recorded input does not fit any more is ended. */
function inputOf({ handle, call, tool }: OpenCall): CallInput | undefined | Promise<CallInput | undefined> {
  const known = call.revision === call.call.revision ? handle.inputs?.get(call.call.id) : undefined;
  return known ?? inputAnew({ handle, call, tool });
}

async function inputAnew(open: OpenCall): Promise<CallInput | undefined> {
  const { call, tool } = open;
  const parsed = await inTime(open.handle, tool.input.parse(call.input));
  if (parsed.ok) return { raw: call.input, parsed: deepFreeze(parsed.value) };
  if (parsed === unread) return undefined;
  endCall(open, {
    ...errorEnd({
      status: 'error',
      errorClass: 'invalid_input',
      summary: `${tool.name}: the recorded arguments do not fit the tool any more.`,
      retryable: true,
    }),
    revision: 0,
    chars: 0,
  });
  return undefined;
}

/** Why the tool itself wants a person; undefined: it does not. A rule that throws wants one. */
function needsApproval(open: OpenCall, input: CallInput): string | undefined | Promise<string | undefined> {
  const { tool } = open;
  if (typeof tool.approval === 'function') return askApprovalRule(open, tool.approval, input);
  return tool.approval ? `${tool.name} needs an approval` : undefined;
}

type ApprovalRule = Extract<ToolSpec['approval'], (...given: never[]) => unknown>;

async function askApprovalRule({ handle, call, tool }: OpenCall, approval: ApprovalRule, input: CallInput): Promise<string | undefined> {
  let answer: unknown;
  try {
    answer = approval(input.parsed as never, { context: handle.root.context, callId: call.call.id, signal: handle.signal });
    if (isPromise(answer)) {
      const settled = await handle.wait(answer);
      answer = settled.kind === 'value' ? settled.value : settled;
    }
  } catch {
    // What is no answer asks.
  }
  if (answer === false) return undefined;
  return answer === true ? `${tool.name} needs an approval` : `the approval rule of ${tool.name} failed`;
}

const equalCallRan: Ask = Object.freeze({ by: 'core', reason: 'an equal call of this tool has run before in this run' });
const equalCallRanBeside: Ask = Object.freeze({
  by: 'core',
  reason: 'an equal call of this tool was made before in an earlier run of this work: it may have happened',
});

/** That an equal call has run, of which a person is to be told. */
const ranBefore = (open: OpenCall): Ask | undefined =>
  hasRun(open) ? equalCallRan : earlierEffect(open) === undefined ? undefined : equalCallRanBeside;

/** The person who approved had been told that an equal call has run. Who edited was told about another input. */
function wasTold(handle: RunHandle, { id, decision }: ApprovalResolveEvent, ran: Ask): boolean {
  return (
    decision === 'approve' &&
    handle.root.events.some(
      (event) =>
        event.type === 'approval.request' &&
        event.approval.id === id &&
        event.approval.asks.some(({ by, reason }) => by === ran.by && reason === ran.reason),
    )
  );
}

function hasRun({ handle, call, tool }: OpenCall): boolean {
  const inputs = handle.state.effects?.get(tool.name);
  if (inputs === undefined) return false;
  const own = canonicalInput(call.input);
  return inputs.some(({ callId, input }) => callId !== call.call.id && canonicalInput(input) === own);
}

/** Kept with the input, which is frozen: each call is compared with all before it. */
const canonicalInputs = new WeakMap<JsonObject, string>();
function canonicalInput(input: JsonObject): string {
  let text = canonicalInputs.get(input);
  if (text === undefined) {
    text = canonicalJson(input);
    canonicalInputs.set(input, text);
  }
  return text;
}

/** Puts a call before a person; a standing decision that holds for it answers at once. */
async function requestApproval(open: OpenCall, asking: { readonly asks: readonly Ask[]; readonly mayHaveRun: boolean }): Promise<void> {
  const approval = await requestCallApproval(open, asking);
  if (!open.handle.stop && answerByStanding(open.handle, approval)) await followDecision(open);
}

async function followDecision(open: OpenCall): Promise<void> {
  const { handle, call, tool } = open;
  const decision = call.decision as ApprovalResolveEvent;
  if (decision.decision === 'reject') {
    endCall(open, { ...rejectedEnd(call, decision.reason, tool.rejection), revision: 0, chars: 0 });
    return;
  }
  const input = await inputOf(open);
  if (input === undefined || endAtLimit(open)) return;
  const ran = runsOnce(tool) ? ranBefore(open) : undefined;
  if (ran !== undefined && !wasTold(handle, decision, ran)) {
    await requestApproval(open, { asks: [ran], mayHaveRun: call.wasStarted });
    return;
  }
  if (decision.decision === 'approve') {
    const ruling = await judgeToolInput(handle, {
      id: call.call.id,
      about: call.call.id,
      spec: tool,
      input,
      label: callLabel(handle, call),
      revision: call.revision,
      phases: 'check',
    });
    if (ruling.isStopped) return;
    if (ruling.refusal) {
      endCall(open, { ...deniedEnd(ruling.refusal), revision: ruling.revision, chars: 0 });
      return;
    }
    // Calls of other runs may have used the limit up meanwhile.
    if (endAtLimit(open)) return;
  }
  await runCall(open, input.parsed);
}

function rejectedEnd(call: CallState, words: string | undefined, rejection?: string | undefined) {
  const { name } = call.call;
  const summary = words || (rejection ?? `A person rejected this call of ${name}.`);
  return call.wasStarted
    ? unknownEnd(name, `a person did not let it run again: ${summary}`)
    : errorEnd({ status: 'rejected', errorClass: 'rejected', summary });
}

async function advanceHandoff(handle: RunHandle, call: CallState): Promise<void> {
  const { to, brief } = call.call.handoff as NonNullable<RecordedCall['handoff']>;
  if (call.decision?.decision === 'reject') {
    endCall({ handle, call }, { ...rejectedEnd(call, call.decision.reason), revision: 0, chars: 0 });
    return;
  }
  await requestHandoffApproval(handle, call, { to, brief, revision: call.revision, asks: call.call.asks as readonly Ask[] });
}
