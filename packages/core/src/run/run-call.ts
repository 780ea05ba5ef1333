import type { AgentToolSpec } from '../define/specs.js';
import type { Outcome } from './execute-tool.js';
import { executeTool, failed } from './execute-tool.js';
import { finishCall } from './finish-call.js';
import type { LogDraft } from './handle.js';
import { isPromise } from './is-promise.js';
import { errorEnd, unknownEnd } from './observations.js';
import type { OpenCall } from './open-call.js';
import { endCall } from './open-call.js';
import { runsOnce } from './prepare-calls.js';
import { retryTool } from './retry-tool.js';
import { runChild } from './run-child.js';

type ToolStart = Extract<LogDraft, { type: 'tool.start' }>;

/** Starts one call, waits for it, judges what it gave, and records its end. A call of an agent that waits for a person stays open. */
export async function runCall(open: OpenCall, input: unknown): Promise<void> {
  const { handle, call, tool } = open;
  if (call.phase !== 'started' || tool.agent === undefined) {
    const start: { -readonly [K in keyof ToolStart]: ToolStart[K] } = {
      type: 'tool.start',
      seq: 0,
      at: 0,
      run: '',
      agent: '',
      callId: call.call.id,
      tool: tool.name,
      revision: call.revision,
      input: call.input,
      idempotencyKey: call.path,
    };
    if (runsOnce(tool)) start.once = true;
    handle.append(start);
  }
  if (tool.agent === undefined && handle.root.writer) {
    const may = tool.repeatable ? handle.stillWrites() : handle.barrier();
    if (may !== true && !(await may)) return;
  }
  if (handle.stop) {
    // Stopped between the record and the effect: it did not happen, and the record cannot say so for sure.
    endCall(open, { ...unknownEnd(tool.name, 'the run was stopped'), revision: 0, chars: 0 });
    return;
  }
  const running = tool.agent
    ? runAgent(open, tool.agent, input)
    : tool.retry === undefined
      ? executeTool(open, input)
      : retryTool(open, input, tool.retry);
  const outcome = isPromise(running) ? await running : running;
  if (outcome.kind === 'waiting') return;
  await finishCall(open, outcome);
}

async function runAgent(open: OpenCall, agentTool: AgentToolSpec, input: unknown): Promise<Outcome> {
  const { tool } = open;
  const result = await runChild(open, agentTool, input);
  switch (result.status) {
    case 'waiting':
      return { kind: 'waiting' };
    case 'completed':
      return { kind: 'value', value: result.value };
    case 'threw':
      return failed(tool, result.thrown);
    case 'halted':
      return {
        kind: 'end',
        end: errorEnd({
          status: 'error',
          errorClass: 'denied',
          summary: `${tool.name} was stopped by a guardrail.`,
          refusal: result.refusal,
        }),
      };
    case 'failed':
      return {
        kind: 'end',
        end: errorEnd({ status: 'error', errorClass: result.errorClass, summary: result.summary, retryable: result.retryable }),
      };
    default:
      return result satisfies never;
  }
}
