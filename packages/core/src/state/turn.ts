import type { Label, Message, ToolMessage } from '../model/types.js';
import { addMessage, frozen, withoutCall, withoutNative } from './conversation.js';
import type { CallState, RunState } from './state.js';
import { noCalls } from './state.js';

/** Once all calls of the answer have ended, their results enter the transcript, in call order. */
export function closeTurn(run: RunState): void {
  for (const call of run.calls.values()) if (call.phase !== 'ended') return;
  settleTurn(run);
  run.answer = answerOfCalls(run) ?? run.answer;
  run.openIndex = -1;
  run.calls = noCalls;
  run.suspected = undefined;
}

/** Of several tools that gave an answer, the first in call order counts, whichever was faster. */
function answerOfCalls({ calls }: RunState): RunState['answer'] {
  for (const { call, end } of calls.values()) {
    if (end?.answer === undefined) continue;
    const callId = call.id;
    const { text, value } = end.answer;
    return value === undefined ? { text, callId } : { text, value, callId };
  }
  return undefined;
}

export function settleTurn(run: RunState): void {
  const { conversation } = run;
  const message = conversation.messages[run.openIndex];
  if (message) {
    const settled = settledAnswer(run, message);
    conversation.messages[run.openIndex] = settled;
    const at = conversation.view.lastIndexOf(message);
    if (at >= 0) conversation.view[at] = settled;
  }
  for (const { call, end } of run.calls.values()) if (end) addMessage(conversation, observation(call.id, call.name, end));
}

function wasEdited({ calls }: RunState): boolean {
  for (const call of calls.values()) if (call.revision !== call.call.revision) return true;
  return false;
}

/** The open answer, with the inputs that ran: where a person edited one, the provider's own message is void. */
function settledAnswer(run: RunState, message: Message): Message {
  if (message.role !== 'assistant' || !wasEdited(run)) return message;
  const calls = message.calls.map((each) => ({ ...each, input: run.calls.get(each.id)?.input ?? each.input }));
  const { id, agent, text, label } = message;
  return frozen({ role: 'assistant', id, agent, text, calls, label });
}

/** What everything so far will be to the target of a handoff: without the handoff's own call, and without what only its maker may read. */
export function handoffHistory(run: RunState, callId: string): Message[] {
  const { messages } = run.conversation;
  const answer = messages[run.openIndex];
  const results: Message[] = [];
  for (const [id, call] of run.calls) {
    if (id === callId)
      results.push(observation(id, call.call.name, { status: 'ok', content: '', label: developer, id: `${run.id}/${id}` }));
    else if (call.end) results.push(observation(id, call.call.name, call.end));
  }
  const whole = answer ? [...messages.slice(0, run.openIndex), settledAnswer(run, answer), ...results] : messages;
  return withoutCall(whole, `${run.id}/${callId}`, callId).map(withoutNative);
}

function observation(callId: string, tool: string, end: NonNullable<CallState['end']>): ToolMessage {
  const { id, content, label, note } = end;
  const isError = end.status !== 'ok';
  const message: { -readonly [K in keyof ToolMessage]: ToolMessage[K] } = { role: 'tool', id, callId, tool, content, isError, label };
  if (note !== undefined) message.note = note;
  if (end.structured && end.projection === undefined) message.structured = true;
  return frozen(message);
}

export const developer: Label = Object.freeze({ origin: 'developer', integrity: 'trusted' });
