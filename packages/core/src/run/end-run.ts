import { safeCause } from '../errors.js';
import type { Refusal } from '../state/events.js';
import type { CallState, Ending, RunState } from '../state/state.js';
import { addTo } from './add-to.js';
import { recordError } from './answer.js';
import type { Root } from './handle.js';
import { RunHandle } from './handle.js';
import { abortedEnd, unknownEnd } from './observations.js';
import { endCall } from './open-call.js';

/** How a run can end. */
export type RunEnding =
  | Ending
  | { readonly status: 'completed' }
  | { readonly status: 'cancelled'; readonly reason: unknown }
  | { readonly status: 'exhausted'; readonly limit: Extract<Ending, { status: 'exhausted' }>['limit'] };

/** What a stopped run ends as: what events have settled goes before why it was stopped. */
export function endingOfStop(handle: RunHandle): RunEnding {
  const { state, stop } = handle;
  if (state.ending) return state.ending;
  switch (stop?.kind) {
    case 'limit':
      return { status: 'exhausted', limit: stop.limit };
    case 'store':
    case 'fault':
      return { status: 'failed', error: recordError(stop.error) };
    default:
      return { status: 'cancelled', reason: stop?.kind === 'cancel' ? stop.reason : undefined };
  }
}

/** Takes over a run that nobody is at work on, and ends it. Needs nothing of its agents. */
export function endOpenRun({ root, run }: { readonly root: Root; readonly run: RunState }, ending: RunEnding): void {
  const old = new RunHandle(root, run, { agents: new Map() });
  old.append({ type: 'run.resume', writer: root.writerId, manifest: run.manifest });
  endRun(old, ending);
}

/** Ends every open call, a waiting child run before its call, then the run. After it nothing is appended. */
export function endRun(handle: RunHandle, ending: RunEnding): void {
  const { state } = handle;
  for (const call of [...state.calls.values()]) closeCall(handle, call);
  if (state.quarantine) handle.root.undecided = addTo(handle.root.undecided, state);
  const { answer } = state;
  switch (ending.status) {
    case 'completed':
      // What a model said was shown when it passed; what a tool gave is shown once it is known to be the answer.
      if (answer?.callId !== undefined && answer.text !== '') handle.emit({ type: 'text.delta', turn: state.turn, text: answer.text });
      handle.append({
        type: 'run.end',
        status: 'completed',
        text: answer?.text ?? '',
        ...(answer?.value === undefined ? {} : { value: answer.value }),
      });
      return;
    case 'exhausted':
      handle.append({
        type: 'run.end',
        status: 'exhausted',
        limit: ending.limit,
        ...(state.finalizing === undefined || answer === undefined || answer.text === ''
          ? {}
          : { text: answer.text, ...(answer.value === undefined ? {} : { value: answer.value }) }),
      });
      return;
    case 'blocked': {
      const reply = replyOf(handle, ending.refusal);
      const { refusal, viewUsage } = ending;
      handle.append({
        type: 'run.end',
        status: 'blocked',
        refusal,
        ...(reply === undefined ? {} : { reply }),
        ...(viewUsage === undefined ? {} : { viewUsage }),
      });
      // A halt ends the runs above too: the person is told once, by the root.
      const isToldAbove = refusal.action === 'halt' && handle.parent !== undefined;
      if (reply !== undefined && !isToldAbove) handle.emit({ type: 'text.delta', turn: state.turn, text: reply });
      return;
    }
    case 'failed':
      handle.append({ type: 'run.end', status: 'failed', error: ending.error });
      return;
    case 'cancelled':
      handle.append({ type: 'run.end', status: 'cancelled', ...(ending.reason === undefined ? {} : { cause: safeCause(ending.reason) }) });
      return;
    default:
      ending satisfies never;
  }
}

function closeCall(handle: RunHandle, call: CallState): void {
  if (call.phase === 'ended') return;
  const { name } = call.call;
  if (call.phase === 'handoff') {
    handle.append({ type: 'handoff.refused', callId: call.call.id, ...abortedEnd('The handoff did not happen: the run was stopped.') });
    return;
  }
  const child = call.phase === 'started' ? handle.state.children?.get(call.call.id) : undefined;
  // Nobody is at work on a child that waits for people, or was cut.
  if (child && child.ended === undefined) {
    const waiting = new RunHandle(handle.root, child, { agents: handle.agents, parent: handle, isStreamed: false });
    endRun(waiting, { status: 'cancelled', reason: undefined });
  }
  const end = call.call.end ?? (call.wasStarted ? unknownEnd(name, 'the run was stopped before its result was seen') : abortedEnd());
  endCall({ handle, call, tool: { polling: true } }, { ...end, revision: 0, chars: 0 });
}

function replyOf(handle: RunHandle, refusal: Refusal): string | undefined {
  return refusal.reply ?? handle.agents.get(handle.state.agent)?.refusal;
}
