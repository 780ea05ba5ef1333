import { canonicalJson } from '../state/canonical-json.js';
import type { RunState } from '../state/state.js';
import type { OpenCall } from './open-call.js';
import { endCall } from './open-call.js';

/** A call of a run beside this one, whose effect may have happened. */
export interface EarlierEffect {
  readonly run: RunState;
  readonly callId: string;
}

/** The latest equal call of a run with which this one shares effects. */
export function earlierEffect({ handle, call, tool }: OpenCall): EarlierEffect | undefined {
  let found: EarlierEffect | undefined;
  let own: string | undefined;
  for (let each = handle; each.parent !== undefined; each = each.parent) {
    if (!each.sharesEffects) continue;
    own ??= canonicalJson(call.input);
    // What lies further in was found from further in, or is found again.
    found = latestOf(each.parent.state, { tool: tool.name, input: own, except: handle.state }) ?? found;
  }
  return found;
}

interface Wanted {
  readonly tool: string;
  /** Canonical JSON. */
  readonly input: string;
  readonly except: RunState;
}

function latestOf({ children }: RunState, wanted: Wanted): EarlierEffect | undefined {
  let found: EarlierEffect | undefined;
  for (const run of children?.values() ?? []) {
    const effect =
      run === wanted.except ? undefined : run.effects?.get(wanted.tool)?.findLast(({ input }) => canonicalJson(input) === wanted.input);
    if (effect !== undefined) found = { run, callId: effect.callId };
    found = latestOf(run, wanted) ?? found;
  }
  return found;
}

/** Ends a call with what the earlier one gave. False: that is no result, or stood under other guardrails. */
export function endAsEarlier(open: OpenCall, { run, callId }: EarlierEffect): boolean {
  const { state } = open.handle;
  if (run.agent !== state.agent || canonicalJson(run.manifest as never) !== canonicalJson(state.manifest as never)) return false;
  const id = `${run.id}/${callId}`;
  const result = run.conversation.messages.find((message) => message.id === id);
  if (result?.role !== 'tool' || result.isError) return false;
  const { content, label } = result;
  const note = 'An earlier run of this work has done this. It was not done again; this is its result.';
  endCall(open, { status: 'ok', content, label, note, copyOf: id, revision: 0, chars: 0 });
  return true;
}
