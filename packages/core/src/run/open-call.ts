import type { ToolSpec } from '../define/specs.js';
import { countRepeat } from '../state/repeats.js';
import type { CallState } from '../state/state.js';
import type { LogDraft, RunHandle } from './handle.js';

/** A call that has not ended, the tool it is of, and its run. */
export interface OpenCall {
  readonly handle: RunHandle;
  readonly call: CallState;
  readonly tool: ToolSpec;
}

type ToolEndDraft = Extract<LogDraft, { type: 'tool.end' }>;
export type ToolEnd = Omit<ToolEndDraft, 'type' | 'callId' | 'tool' | 'id' | 'polling'>;

/** Records a call's end, with a notice when it repeats itself. */
export function endCall(
  { handle, call, tool }: Pick<OpenCall, 'handle' | 'call'> & { readonly tool?: Pick<ToolSpec, 'polling'> | undefined },
  end: ToolEnd,
): void {
  const { state } = handle;
  const { status, content, label, revision, chars } = end;
  const event: { -readonly [K in keyof ToolEndDraft]: ToolEndDraft[K] } = {
    type: 'tool.end',
    seq: 0,
    at: 0,
    run: '',
    agent: '',
    callId: call.call.id,
    tool: call.call.name,
    id: call.path,
    status,
    content,
    label,
    revision,
    chars,
    completeness: status === 'ok' ? 'full' : 'empty',
  };
  Object.assign(event, end);
  if (tool?.polling) event.polling = true;
  else if (end.status !== 'aborted' && end.copyOf === undefined) {
    const count = countRepeat(state, call, end.content);
    if (count >= state.limits.repeats) {
      const notice = `This is call ${count} with the same input and the same result. Do something else; the run ends at ${state.limits.repeats * 2}.`;
      event.note = end.note === undefined ? notice : `${end.note} ${notice}`;
    }
  }
  handle.append(event);
  if (state.ending) handle.abort({ kind: 'halt' });
}
