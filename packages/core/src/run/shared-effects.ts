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
  const own = canonicalJson(call.input);
  const search = (runs: RunState['children']): void => {
    for (const run of runs?.values() ?? []) {
      if (run !== handle.state)
        for (const { callId, input } of run.effects?.get(tool.name) ?? []) if (canonicalJson(input) === own) found = { run, callId };
      search(run.children);
    }
  };
  for (let each = handle; each.parent !== undefined; each = each.parent) if (each.sharesEffects) search(each.parent.state.children);
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
