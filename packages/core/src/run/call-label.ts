import type { Label } from '../model/types.js';
import type { CallState } from '../state/state.js';
import type { RunHandle } from './handle.js';

/** The label of a call's input: of the answer that made it. */
export function callLabel({ state }: RunHandle, call: CallState): Label {
  const message = state.conversation.messages[state.openIndex];
  return message?.role === 'assistant' && message.calls.some(({ id }) => id === call.call.id)
    ? message.label
    : { origin: `agent:${state.agent}`, integrity: 'untrusted' };
}
