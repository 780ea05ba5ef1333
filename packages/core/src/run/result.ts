import { GuardloopError } from '../errors.js';
import type { RunHandle } from './handle.js';
import { inTime } from './in-time.js';
import { isPromise } from './is-promise.js';
import { openApprovals } from './open-approvals.js';
import { signApprovals } from './sign-approvals.js';
import type { RunResult } from './types.js';

/** What a run came to, for the caller. */
export async function resultOf(handle: RunHandle): Promise<RunResult> {
  const { root, state } = handle;
  const base = {
    runId: state.id,
    agent: state.agent,
    log: { version: 1 as const, events: root.events },
    events: root.events.slice(state.startSeq - 1),
    messages: state.conversation.messages,
    usage: state.usage,
  };
  const failure = root.writer?.failure;
  if (failure) return { ...base, status: 'failed', error: failure };
  const { ended } = state;
  if (ended === undefined) {
    if (handle.stop?.kind === 'fault') return { ...base, status: 'failed', error: handle.stop.error };
    return { ...base, status: 'interrupted', approvals: await signApprovals(handle, openApprovals(state)) };
  }
  switch (ended.status) {
    case 'completed':
      return { ...base, status: 'completed', text: ended.text ?? '', output: await outputOf(handle, ended.text ?? '', ended.value) };
    case 'blocked': {
      const { surface = 'output', by = '', reason = '', failed } = ended.refusal ?? {};
      return {
        ...base,
        status: 'blocked',
        surface,
        by,
        reason,
        ...(ended.reply === undefined ? {} : { reply: ended.reply }),
        ...(failed ? { failed } : {}),
      };
    }
    case 'exhausted':
      return {
        ...base,
        status: 'exhausted',
        limit: ended.limit ?? 'turns',
        ...(ended.text === undefined ? {} : { text: ended.text, output: await outputOf(handle, ended.text, ended.value) }),
      };
    case 'failed': {
      const { code = 'INTERNAL', message = 'The run failed.', isRetryable, details } = ended.error ?? {};
      return {
        ...base,
        status: 'failed',
        error: new GuardloopError(code, message, { isRetryable, details, cause: ended.error?.cause }),
      };
    }
    case 'cancelled':
      return { ...base, status: 'cancelled', ...(ended.cause === undefined ? {} : { cause: ended.cause }) };
    default:
      return ended.status satisfies never;
  }
}

/** The parsed answer of a completed run; read anew where it was given in another process. */
export async function outputOf(handle: RunHandle, text: string, value: unknown): Promise<unknown> {
  if (handle.answer) return handle.answer.value;
  const schema = handle.agents.get(handle.state.agent)?.output;
  if (schema === undefined || value === undefined) return text;
  const parsing = inTime(handle, schema.parse(value as never));
  const parsed = isPromise(parsing) ? await parsing : parsing;
  return parsed.ok ? parsed.value : value;
}
