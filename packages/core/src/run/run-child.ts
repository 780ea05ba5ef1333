import { atOnce } from '../define/at-once.js';
import { resolveAgents } from '../define/resolve.js';
import type { AgentToolSpec } from '../define/specs.js';
import type { ChildRun } from '../define/types.js';
import { isUntrustedView } from '../state/conversation.js';
import type { ErrorClass, Refusal } from '../state/events.js';
import { limitsOf, recordLimits, resolveLimits } from '../state/limits.js';
import type { RunState } from '../state/state.js';
import { endRun } from './end-run.js';
import { graceMs, RunHandle } from './handle.js';
import { isPromise } from './is-promise.js';
import type { OpenCall } from './open-call.js';
import { manifestOf, standOf } from './plan.js';
import { outputOf } from './result.js';

/** How a child run came out, for the call that started it. */
export type ChildResult =
  | { readonly status: 'waiting' }
  | { readonly status: 'completed'; readonly value: unknown }
  | { readonly status: 'threw'; readonly thrown: unknown }
  | { readonly status: 'halted'; readonly refusal: Refusal }
  | { readonly status: 'failed'; readonly errorClass: ErrorClass; readonly summary: string; readonly retryable: boolean };

/** Runs an agent as a tool, or goes on with its run: inline in the parent's log, under the run's guardrails and the parents' budgets. */
export async function runChild(open: OpenCall, agentTool: AgentToolSpec, input: unknown): Promise<ChildResult> {
  const { handle, tool } = open;
  const known = handle.state.children?.get(open.call.call.id);
  const brief = known?.accepted ? '' : briefOf(agentTool, input);
  if (brief === undefined) {
    // Of one that was cut before it began nothing is left to do.
    if (known) endRun(childHandle(open, agentTool, ''), { status: 'cancelled', reason: undefined });
    return {
      status: 'failed',
      errorClass: 'failed',
      summary: `${tool.name} was not started: its brief could not be made.`,
      retryable: false,
    };
  }
  const child = childHandle(open, agentTool, brief);
  const off = handle.onStop(() => child.abort({ kind: 'parent' }));
  const disarm = child.armTimeLimit();
  try {
    await handle.root.loop(child);
    const result = await resultOfChild(child, tool.name);
    return agentTool.result === undefined
      ? result
      : await reportOf({ handle, child, result }, (told) => agentTool.result?.(told, input as never));
  } finally {
    disarm();
    off();
  }
}

/** What the author makes of a child run that has ended; of one that waits, was halted, or was stopped with the run above, nothing. */
async function reportOf(
  { handle, child, result }: { readonly handle: RunHandle; readonly child: RunHandle; readonly result: ChildResult },
  report: (told: ChildRun) => unknown,
): Promise<ChildResult> {
  const { root, state } = child;
  const status = state.ended?.status;
  if (status === undefined || status === 'cancelled' || (result.status !== 'completed' && result.status !== 'failed')) return result;
  const base = {
    status,
    run: state.id,
    agent: state.agent,
    events: root.events.slice(state.startSeq - 1).filter(({ run }) => run === state.id || run.startsWith(`${state.id}/`)),
  };
  const told: ChildRun =
    result.status === 'completed' ? { ...base, text: state.ended?.text ?? '', output: result.value } : { ...base, summary: result.summary };
  try {
    const given = report(Object.freeze(told));
    if (!isPromise(given)) return { status: 'completed', value: given };
    // The child run is over: what stops this now stops the run above.
    const settled = await handle.wait(given, undefined, graceMs);
    if (settled.kind === 'value') return { status: 'completed', value: settled.value };
    return settled.kind === 'threw' ? { status: 'threw', thrown: settled.error } : stoppedWith(state.agent);
  } catch (thrown) {
    return { status: 'threw', thrown };
  }
}

/** What the child is told; undefined where the author's function threw or gave no text. */
function briefOf({ brief }: AgentToolSpec, input: unknown): string | undefined {
  try {
    const text: unknown = atOnce(brief(input as never));
    return typeof text === 'string' ? text : undefined;
  } catch {
    return undefined;
  }
}

/** The handle of a call's child run: of the one that the log holds, or of a new one. `text` is what it is told, until its input is accepted. */
export function childHandle({ handle, call }: Omit<OpenCall, 'tool'>, agentTool: AgentToolSpec, text: string): RunHandle {
  const { root, state } = handle;
  const id = `${state.id}/${call.call.id}`;
  const known = state.children?.get(call.call.id);
  const agents = resolveAgents(agentTool.agent);
  if (known === undefined) {
    const limits = resolveLimits(agentTool.limits, limitsOf(agentTool.agent.mode));
    handle.publish({
      type: 'run.start',
      seq: root.log.seq + 1,
      at: root.clock.now(),
      run: id,
      agent: agentTool.agent.name,
      parent: state.id,
      writer: root.writerId,
      limits: recordLimits(limits),
      manifest: manifestOf(standOf(agentTool.agent, root.runGuards), agents),
      call: call.call.id,
    });
  }
  const childState = known ?? (root.log.runs.get(id) as RunState);
  const child = new RunHandle(root, childState, {
    agents,
    parent: handle,
    isStreamed: handle.isStreamed && agentTool.stream,
    sharesEffects: agentTool.sharesEffects,
  });
  if (!childState.accepted) {
    const label = { origin: `agent:${state.agent}`, integrity: isUntrustedView(state.conversation) ? 'untrusted' : 'trusted' } as const;
    child.input = [{ role: 'user', id: `${id}/i1`, via: 'parent', parts: [{ type: 'text', text, label }], label }];
  }
  return child;
}

const stoppedWith = (name: string): ChildResult => ({
  status: 'failed',
  errorClass: 'aborted',
  summary: `${name} was stopped with the run.`,
  retryable: false,
});

async function resultOfChild(child: RunHandle, name: string): Promise<ChildResult> {
  const { ended } = child.state;
  // One that was stopped before it could end is ended with the run above.
  if (ended === undefined) return { status: 'waiting' };
  switch (ended.status) {
    case 'completed':
      return { status: 'completed', value: await outputOf(child, ended.text ?? '', ended.value) };
    case 'blocked': {
      const { refusal } = ended;
      if (refusal?.action === 'halt') return { status: 'halted', refusal };
      const by = refusal?.by ?? 'a guardrail';
      return {
        status: 'failed',
        errorClass: 'denied',
        summary: `${name} was refused by ${by === 'model' ? 'its model' : by}: ${refusal?.reason ?? ''}`,
        retryable: false,
      };
    }
    case 'exhausted':
      return {
        status: 'failed',
        errorClass: 'failed',
        summary: `${name} reached its limit ${ended.limit}.`,
        retryable: false,
      };
    case 'failed':
      return {
        status: 'failed',
        errorClass: 'unavailable',
        summary: `${name} failed: ${ended.error?.code ?? 'INTERNAL'}.`,
        retryable: ended.error?.isRetryable ?? false,
      };
    case 'cancelled':
      return stoppedWith(name);
    default:
      return ended.status satisfies never;
  }
}
