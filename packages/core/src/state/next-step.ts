import type { LimitName } from './events.js';
import { limitReached, unheldError } from './limit-reached.js';
import type { CallState, Ending, RunState } from './state.js';

/** What the loop does next. */
export type Step =
  | { readonly type: 'ended' }
  | { readonly type: 'end'; readonly ending: Ending }
  | { readonly type: 'guardInput' }
  | { readonly type: 'runTools' }
  | { readonly type: 'releaseQuarantine' }
  | { readonly type: 'wait' }
  | { readonly type: 'handOff'; readonly call: CallState }
  | { readonly type: 'complete' }
  | { readonly type: 'finalize'; readonly limit: LimitName }
  | { readonly type: 'exhaust'; readonly limit: LimitName }
  | { readonly type: 'callModel' };

const finalizable: ReadonlySet<LimitName> = new Set(['turns', 'toolCalls', 'handoffs', 'repeats']);

/** The first that holds. Pure. */
export function nextStep(run: RunState): Step {
  if (run.ended) return { type: 'ended' };
  if (run.ending) return { type: 'end', ending: run.ending };
  if (!run.accepted) return { type: 'guardInput' };
  let isWaiting = false;
  let handoff: CallState | undefined;
  for (const call of run.calls.values()) {
    const next = nextOfCall(run, call);
    if (next === 'go') return { type: 'runTools' };
    if (next === 'wait') isWaiting = true;
    if (next === 'handoff') handoff ??= call;
  }
  if (run.quarantine) {
    if (run.quarantine.decision) return { type: 'releaseQuarantine' };
    isWaiting = true;
  }
  if (isWaiting) return { type: 'wait' };
  if (handoff) return { type: 'handOff', call: handoff };
  if (run.finalizing) return { type: 'exhaust', limit: run.finalizing };
  if (run.answer) return { type: 'complete' };
  const limit = limitReached(run);
  if (limit) return stepAtLimit(run, limit);
  return { type: 'callModel' };
}

function stepAtLimit(run: RunState, limit: LimitName): Step {
  const error = limit === 'cost' || limit === 'tokens' ? unheldError(run) : undefined;
  if (error) return { type: 'end', ending: { status: 'failed', error } };
  return (run.forced ?? run.onLimit) === 'finalize' && finalizable.has(limit) ? { type: 'finalize', limit } : { type: 'exhaust', limit };
}

/** `go`: something can be done now. `wait`: for a person. `handoff`: at the swap. */
export function nextOfCall(run: RunState, state: CallState): 'ended' | 'go' | 'wait' | 'handoff' {
  const { call } = state;
  switch (state.phase) {
    case 'ended':
      return 'ended';
    case 'waiting':
      return 'wait';
    case 'handoff':
      return 'handoff';
    case 'started': {
      const child = run.children?.get(call.id);
      return child && nextStep(child).type === 'wait' ? 'wait' : 'go';
    }
    case 'decided':
      return call.kind === 'handoff' && state.decision?.decision !== 'reject' ? 'handoff' : 'go';
    case 'prepared': {
      if (call.end) return 'go';
      if (call.kind === 'handoff') return call.asks?.length ? 'go' : 'handoff';
      const original = call.copyOf === undefined ? undefined : run.calls.get(call.copyOf);
      return original && waitsAsCalled(run, original) ? 'wait' : 'go';
    }
    default:
      return state.phase satisfies never;
  }
}

/** A copy waits with the call whose effect it shares, as long as that one still has the input that both were called with. */
function waitsAsCalled(run: RunState, original: CallState): boolean {
  return original.revision === original.call.revision && nextOfCall(run, original) === 'wait';
}
