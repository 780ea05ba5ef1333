import { readDetailed } from '../define/detailed.js';
import type { RetrySpec } from '../define/specs.js';
import { readToolError } from '../define/tool-error.js';
import type { ErrorClass } from '../state/events.js';
import { spentLimit } from '../state/limit-reached.js';
import type { Outcome } from './execute-tool.js';
import { executeTool, failed } from './execute-tool.js';
import type { OpenCall } from './open-call.js';

type Failure = Extract<Outcome, { kind: 'error' }>;

/** Failures of these classes may pass, also where the tool says nothing of that. */
const passing: ReadonlySet<ErrorClass> = new Set<ErrorClass>(['timeout', 'unavailable', 'rate_limited']);

/**
 * Executes a tool, and again where it failed in a way that may pass, until its attempts, its deadline or the run is over. Of several
 * failures only the last is an outcome. Never rejects.
 */
export async function retryTool(open: OpenCall, input: unknown, retry: RetrySpec): Promise<Outcome> {
  const { handle, call, tool } = open;
  const { clock } = handle.root;
  const endsAt = tool.timeoutMs === undefined ? Number.POSITIVE_INFINITY : clock.now() + tool.timeoutMs;
  for (let attempt = 1; ; attempt += 1) {
    handle.emit({ type: 'tool.progress', callId: call.call.id, tool: tool.name, step: attempt });
    const outcome = await executeTool(open, input, endsAt - clock.now());
    const failure = failureOf(open, outcome);
    if (failure === undefined) return outcome;
    const last: Failure = attempt === 1 ? failure : { ...failure, summary: `${failure.summary} (tried ${attempt} times)` };
    if (attempt >= retry.attempts || !mayPass(failure, retry) || handle.stop || spentLimit(handle.state)) return last;
    const waitMs = backoffMs(retry, attempt);
    if (clock.now() + waitMs >= endsAt) return last;
    if (waitMs > 0 && (await handle.wait(new Promise<never>(() => undefined), waitMs)).kind === 'stopped') return last;
    const may = handle.stillWrites();
    if (may !== true && !(await may)) return last;
    // A timer may come late.
    if (clock.now() >= endsAt) return last;
  }
}

/** A failure that the tool told, by throwing or returning it; what core ended by itself is none. */
function failureOf({ tool }: OpenCall, outcome: Outcome): Failure | undefined {
  if (outcome.kind === 'error') return outcome;
  if (outcome.kind !== 'value') return undefined;
  const given = readToolError(readDetailed(outcome.value)?.output ?? outcome.value);
  return given && failed(tool, given);
}

function mayPass({ errorClass, retryable, isFinal }: Failure, { on }: RetrySpec): boolean {
  return on.has(errorClass) && (retryable || (passing.has(errorClass) && !isFinal));
}

/** Random, from nothing to the bound, so that calls that failed together do not come back together. */
function backoffMs({ backoffMs: first, maxBackoffMs: most }: RetrySpec, attempt: number): number {
  return Math.random() * Math.min(most, first * 2 ** Math.min(attempt - 1, 50));
}
