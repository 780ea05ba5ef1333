import type { Label, Message, ToolMessage } from '../model/types.js';
import { canonicalJson } from './canonical-json.js';
import { addMessage, frozen, withoutCall, withoutNative } from './conversation.js';
import type { CallEnd } from './events.js';
import type { CallState, Repeat, RunState } from './state.js';

/** How often this call was made with this result, now included. Several in one turn count once. Records it only if asked to. */
export function countRepeat(run: RunState, call: CallState, content: string | readonly unknown[], isRecorded: boolean): number {
  const result = typeof content === 'string' ? content : JSON.stringify(content);
  const tool = call.call.name;
  const known = run.repeats.get(tool);
  if (known === undefined) {
    // The first call of a tool costs no canonical JSON.
    if (isRecorded) run.repeats.set(tool, { first: repeatOf(run, call, result), byInput: undefined });
    return 1;
  }
  if (known.byInput === undefined) known.byInput = new Map([[keyOf(known.first), known.first]]);
  call.key ??= keyOf({ input: call.input, variant: call.call.variant });
  const repeat = known.byInput.get(call.key);
  if (repeat === undefined) {
    if (isRecorded) known.byInput.set(call.key, repeatOf(run, call, result));
    return 1;
  }
  const count = repeat.result !== result ? 1 : repeat.turn === run.turn ? repeat.count : repeat.count + 1;
  if (isRecorded) {
    repeat.count = count;
    repeat.result = result;
    repeat.turn = run.turn;
  }
  return count;
}

function repeatOf({ turn }: RunState, { input, call: { variant } }: CallState, result: string): Repeat {
  return { input, variant, result, count: 1, turn };
}

/** Equal for equal inputs. One that was not recorded is told apart by its variant. */
function keyOf({ input, variant }: Pick<Repeat, 'input' | 'variant'>): string {
  return variant === undefined ? canonicalJson(input) : `#${variant}`;
}

/** Once all calls of the answer have ended, their results enter the transcript, in call order. */
export function closeTurn(run: RunState): void {
  for (const call of run.calls.values()) if (call.phase !== 'ended') return;
  settleTurn(run);
  run.answer = answerOfCalls(run);
  run.openIndex = -1;
  run.calls = new Map();
}

/** Of several tools that gave an answer, the first in call order counts, whichever was faster. */
function answerOfCalls({ calls }: RunState): RunState['answer'] {
  for (const [callId, { end }] of calls) {
    if (end?.answer === undefined) continue;
    const { text, value } = end.answer;
    return value === undefined ? { text, callId } : { text, value, callId };
  }
  return undefined;
}

export function settleTurn(run: RunState): void {
  const { conversation } = run;
  const message = conversation.messages[run.openIndex];
  const settled = settledAnswer(run);
  if (message && settled && settled !== message) {
    conversation.messages[run.openIndex] = settled;
    if (conversation.view !== conversation.messages) {
      const at = conversation.view.lastIndexOf(message);
      if (at >= 0) conversation.view[at] = settled;
    }
  }
  for (const [id, call] of run.calls) {
    if (call.end) addMessage(conversation, observation(id, call.call.name, call.end));
  }
}

/** The open answer, with the inputs that ran. */
function settledAnswer(run: RunState): Message | undefined {
  const message = run.conversation.messages[run.openIndex];
  if (message?.role === 'assistant' && [...run.calls.values()].some((call) => call.revision !== call.call.revision)) {
    // A person edited an input: the transcript shows the one that ran, and the provider's own message is void.
    return frozen({
      role: 'assistant',
      id: message.id,
      agent: message.agent,
      text: message.text,
      calls: message.calls.map((each) => {
        const call = run.calls.get(each.id);
        return call && call.revision !== call.call.revision ? { ...each, input: call.input } : each;
      }),
      label: message.label,
    });
  }
  return message;
}

/** What everything so far will be to the target of a handoff: without the handoff's own call, and without what only its maker may read. */
export function handoffHistory(run: RunState, callId: string): Message[] {
  const { messages } = run.conversation;
  const answer = settledAnswer(run);
  const results: Message[] = [];
  for (const [id, call] of run.calls) {
    if (id === callId)
      results.push(observation(id, call.call.name, { status: 'ok', content: '', label: developer, id: `${run.id}/${id}` }));
    else if (call.end) results.push(observation(id, call.call.name, call.end));
  }
  const whole = answer ? [...messages.slice(0, run.openIndex), answer, ...results] : [...messages];
  return withoutCall(whole, `${run.id}/${callId}`, callId).map(withoutNative);
}

function observation(callId: string, tool: string, end: CallEnd & { readonly id: string }): ToolMessage {
  return frozen({
    role: 'tool',
    id: end.id,
    callId,
    tool,
    content: end.content,
    isError: end.status !== 'ok',
    label: end.label,
    ...(end.note === undefined ? {} : { note: end.note }),
  });
}

export const developer: Label = Object.freeze({ origin: 'developer', integrity: 'trusted' });
